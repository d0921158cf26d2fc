package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/explain"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/toolgrant"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/spf13/cobra"
)

// sessionRequest is a turn request of an agent session client.
type sessionRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role     string          `json:"role"`
		Text     string          `json:"text"`
		Parts    json.RawMessage `json:"parts"`
		Metadata json.RawMessage `json:"metadata"`
	} `json:"messages"`
	ToolRefs       json.RawMessage `json:"toolRefs"`
	ToolSource     string          `json:"toolSource"`
	ResponseSchema json.RawMessage `json:"responseSchema"`
	Metadata       json.RawMessage `json:"metadata"`
	ModelOptions   json.RawMessage `json:"modelOptions"`
	IdempotencyKey string          `json:"idempotencyKey"`

	tools *toolgrant.Request
}

// readSessionRequest reads the file of --session-request; "-" is the standard input.
func readSessionRequest(cmd *cobra.Command, name string) (*sessionRequest, error) {
	read := func() ([]byte, error) { return os.ReadFile(name) } //nolint:gosec // the user names it
	if name == "-" {
		read = func() ([]byte, error) { return io.ReadAll(cmd.InOrStdin()) }
	}
	data, err := read()
	if err != nil {
		return nil, command.Usagef(cmd, "--session-request: %v", err)
	}
	var r sessionRequest
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return nil, command.Usagef(cmd, "--session-request %s: %v", name, err)
	}
	if r.tools, err = toolgrant.Parse(r.ToolRefs, r.ToolSource); err != nil {
		return nil, command.Usagef(cmd, "--session-request %s: %v", name, err)
	}
	return &r, nil
}

// latestText returns the text of the last user message.
func (r *sessionRequest) latestText() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return r.Messages[i].Text
		}
	}
	return ""
}

// explainRequest shows how an agent resolves for a client's turn request.
func explainRequest(cmd *cobra.Command, p *program, l *loaded, agent string, r *sessionRequest) error {
	ctx := cmd.Context()
	rev, declared, own, err := l.aboutLocal(ctx, agent)
	if err != nil {
		return err
	}
	if declared == nil || own.HasErrors() {
		return l.refuse(own, p.Err, command.Failed)
	}
	turn, grant, err := l.grantTools(rev, declared.Agent, r)
	if err != nil {
		p.PrintErrorf("%s", l.file.Redact(err.Error()))
		return command.Exit(command.Failed)
	}
	e, err := resolve.ExplainEphemeral(ctx, rev, &resolve.Ephemeral{Agent: turn})
	found := l.file.Complete(e.Diagnostics, diag.FromError(err))
	x := newExplanation(l, agent, e, found)
	x.Request = &explain.RequestGrant{Grant: grant, Source: r.ToolSource}
	return showExplanation(x, l, command.NewOutput(&p.Streams, cmd, l.file.Redact))
}

// grantTools returns an agent with the model and the tools of a turn.
func (l *loaded) grantTools(rev *registry.Revision, agent *spec.Agent, r *sessionRequest) (*spec.Agent, *toolgrant.Grant, error) {
	set := rev.Set()
	turn := agent.Clone()
	if r.Model != "" {
		turn.UseModel(l.modelID(agent.ID, r.Model))
	}
	scope := toolgrant.Scope{
		Set: set, Usable: service.NewCatalog(set, service.Caller{}).Tools(), Agent: turn, Threshold: l.file.Server.Sessions.Threshold(),
	}
	grant, err := scope.Choose(r.tools, r.latestText())
	if err != nil {
		return nil, nil, err
	}
	grant.Apply(turn)
	return turn, grant, nil
}

// modelID returns the id of a model, which the providers of sessions with an agent may alias.
func (l *loaded) modelID(agent, name string) string {
	for _, provider := range l.file.Server.Sessions.Providers {
		if id, ok := provider.Aliases[name]; ok && provider.Agent == agent {
			return id
		}
	}
	return name
}
