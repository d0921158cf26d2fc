package builder_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// says is a model that always returns the same answer.
type says string

func (s says) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		_ = yield(model.Event{Type: model.EventText, Delta: string(s)}, nil) &&
			yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop}, nil)
	}
}

// plain is a tool that does nothing.
type plain struct{ parameters string }

func (p plain) Descriptor() tools.Descriptor {
	return tools.Descriptor{Description: "Does nothing.", Parameters: []byte(p.parameters)}
}

func (plain) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.TextResult("done"), nil
}

// plugin is a plugin built from functions.
type plugin struct {
	sections []plugins.Section
	register func(*plugins.Registrar) error
}

func (p plugin) Descriptor() plugins.Descriptor {
	return plugins.Descriptor{Summary: "A plugin of a test.", Sections: p.sections}
}

func (p plugin) Register(r *plugins.Registrar) error {
	if p.register == nil {
		return nil
	}
	return p.register(r)
}

// claims returns a plugin that claims a section.
func claims(key, schema string) plugin {
	return plugin{sections: []plugins.Section{{Key: key, Schema: []byte(schema)}}}
}

// peers is a backend kind with in-memory peers.
type peers struct {
	kind     string
	validate func(*spec.Endpoint) diag.List
	discover func(context.Context, *spec.RemoteSource) ([]*spec.Agent, error)
}

func (p peers) Kind() string { return p.kind }

func (p peers) Validate(e *spec.Endpoint) diag.List {
	if p.validate == nil {
		return nil
	}
	return p.validate(e)
}

func (p peers) New(*spec.Endpoint) (backend.Backend, error) { return peer{}, nil }

func (p peers) Discover(ctx context.Context, source *spec.RemoteSource) ([]*spec.Agent, error) {
	if p.discover == nil {
		return nil, errors.New("nobody there")
	}
	return p.discover(ctx, source)
}

// peer is a backend that does nothing.
type peer struct{}

func (peer) Profile() backend.Profile { return backend.WeakestProfile() }

func (peer) Execute(context.Context, *backend.Job, backend.Host) (*backend.Result, error) {
	return &backend.Result{}, nil
}

// demo returns a builder with the provider p and its model m.
func demo() *builder.AgentRuntimeBuilder {
	return builder.New().
		WithProvider("p", says("hello")).
		WithModel(spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "up"})
}

// agent returns the agent a, which runs on m, with changes applied.
func agent(change ...func(*spec.Agent)) spec.Agent {
	a := spec.Agent{ID: "a", Description: "Helps.", ModelID: "m"}
	for _, c := range change {
		c(&a)
	}
	return a
}

func at(url string) *spec.Endpoint { return &spec.Endpoint{BaseURL: url} }

// is returns a check for an error of a type in a joined error.
func is[E error](right func(E) bool) func(error) bool {
	return func(err error) bool {
		found, ok := errors.AsType[E](err)
		return ok && right(found)
	}
}
