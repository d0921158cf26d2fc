package cli

import (
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/spf13/cobra"
)

func newKeys(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Create API keys and refresh tokens",
		Args:  command.Arguments(0, 0),
	}
	cmd.AddCommand(newKeysNew(p), newKeysRefresh(p))
	return cmd
}

// keyName is the length of the hash suffix in a default key id.
const keyName = 8

func newKeysNew(p *program) *cobra.Command {
	id := ""
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Create an API key for the server",
		Long: `new prints a new random API key, and the line to add below server.keys in the server's
configuration. The line contains a hash. The key is stored nowhere and cannot be shown
again.

Exit codes: 0 done, 2 usage.`,
		Args: command.Arguments(0, 0),
	}
	cmd.Flags().StringVar(&id, "id", "", "name of the key in logs; default: a part of its hash")
	command.AddFormatFlag(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		key := auth.NewKey()
		hash := auth.HashKey(key).String()
		if id == "" {
			id = "key-" + hash[len(hash)-keyName:]
		}
		if wrong := spec.CheckID("id", "key", id); len(wrong) > 0 {
			return command.Usagef(cmd, "%s: %s", wrong[0].Message, wrong[0].Hint)
		}
		record := struct {
			ID   string `json:"id"`
			Key  string `json:"key"`
			Hash string `json:"hash"`
		}{id, key, hash}
		return command.NewOutput(&p.Streams, cmd, command.Unredacted).Show(record, fmt.Sprintf("%s\n- {id: %s, hash: %q}\n", key, id, hash))
	}
	return cmd
}

// refreshTime is how long a refresh token is valid.
const refreshTime = 90 * 24 * time.Hour

func newKeysRefresh(p *program) *cobra.Command {
	var scopes []string
	valid := refreshTime
	cmd := &cobra.Command{
		Use:   "refresh FILE… CLIENT",
		Short: "Create a refresh token for an OAuth client",
		Long: `refresh prints a refresh token for a client below server.oauth. With this token and its
secret, the client gets access tokens at POST /api/oauth/token. The token is not stored.
It is invalid once it expires, the client is removed, or the client's secret changes.

Exit codes: 0 done, 1 the client does not exist, 2 usage or a file cannot be read.`,
		Args: command.Arguments(2, command.Unlimited),
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "scopes of the token; default: all scopes of the client")
	cmd.Flags().DurationVar(&valid, "valid", valid, "how long the token is good")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if valid <= 0 {
			return command.Usagef(cmd, "--valid is %s; it must be more than 0", valid)
		}
		token, err := refreshToken(p, args[:len(args)-1], args[len(args)-1], scopes, time.Now().Add(valid))
		if err != nil {
			return err
		}
		return p.Printf("%s\n", token)
	}
	return cmd
}

// refreshToken returns a refresh token of a configured client, or shows why it cannot.
func refreshToken(p *program, files []string, client string, scopes []string, end time.Time) (string, error) {
	l, err := p.loadSection(files, "server", true)
	if err != nil {
		return "", err
	}
	defer l.close()
	token, err := p.IssueRefreshToken(&l.file.Server, client, scopes, end)
	if err != nil {
		p.PrintErrorf("%s", l.file.Redact(err.Error()))
		return "", command.Exit(command.Failed)
	}
	return token, nil
}
