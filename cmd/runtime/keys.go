package main

import (
	"fmt"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/spf13/cobra"
)

func newKeys(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make API keys",
		Args:  arguments(0, 0),
	}
	cmd.AddCommand(newKeysNew(p))
	return cmd
}

// keyName is how much of its hash is in the id of a key that has no other.
const keyName = 8

func newKeysNew(p *program) *cobra.Command {
	id := ""
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Make an API key for the server",
		Long: `new prints a fresh random API key, and the line that makes a server accept it,
which belongs below server.keys of the configuration. The line holds a hash: the
key itself is kept nowhere and cannot be shown again.

Exit codes: 0 done, 2 usage.`,
		Args: arguments(0, 0),
	}
	cmd.Flags().StringVar(&id, "id", "", "what the key is called in logs; a part of its hash when absent")
	format := formatFlag(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		key := server.NewKey()
		hash := server.HashKey(key).String()
		if id == "" {
			id = "key-" + hash[len(hash)-keyName:]
		}
		if wrong := spec.CheckID("id", "key", id); len(wrong) > 0 {
			return usagef(cmd, "%s: %s", wrong[0].Message, wrong[0].Hint)
		}
		if format.value == "json" {
			return writeJSON(p.out, struct {
				ID   string `json:"id"`
				Key  string `json:"key"`
				Hash string `json:"hash"`
			}{id, key, hash})
		}
		_, err := fmt.Fprintf(p.out, "%s\n- {id: %s, hash: %q}\n", key, id, hash)
		return err
	}
	return cmd
}
