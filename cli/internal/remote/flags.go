// Package remote has the commands that only talk to a running server: they manage its workflows,
// revisions and tenants. Other commands connect to a server with its Flags.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// KeyVariable holds the key for a server, unless a file does.
	KeyVariable = "RUNTIME_API_KEY"
	// maxKey bounds a file with a key, in bytes.
	maxKey = 16 << 10
)

// Flags are the flags that name a server.
type Flags struct {
	// Server is the server's URL; empty without --server.
	Server  string
	KeyFile string
	// Tenant names the tenant whose overlay a configuration command uses; empty for the base.
	Tenant string
}

// AddFlags adds the flags that name a server.
func (r *Flags) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&r.Server, "server", "", "use the server at this `URL` instead of a FILE")
	fs.StringVar(&r.KeyFile, "api-key-file", "", "`path` of the file with the server's API key; default: the variable "+KeyVariable)
}

// Check checks the command line of a command that may use a server: with one it requires exactly
// most arguments and no flags for a FILE. done reports whether nothing more needs checking.
func (r *Flags) Check(cmd *cobra.Command, args []string, most int, local []string) (done bool, err error) {
	if r.Server == "" {
		if r.KeyFile != "" {
			return true, command.Usagef(cmd, "--api-key-file needs --server")
		}
		return false, nil
	}
	for _, name := range local {
		if cmd.Flags().Changed(name) {
			return true, command.Usagef(cmd, "--%s cannot be used with --server", name)
		}
	}
	if len(args) > most {
		return true, command.Usagef(cmd, "--server and FILE exclude each other, but %s given", terminal.Count(len(args), "argument is", "arguments are"))
	}
	return true, command.Arguments(most, most)(cmd, args)
}

// key returns the key for the server; empty if none is given. The error does not repeat
// it.
func (r *Flags) key() (string, error) {
	if r.KeyFile == "" {
		return strings.TrimSpace(os.Getenv(KeyVariable)), nil
	}
	f, err := os.Open(r.KeyFile)
	if err != nil {
		return "", fmt.Errorf("--api-key-file: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKey))
	key := strings.TrimSpace(string(data))
	switch err := errors.Join(err, f.Close()); {
	case err != nil:
		return "", fmt.Errorf("--api-key-file: %w", err)
	case key == "":
		return "", fmt.Errorf("--api-key-file: no key in %s", r.KeyFile)
	}
	return key, nil
}

// Connect calls do with a client of the server.
func (r *Flags) Connect(ctx context.Context, s *terminal.Streams, do func(*native.Client, func(string) string) error) error {
	key, err := r.key()
	if err != nil {
		return err
	}
	redact := command.Unredacted
	if key != "" {
		redact = func(text string) string { return strings.ReplaceAll(text, key, "***") }
	}
	client, err := native.NewClient(native.ClientSettings{URL: r.Server, Key: key, Broken: func(err error) {
		fmt.Fprintf(s.Err, "! %s; retrying\n", terminal.OneLine(redact(err.Error())))
	}})
	if err != nil {
		return fmt.Errorf("--server: %w", err)
	}
	defer client.Close()
	err = do(client, redact)
	if err == nil || errors.As(err, new(command.Exit)) {
		return err
	}
	text := terminal.OneLine(err.Error()) // partly worded by a server
	if refused, ok := errors.AsType[*native.Error](err); ok && refused.Status == http.StatusUnauthorized {
		text += fmt.Sprintf("\n  the key comes from %s", cmp.Or(r.KeyFile, "the variable "+KeyVariable+", or from --api-key-file"))
	} else if ok {
		text += describeDetails(&refused.Details) + r.adviseRoute(refused)
	}
	return command.Fail(ctx, s, redact, errors.New(text))
}

// adviseRoute names the likely mistake if a server does not have the route of a request:
// --server has a path, or the server's configuration disables the API.
func (r *Flags) adviseRoute(e *native.Error) string {
	if e.Status != http.StatusNotFound || e.Unwrap() != nil || e.Code != "" && e.Message != "no such route" {
		return ""
	}
	if u, err := url.Parse(r.Server); err == nil && strings.Trim(u.Path, "/") != "" {
		root := url.URL{Scheme: u.Scheme, Host: u.Host}
		return fmt.Sprintf("\n  --server has the path %q; try --server %s", u.Path, root.String())
	}
	if e.Code == "" {
		return ""
	}
	return "\n  the server may be older, or its configuration may disable this API: server.native, server.admin or server.workflows"
}

// AddRequiredFlags adds the flags that name a server, for a command that only works on servers.
func (r *Flags) AddRequiredFlags(fs *pflag.FlagSet) {
	fs.StringVar(&r.Server, "server", "", "`URL` of the server")
	fs.StringVar(&r.KeyFile, "api-key-file", "", "`path` of the file with the server's API key; default: the variable "+KeyVariable)
}

// AddTenantFlag adds the flag that names a tenant.
func (r *Flags) AddTenantFlag(fs *pflag.FlagSet) {
	fs.StringVar(&r.Tenant, "tenant", "", "use the overlay of the tenant with this `NAME` instead of the configuration")
}

// NeedServer checks that a server is named.
func (r *Flags) NeedServer(cmd *cobra.Command) error {
	if r.Server == "" {
		return command.Usagef(cmd, "--server is required: the URL of the server")
	}
	return nil
}

// describeDetails returns the details of a server's error, without its message.
func describeDetails(d *server.Details) string {
	var b strings.Builder
	for i := range d.Findings {
		b.WriteString("\n  " + strings.TrimSuffix(FindingLine(&d.Findings[i]), "\n"))
	}
	for _, at := range d.UsedBy {
		b.WriteString("\n  used by " + terminal.OneLine(at))
	}
	return b.String()
}

// FindingLine returns a diagnostic in one line.
func FindingLine(d *diag.Diagnostic) string {
	return terminal.OneLine(fmt.Sprintf("%s[%s] %s: %s", d.Severity, d.Code, d.Path, d.Message)) + "\n"
}
