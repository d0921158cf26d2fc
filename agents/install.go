package agents

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/local"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// noModel is the model and provider name for agents with only code.
const noModel = "agents.none"

// Install adds agents written in Go to a builder before it builds the runtime. It declares agents
// with only code; all others must also be declared.
func Install(b *builder.AgentRuntimeBuilder, list ...Definition) error {
	code := &coded{loop: local.Backend{}, code: make(map[string]*definition)}
	bare := false
	var errs []error
	for _, a := range list {
		if a == nil || a.define() == nil {
			errs = append(errs, errors.New("an agent is nil"))
			continue
		}
		d := a.define()
		if code.code[d.name] != nil {
			errs = append(errs, fmt.Errorf("there are two agents %q", d.name))
		}
		if d.code != nil {
			code.code[d.name] = d
		}
		if d.bare {
			bare = true
			b.WithAgentSpec(spec.Agent{ID: d.name, ModelID: noModel, Description: d.description, AllowedTools: spec.Names{}})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if bare {
		b.WithProvider(noModel, nothing{}).WithModel(spec.Model{ID: noModel, ProviderID: noModel, UpstreamModel: noModel})
	}
	b.WithLocalBackend(code)
	return nil
}

// coded is the backend of agents with code. Agents without code run on the loop.
type coded struct {
	loop backend.Backend
	code map[string]*definition
}

var _ backend.Backend = (*coded)(nil)

// Profile returns the capabilities of the loop.
func (b *coded) Profile() backend.Profile { return b.loop.Profile() }

// Execute runs one turn.
func (b *coded) Execute(ctx context.Context, job *backend.Job, host backend.Host) (*backend.Result, error) {
	d := b.code[job.Agent.ID]
	if d == nil {
		return b.loop.Execute(ctx, job, host)
	}
	t, err := newTurn(ctx, d, b.loop, job, host)
	if err != nil {
		return &backend.Result{}, err
	}
	defer t.close()
	return t.run(context.WithValue(ctx, turnContextKey{}, t.named))
}

// nothing is the provider of agents that have no model.
type nothing struct{}

var _ model.Executor = nothing{}

// Vendor returns "".
func (nothing) Vendor() string { return "" }

// Stream fails.
func (nothing) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		yield(model.Event{}, &model.Error{Class: model.InvalidRequest, Message: errNoModel.Error()})
	}
}
