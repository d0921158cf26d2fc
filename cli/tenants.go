package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/service"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func newTenants(p *program) *cobra.Command {
	at := new(serverFlags)
	cmd := &cobra.Command{
		Use:   "tenants",
		Short: "Look at and change what tenants of a server have of their own",
		Long: `tenants looks at and changes what the tenants of a server have of their own.

The key is in the file of --api-key-file or in the variable RUNTIME_API_KEY. It needs
the scope config:read, and for changes config:write.

Exit codes: 0 done, 1 the server refuses it or cannot be reached, 2 usage.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	at.configFlags(cmd.PersistentFlags())
	cmd.AddCommand(newTenantVariables(p, at))
	return cmd
}

func newTenantVariables(p *program, at *serverFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "variables",
		Short: "List, set and delete the variables of a tenant",
		Long: `variables shows and changes what ${tenant.NAME} stands for in the prompts and tools of a
server, for one tenant. The configuration declares which variables there are, below
tenants: {variables: …}. A change takes effect with the next use.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newVariablesList(p, at), newVariablesSet(p, at), newVariablesDelete(p, at))
	return cmd
}

func newVariablesList(p *program, at *serverFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list TENANT",
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
		Use:   "set TENANT NAME",
		Short: "Set a variable of a tenant to what is typed, or comes from standard input",
		Long: `set reads the value from standard input, without the newline at its end. On a terminal
it asks for it, and does not show what is typed. The value is never an argument: other
users of the machine could see it, and the shell would remember it.`,
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
				_, err = fmt.Fprintf(p.out, "set: %s %s of tenant %s\n", kind, set.Name, args[0])
				return err
			})
		},
	}
}

func newVariablesDelete(p *program, at *serverFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "delete TENANT NAME…",
		Short: "Delete variables of a tenant, which has the defaults then",
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

// maxTyped bounds what is read as the value of a variable, in bytes: more than a server
// takes.
const maxTyped = 64 << 10

// readValue reads the value of a variable. Somebody at a terminal does not see it.
func (p *program) readValue(name string) (string, error) {
	if f, ok := p.in.(*os.File); ok && terminal(p.in) {
		if _, err := fmt.Fprintf(p.err, "value of %s: ", name); err != nil {
			return "", err
		}
		typed, err := term.ReadPassword(int(f.Fd()))
		_, _ = fmt.Fprintln(p.err) // the newline that was typed is not shown either
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
