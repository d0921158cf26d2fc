package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func newTenants(p *program) *cobra.Command {
	at := new(serverFlags)
	cmd := &cobra.Command{
		Use:   "tenants",
		Short: "Show and change overlays and variables of tenants",
		Long: `tenants shows and changes the overlays and variables of tenants at a server.

The key is read from --api-key-file or the variable RUNTIME_API_KEY. It needs the scope
config:read, and for changes config:write.

Exit codes: 0 done, 1 the server rejects the request or cannot be reached, 2 usage.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	at.configFlags(cmd.PersistentFlags())
	cmd.AddCommand(newTenantsList(p, at), newTenantsShow(p, at), newTenantsCheck(p, at), newTenantVariables(p, at))
	return cmd
}

func newTenantsList(p *program, at *serverFlags) *cobra.Command {
	var page store.Page
	cmd := &cobra.Command{
		Use:   "list --server URL",
		Short: "List the tenants that have overlays, by name",
		Args:  arguments(0, 0),
	}
	format := formatFlag(cmd, "text", "json")
	pageFlags(cmd, &page)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.atServer(cmd, at, func(ctx context.Context, c *admin.Client, redact func(string) string) error {
			list, err := c.ListTenants(ctx, page.After, page.Limit)
			if err != nil {
				return err
			}
			if format.value == "json" {
				return writeRedacted(p.out, list, redact)
			}
			if len(list.Tenants) == 0 {
				_, err := fmt.Fprintln(p.out, "no overlays")
				return err
			}
			rows := [][]string{{"TENANT", "REVISION", "HASH", "AUTHOR", "PUBLISHED"}}
			for i := range list.Tenants {
				t := &list.Tenants[i]
				rows = append(rows, []string{t.Tenant, strconv.FormatUint(t.Number, 10), fmt.Sprintf("%.12s", t.Hash), t.Author, age(time.Now(), t.CreatedAt)})
			}
			p.more(list.Next)
			return writeTable(p.out, rows)
		})
	}
	return cmd
}

func newTenantsShow(p *program, at *serverFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "show TENANT --server URL",
		Short: "Show the current overlay of a tenant, as JSON",
		Args:  arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.atServer(cmd, at, func(ctx context.Context, c *admin.Client, redact func(string) string) error {
				overlay := c.ForTenant(args[0])
				hash, err := overlay.CurrentHash(ctx)
				if err != nil {
					return err
				}
				if hash == "" {
					return fmt.Errorf("tenant %s has no overlay", args[0])
				}
				r, err := overlay.ReadRevision(ctx, hash)
				if err != nil {
					return err
				}
				return writeRedacted(p.out, r, redact)
			})
		},
	}
}

func newTenantsCheck(p *program, at *serverFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "check [TENANT…] --server URL",
		Short: "Check the overlays of tenants",
		Long: `check reports the errors of tenant overlays with the configuration that the server runs.
Without TENANT it checks all of them.

Exit codes: 0 all resolve, 1 one does not or the server cannot be reached, 2 usage.`,
		Args: arguments(0, unlimited),
		RunE: func(cmd *cobra.Command, names []string) error {
			return p.atServer(cmd, at, func(ctx context.Context, c *admin.Client, redact func(string) string) error {
				if len(names) == 0 {
					var err error
					if names, err = tenantsOf(ctx, c); err != nil {
						return err
					}
				}
				return p.checkTenants(ctx, c, names, redact)
			})
		},
	}
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
func (p *program) checkTenants(ctx context.Context, c *admin.Client, names []string, redact func(string) string) error {
	broken := 0
	for _, name := range names {
		found, err := checkTenant(ctx, c.ForTenant(name), name)
		if err != nil {
			return err
		}
		text := ""
		for i := range found {
			text += "tenant " + oneLine(name) + ": " + findingLine(&found[i])
		}
		if diag.List(found).HasErrors() {
			broken++
		}
		if _, err := io.WriteString(p.out, redact(text)); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(p.out, "%s checked, %d broken\n", count(len(names), "overlay of a tenant", "overlays of tenants"), broken); err != nil {
		return err
	}
	if broken > 0 {
		return exit{exitFailed}
	}
	return nil
}

// checkTenant checks a tenant's current overlay. If a new configuration breaks the current overlay,
// the server keeps using an older one, so this requests a new check.
func checkTenant(ctx context.Context, c *admin.Client, name string) ([]diag.Diagnostic, error) {
	hash, err := c.CurrentHash(ctx)
	if err != nil {
		return nil, err
	}
	if hash == "" {
		return nil, fmt.Errorf("tenant %s has no overlay", name)
	}
	r, err := c.ReadRevision(ctx, hash)
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

func newTenantVariables(p *program, at *serverFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "variables",
		Short: "List, set and delete the variables of a tenant",
		Long: `variables shows and changes the values of ${tenant.NAME} in the prompts and tools of a
server, for one tenant. The configuration declares the variables below tenants:
{variables: …}. A change takes effect with the next use.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newVariablesList(p, at), newVariablesSet(p, at), newVariablesDelete(p, at))
	return cmd
}

func newVariablesList(p *program, at *serverFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list TENANT --server URL",
		Short: "List the variables of a tenant, without the values of secrets",
		Args:  arguments(1, 1),
	}
	format := formatFlag(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.atServer(cmd, at, func(ctx context.Context, c *admin.Client, redact func(string) string) error {
			list, err := c.ListTenantVariables(ctx, args[0])
			if err != nil {
				return err
			}
			if format.value == "json" {
				return writeRedacted(p.out, list, redact)
			}
			if len(list.Variables) == 0 {
				_, err := fmt.Fprintln(p.out, "no variables")
				return err
			}
			rows := [][]string{{"VARIABLE", "STATE", "VALUE", "SET BY", "SET"}}
			for i := range list.Variables {
				rows = append(rows, variableRow(&list.Variables[i], redact))
			}
			return writeTable(p.out, rows)
		})
	}
	return cmd
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
		since = age(time.Now(), *v.SetAt)
	}
	return []string{v.Name, string(v.State), orDash(value), orDash(v.SetBy), orDash(since)}
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

func newVariablesSet(p *program, at *serverFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "set TENANT NAME --server URL",
		Short: "Set a tenant variable, read from standard input",
		Long: `set reads the value from standard input, without the newline at its end. On a terminal
it asks for the value and does not show the input. The value is never an argument,
because other users of the machine could see it and the shell would record it.`,
		Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := at.needServer(cmd); err != nil {
				return err
			}
			value, err := p.readValue(args[1])
			if err != nil {
				return err
			}
			return p.atServer(cmd, at, func(ctx context.Context, c *admin.Client, _ func(string) string) error {
				set, err := c.SetTenantVariable(ctx, args[0], args[1], value)
				if err != nil {
					return err
				}
				kind := "variable"
				if set.Secret {
					kind = "secret"
				}
				_, err = fmt.Fprintf(p.out, "set: %s %s of tenant %s\n", kind, oneLine(set.Name), args[0])
				return err
			})
		},
	}
}

func newVariablesDelete(p *program, at *serverFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "delete TENANT NAME… --server URL",
		Short: "Delete tenant variables, which restores their defaults",
		Args:  arguments(2, unlimited),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.atServer(cmd, at, func(ctx context.Context, c *admin.Client, _ func(string) string) error {
				for _, name := range args[1:] {
					if err := c.DeleteTenantVariable(ctx, args[0], name); err != nil {
						return err
					}
					if _, err := fmt.Fprintf(p.out, "deleted: %s of tenant %s\n", name, args[0]); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// maxTyped limits a variable's value read from input, in bytes. It exceeds the server's limit.
const maxTyped = 64 << 10

// readValue reads a variable's value, without echo on a terminal.
func (p *program) readValue(name string) (string, error) {
	if f, ok := p.in.(*os.File); ok && terminal(p.in) {
		p.prompt("value of " + name + ": ")
		typed, err := term.ReadPassword(int(f.Fd()))
		_, _ = fmt.Fprintln(p.err) // the typed newline was not echoed
		if err != nil {
			return "", fmt.Errorf("read the value: %w", err)
		}
		return string(typed), nil
	}
	data, err := io.ReadAll(io.LimitReader(p.in, maxTyped))
	if err != nil {
		return "", fmt.Errorf("read the value: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}
