package cli

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

// broken returns the program's components plus some that misbehave.
func broken() app.Components {
	c := shipped.Components()
	c.Kinds.Providers = append(c.Kinds.Providers, spec.NewKind("faulty", "Misbehaves.", newFaultyModel))
	c.Kinds.Tools = append(c.Kinds.Tools, spec.NewKind("faulty", "Misbehaves.", newFaultyTool))
	c.Kinds.Plugins = append(c.Kinds.Plugins, spec.NewKind("faulty", "Misbehaves.", newFaultyPlugin))
	c.Backends = append(c.Backends, func(*zap.Logger) backend.Factory { return fakeBackend{} })
	return c
}

// faultyConfig selects how a component misbehaves.
type faultyConfig struct {
	Fault string `json:"fault,omitempty" doc:"What goes wrong."`
	// Tool is the id of a tool contributed by a plugin.
	Tool string `json:"tool,omitempty" doc:"A tool id."`
}

type faultyModel struct{ config *faultyConfig }

func newFaultyModel(_ model.Settings, c *faultyConfig) (model.Executor, error) {
	if c.Fault == "create" {
		panic("the provider panics")
	}
	return faultyModel{c}, nil
}

func (m faultyModel) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	if m.config.Fault == "stream" {
		return func(func(model.Event, error) bool) { panic("the stream panics") }
	}
	panic("the model panics")
}

type faultyTool struct{ config *faultyConfig }

func newFaultyTool(_ tools.Settings, c *faultyConfig) (tools.Tool, error) {
	switch c.Fault {
	case "create":
		panic("the tool panics when it is made")
	case "refuse":
		return nil, errors.New("no such device")
	}
	return faultyTool{c}, nil
}

func (t faultyTool) Descriptor() tools.Descriptor {
	d := tools.Descriptor{Description: "Misbehaves."}
	switch t.config.Fault {
	case "descriptor":
		panic("the descriptor panics")
	case "schema":
		d.Parameters = json.RawMessage(`{"type": "objekt"}`)
	case "text":
		d.Parameters = json.RawMessage(`{"type":`)
	}
	return d
}

func (t faultyTool) Call(context.Context, *tools.Call) (tools.Result, error) {
	if t.config.Fault == "error" {
		return tools.Result{}, errors.New("the tool fails")
	}
	panic("the tool panics")
}

type faultyPlugin struct{ config *faultyConfig }

func newFaultyPlugin(_ plugins.Settings, c *faultyConfig) (plugins.Plugin, error) {
	if c.Fault == "create" {
		panic("the plugin panics when it is made")
	}
	return faultyPlugin{c}, nil
}

func (p faultyPlugin) Descriptor() plugins.Descriptor {
	switch p.config.Fault {
	case "descriptor":
		panic("the descriptor panics")
	case "schema":
		return plugins.Descriptor{Sections: []plugins.Section{{Key: "faulty", Schema: json.RawMessage(`{"type": "objekt"}`)}}}
	case "decode":
		return plugins.Descriptor{Sections: []plugins.Section{{
			Key: "faulty", Schema: json.RawMessage(`{"type": "object"}`),
			Decode: func(json.RawMessage) (any, diag.List) { panic("the decoder panics") },
		}}}
	}
	return plugins.Descriptor{}
}

func (p faultyPlugin) Register(r *plugins.Registrar) error {
	switch p.config.Fault {
	case "register":
		panic("Register panics")
	case "refuse":
		return errors.New("no such device")
	case "handler":
		r.ActionHandler("shared", plugins.BeforeInference, func(context.Context, *plugins.PhaseContext, any) error { return nil })
	case "hook":
		r.Hook(plugins.BeforeInference, func(context.Context, *plugins.PhaseContext) error { panic("the hook panics") })
	case "gate":
		r.ToolGate(plugins.GateFunc(func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) {
			panic("the gate panics")
		}))
	case "suspend":
		r.ToolGate(plugins.GateFunc(func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) {
			return plugins.Decision{Kind: plugins.Suspend, Interaction: &interaction.Request{
				ID: "ticket_1", Action: "tool:PermissionConfirm", Message: "May wc be called?",
			}}, nil
		}))
	}
	if p.config.Tool != "" {
		r.Tool(p.config.Tool, faultyTool(p))
	}
	return nil
}

// fakeBackend reaches nothing, and is strict about its options.
type fakeBackend struct{}

var _ backend.Factory = fakeBackend{}

func (fakeBackend) Kind() string { return "fake" }

func (fakeBackend) Validate(e *spec.Endpoint) diag.List {
	var list diag.List
	if e.Target == "" {
		list = append(list, diag.New(diag.InvalidEndpoint, "", "backend fake needs a target"))
	}
	if _, ok := e.Options["speed"]; ok {
		list = append(list, diag.New(diag.InvalidEndpoint, "options.speed", "backend fake has no option speed"))
	}
	return list
}

func (fakeBackend) New(e *spec.Endpoint) (backend.Backend, error) {
	if e.Target == "panic" {
		panic("New panics")
	}
	return brokenRemote{}, nil
}

// brokenRemote answers at once.
type brokenRemote struct{}

func (brokenRemote) Profile() backend.Profile { return backend.WeakestProfile() }

func (brokenRemote) Execute(context.Context, *backend.Job, backend.Host) (*backend.Result, error) {
	return &backend.Result{Outcome: event.Outcome{Response: "from afar"}}, nil
}
