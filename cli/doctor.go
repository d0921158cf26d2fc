package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"path"
	"strings"
	"unicode"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// doctorOptions are the flags of doctor.
type doctorOptions struct {
	headers      []string
	allowPrivate []string
	allowOrigins []string
	allowOld     bool
	// keys is a file with a JWK set.
	keys string
	// provider is the configured provider to check instead of a peer, with the model of this id, or
	// its first.
	provider, model string
	// mcp is the configured MCP server to check instead of a peer.
	mcp string
	// tenant and subject select the login at the MCP server to check.
	tenant, subject string
}

func newDoctor(p *program) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor URL | FILE… (--provider ID | --mcp ID)",
		Short: "Check an A2A peer, the provider of a model, or an MCP server",
		Long: `doctor checks an A2A peer that agents can delegate to: its agent card, and how each of
its interfaces answers calls that change nothing. Each check reports what was found and
what would be right. If a peer lists several agents, all of them are checked. URL is the
base_url of an endpoint or remote source, or the URL of the card or list, which ends in
.json.

With --provider, doctor asks a model of this provider in the files for a text and for a
tool call, which costs a few tokens. It shows what was sent, what the server rejected
and what was understood, and names the setting to change.

With --mcp, doctor connects to this MCP server in the files and lists its tools with
their effects. It calls none of them, and writes the catalogue. If the server requires
a login, doctor shows whether there is one, and the command to run if there is none or
it has expired; --tenant and --subject name whose login is checked.

Exit codes: 0 no errors, 1 errors, 2 usage.`,
		Args: command.Arguments(1, command.Unlimited),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.provider != "" && o.mcp != "":
				return command.Usagef(cmd, "--provider and --mcp exclude each other")
			case o.mcp != "":
				return checkToolServer(cmd.Context(), cmd, p, args, &o)
			case o.provider != "":
				return checkProvider(cmd.Context(), cmd, p, args, &o)
			case o.model != "":
				return command.Usagef(cmd, "--model needs --provider")
			case !strings.Contains(args[0], "://") && (strings.HasSuffix(args[0], ".yaml") || strings.HasSuffix(args[0], ".yml")):
				return command.Usagef(cmd, "%s is a file; --provider ID or --mcp ID says what of it to check", args[0])
			}
			if err := command.Arguments(1, 1)(cmd, args); err != nil {
				return err
			}
			return doctor(cmd.Context(), cmd, p, args[0], &o)
		},
	}
	command.AddFormatFlag(cmd, "text", "json")
	cmd.Flags().StringArrayVar(&o.headers, "header", nil, "a header of all requests to the peer, as \"Name: value\"")
	cmd.Flags().StringSliceVar(&o.allowPrivate, "allow-private", nil, "allow these hosts with private addresses")
	cmd.Flags().StringSliceVar(&o.allowOrigins, "allow-origin", nil, "allow interfaces at these other origins")
	cmd.Flags().StringVar(&o.keys, "signature-keys", "", "file with the JWK set that must have signed the card")
	cmd.Flags().StringVar(&o.provider, "provider", "", "check this provider of the files instead of a peer")
	cmd.Flags().StringVar(&o.model, "model", "", "with --provider, the ID of the model to call; default: the first one")
	cmd.Flags().StringVar(&o.mcp, "mcp", "", "check this MCP server of the files instead of a peer")
	cmd.Flags().StringVar(&o.tenant, "tenant", settings.DefaultTenant, "with --mcp, the tenant whose login is checked")
	cmd.Flags().StringVar(&o.subject, "subject", "cli", "with --mcp, the subject whose login is checked")
	cmd.Flags().BoolVar(&o.allowOld, "allow-v0_3", false, "take a peer that speaks version 0.3 alone for usable")
	return cmd
}

func doctor(ctx context.Context, cmd *cobra.Command, p *program, address string, o *doctorOptions) error {
	header, err := parseHeaders(o.headers)
	if err != nil {
		return command.Usagef(cmd, "%w", err)
	}
	endpoint, err := o.endpoint(address)
	if err != nil {
		return command.Usagef(cmd, "%w", err)
	}
	examiner, err := p.examiner(endpoint.Kind())
	if err != nil {
		return err
	}
	found, err := examiner.Examine(ctx, endpoint, header)
	if err != nil {
		return err
	}
	return showExamination(command.NewOutput(&p.Streams, cmd, command.Unredacted), found)
}

// endpoint returns the endpoint that the flags describe.
func (o *doctorOptions) endpoint(address string) (*spec.Endpoint, error) {
	e := &spec.Endpoint{BaseURL: address, Options: map[string]json.RawMessage{}}
	set := func(name string, value any) error {
		raw, err := json.Marshal(value)
		e.Options[name] = raw
		return err
	}
	var errs []error
	if u, err := url.Parse(address); err == nil && u.IsAbs() && path.Ext(u.Path) == ".json" {
		option := "card_url"
		if path.Base(u.Path) == "agents.json" {
			option = "card_list"
		}
		errs = append(errs, set(option, address))
		e.BaseURL = (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	}
	for _, d := range check.PeerURL("the URL", e.BaseURL) {
		errs = append(errs, errors.New(d.Message))
	}
	if len(o.allowPrivate) > 0 {
		errs = append(errs, set("allow_private", o.allowPrivate))
	}
	if len(o.allowOrigins) > 0 {
		errs = append(errs, set("allow_origins", o.allowOrigins))
	}
	if o.allowOld {
		errs = append(errs, set("allow_v0_3", true))
	}
	if o.keys != "" {
		text, err := os.ReadFile(o.keys)
		errs = append(errs, err, set("signatures", "required"), set("signature_keys", string(text)))
	}
	return e, errors.Join(errs...)
}

// listKnown returns the end of a message about an unknown ID.
func listKnown(ids []string) string {
	if len(ids) == 0 {
		return "there is none"
	}
	return "there are " + strings.Join(ids, ", ")
}

// parseHeaders parses header lines. Errors do not repeat a line because it may contain a secret.
func parseHeaders(lines []string) (http.Header, error) {
	header := http.Header{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name, value = textproto.TrimString(name), textproto.TrimString(value)
		if !ok || name == "" || strings.ContainsAny(name, " \t()<>@,;\\\"/[]?={}") || strings.ContainsFunc(name+value, unicode.IsControl) {
			return nil, errors.New(`a --header is not of the form "Name: value"`)
		}
		header.Add(name, value)
	}
	return header, nil
}

// examiner returns the backend of a kind that explains its peers' errors.
func (p *program) examiner(kind string) (backend.Examiner, error) {
	for _, newBackend := range p.Backends {
		if x, ok := newBackend(zap.NewNop()).(backend.Examiner); ok && x.Kind() == kind {
			return x, nil
		}
	}
	return nil, fmt.Errorf("this program cannot examine peers of kind %q", kind)
}

// showExamination writes the findings about a peer. The command fails if there are errors.
func showExamination(out *command.Output, found *backend.Examination) error {
	var text strings.Builder
	text.WriteString(found.Peer)
	if found.Name != "" {
		fmt.Fprintf(&text, " (%s)", terminal.OneLine(found.Name))
	}
	text.WriteString("\n\n")
	for _, c := range found.Checks {
		fmt.Fprintf(&text, "%-7s  %s: %s\n", c.Outcome, terminal.OneLine(c.Name), terminal.OneLine(c.Seen))
		if c.Want != "" {
			fmt.Fprintf(&text, "%-7s  right would be: %s\n", "", terminal.OneLine(c.Want))
		}
	}
	fmt.Fprintf(&text, "\n%s, %s\n",
		terminal.Count(found.Count(backend.OutcomeError), "error", "errors"), terminal.Count(found.Count(backend.OutcomeWarning), "warning", "warnings"))
	if err := out.Show(found, text.String()); err != nil || found.Count(backend.OutcomeError) == 0 {
		return err
	}
	return command.Exit(command.Failed)
}
