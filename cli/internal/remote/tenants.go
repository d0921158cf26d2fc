package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// NewTenants returns the command tenants.
func NewTenants(s *terminal.Streams) *cobra.Command {
	at := new(Flags)
	c := newConfigs(s, at)
	cmd := newGroup("tenants", "Show and change overlays and variables of tenants", `tenants shows and changes the overlays and variables of tenants at a server.

The key is read from --api-key-file or the variable RUNTIME_API_KEY. It needs the scope
config:read, and for changes config:write.

Exit codes: 0 done, 1 the server rejects the request or cannot be reached, 2 usage.`,
		newTenantsList(c), newTenantsShow(c), newTenantsCheck(c), newTenantVariables(c))
	at.AddRequiredFlags(cmd.PersistentFlags())
	return cmd
}

func newTenantsList(r *configs) *cobra.Command {
	var page store.Page
	cmd := r.newReport("list", "List the tenants that have overlays, by name", command.Arguments(0, 0), func(ctx context.Context, out *command.Output, c *admin.Client, _ []string) error {
		found, err := c.ListTenants(ctx, page.After, page.Limit)
		if err != nil {
			return err
		}
		return (&command.Listing[admin.TenantOverlay]{
			Record: found, Items: found.Tenants, Next: found.Next, None: "no overlays",
			Header: []string{"TENANT", "REVISION", "HASH", "AUTHOR", "PUBLISHED"},
			Row: func(t admin.TenantOverlay) []string {
				return []string{t.Tenant, strconv.FormatUint(t.Number, 10), fmt.Sprintf("%.12s", t.Hash), t.Author, command.Age(time.Now(), t.CreatedAt)}
			},
		}).Show(out)
	})
	command.AddPageFlags(cmd, &page)
	return cmd
}

func newTenantsShow(r *configs) *cobra.Command {
	return r.newCommand("show TENANT", "Show the current overlay of a tenant, as JSON", command.Arguments(1, 1), func(ctx context.Context, out *command.Output, c *admin.Client, args []string) error {
		return out.ShowJSON(currentOverlay(ctx, c.ForTenant(args[0]), args[0]))
	})
}

// currentOverlay returns the current overlay of a tenant.
func currentOverlay(ctx context.Context, c *admin.Client, name string) (*admin.Revision, error) {
	hash, err := c.CurrentHash(ctx)
	if err != nil {
		return nil, err
	}
	if hash == "" {
		return nil, fmt.Errorf("tenant %s has no overlay", name)
	}
	return c.ReadRevision(ctx, hash)
}

func newTenantsCheck(r *configs) *cobra.Command {
	cmd := r.newCommand("check [TENANT…]", "Check the overlays of tenants", command.Arguments(0, command.Unlimited), func(ctx context.Context, out *command.Output, c *admin.Client, names []string) error {
		if len(names) == 0 {
			var err error
			if names, err = tenantsOf(ctx, c); err != nil {
				return err
			}
		}
		return checkTenants(ctx, out, c, names)
	})
	cmd.Long = `check reports the errors of tenant overlays with the configuration that the server runs.
Without TENANT it checks all of them.

Exit codes: 0 all resolve, 1 one does not or the server cannot be reached, 2 usage.`
	return cmd
}

// tenantsOf returns the tenants that have overlays.
func tenantsOf(ctx context.Context, c *admin.Client) (names []string, err error) {
	for after := ""; ; {
		list, err := c.ListTenants(ctx, after, 0)
		if err != nil {
			return nil, err
		}
		for i := range list.Tenants {
			names = append(names, list.Tenants[i].Tenant)
		}
		if after = list.Next; after == "" {
			return names, nil
		}
	}
}

// checkTenants shows problems with overlays as they are found.
func checkTenants(ctx context.Context, out *command.Output, c *admin.Client, names []string) error {
	broken := 0
	for _, name := range names {
		found, err := checkTenant(ctx, c.ForTenant(name), name)
		if err != nil {
			return err
		}
		text := ""
		for i := range found {
			text += "tenant " + terminal.OneLine(name) + ": " + FindingLine(&found[i])
		}
		if diag.List(found).HasErrors() {
			broken++
		}
		if _, err := io.WriteString(out.Out, out.Redact(text)); err != nil {
			return err
		}
	}
	if err := out.Printf("%s checked, %d broken\n", terminal.Count(len(names), "overlay of a tenant", "overlays of tenants"), broken); err != nil {
		return err
	}
	if broken > 0 {
		return command.Exit(command.Failed)
	}
	return nil
}

// checkTenant checks a tenant's current overlay. If a new configuration breaks the current overlay,
// the server keeps using an older one, so this requests a new check.
func checkTenant(ctx context.Context, c *admin.Client, name string) ([]diag.Diagnostic, error) {
	r, err := currentOverlay(ctx, c, name)
	if err != nil {
		return nil, err
	}
	document, err := json.Marshal(r.Document)
	if err != nil {
		return nil, err
	}
	proof, err := c.Compare(ctx, document)
	if err != nil {
		return nil, err
	}
	return proof.Findings, nil
}

func newTenantVariables(r *configs) *cobra.Command {
	return newGroup("variables", "List, set and delete the variables of a tenant", `variables shows and changes the values of ${tenant.NAME} in the prompts and tools of a
server, for one tenant. The configuration declares the variables below tenants:
{variables: …}. A change takes effect with the next use.`,
		newVariablesList(r), newVariablesSet(r), newVariablesDelete(r))
}

func newVariablesList(r *configs) *cobra.Command {
	return r.newReport("list TENANT", "List the variables of a tenant, without the values of secrets", command.Arguments(1, 1), func(ctx context.Context, out *command.Output, c *admin.Client, args []string) error {
		found, err := c.ListTenantVariables(ctx, args[0])
		if err != nil {
			return err
		}
		return (&command.Listing[service.TenantVariable]{
			Record: found, Items: found.Variables, None: "no variables",
			Header: []string{"VARIABLE", "STATE", "VALUE", "SET BY", "SET"},
			Row:    func(v service.TenantVariable) []string { return variableRow(&v, out.Redact) },
		}).Show(out)
	})
}

func variableRow(v *service.TenantVariable, redact func(string) string) []string {
	value, since := "", ""
	switch {
	case v.Secret:
		value = "(secret)"
	case v.Value != nil:
		value = clipLine(redact(*v.Value))
	}
	if v.SetAt != nil {
		since = command.Age(time.Now(), *v.SetAt)
	}
	return []string{v.Name, string(v.State), cmp.Or(value, "-"), cmp.Or(v.SetBy, "-"), cmp.Or(since, "-")}
}

// clipLine returns the first line of a text, if it is short.
func clipLine(text string) string {
	const most = 40
	line, rest, more := strings.Cut(text, "\n")
	if short := []rune(line); len(short) > most {
		line, more = string(short[:most]), true
	}
	if more || rest != "" {
		line += "…"
	}
	return line
}

func newVariablesSet(r *configs) *cobra.Command {
	value := ""
	cmd := r.newCommand("set TENANT NAME", "Set a tenant variable, read from standard input", command.Arguments(2, 2), func(ctx context.Context, out *command.Output, c *admin.Client, args []string) error {
		set, err := c.SetTenantVariable(ctx, args[0], args[1], value)
		if err != nil {
			return err
		}
		kind := "variable"
		if set.Secret {
			kind = "secret"
		}
		return out.Printf("set: %s %s of tenant %s\n", kind, terminal.OneLine(set.Name), args[0])
	})
	cmd.Long = `set reads the value from standard input, without the newline at its end. On a terminal
it asks for the value and does not show the input. The value is never an argument,
because other users of the machine could see it and the shell would record it.`
	cmd.PreRunE = func(cmd *cobra.Command, args []string) (err error) {
		if err := r.at.NeedServer(cmd); err != nil {
			return err
		}
		value, err = readValue(r.Streams, args[1])
		return err
	}
	return cmd
}

func newVariablesDelete(r *configs) *cobra.Command {
	return r.newCommand("delete TENANT NAME…", "Delete tenant variables, which restores their defaults", command.Arguments(2, command.Unlimited), func(ctx context.Context, out *command.Output, c *admin.Client, args []string) error {
		for _, name := range args[1:] {
			if err := c.DeleteTenantVariable(ctx, args[0], name); err != nil {
				return err
			}
			if err := out.Printf("deleted: %s of tenant %s\n", name, args[0]); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxTyped limits a variable's value read from input, in bytes. It exceeds the server's limit.
const maxTyped = 64 << 10

// readValue reads a variable's value, without echo on a terminal.
func readValue(s *terminal.Streams, name string) (string, error) {
	if f, ok := s.In.(*os.File); ok && terminal.IsTerminal(s.In) {
		s.Prompt("value of " + name + ": ")
		typed, err := term.ReadPassword(int(f.Fd()))
		_, _ = fmt.Fprintln(s.Err) // the typed newline was not echoed
		if err != nil {
			return "", fmt.Errorf("read the value: %w", err)
		}
		return string(typed), nil
	}
	data, err := io.ReadAll(io.LimitReader(s.In, maxTyped))
	if err != nil {
		return "", fmt.Errorf("read the value: %w", err)
	}
	if !utf8.Valid(data) {
		return "", errors.New("the value is not valid UTF-8")
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}
