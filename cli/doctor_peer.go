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

// listKnown returns the end of a message about an unknown ID.
func listKnown(ids []string) string {
	switch len(ids) {
	case 0:
		return "there is none"
	case 1:
		return "there is only " + ids[0]
	default:
		return "there are " + strings.Join(ids, ", ")
	}
}
