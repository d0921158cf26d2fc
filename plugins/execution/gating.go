package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/plugins"
)

// Gate calls every gate, and the ceiling, for the call in the context, and returns the decision
// that applies. A gate that fails blocks the call.
func (e *Engine) Gate(ctx context.Context) plugins.Decision {
	var strictest plugins.Decision
	e.Context.Phase, e.Context.Now = plugins.ToolGate, time.Now()
	e.noteAnswer()
	for i := range e.env.gates {
		g := &e.env.gates[i]
		if d := e.askGate(ctx, g.owner, g.gate.Check); d.Kind > strictest.Kind {
			strictest = d
		}
	}
	for _, g := range e.ceiling {
		if d := e.askGate(ctx, "of a delegating agent", g.Ceiling); d.Kind > strictest.Kind {
			strictest = d
		}
	}
	return strictest
}

// askGate calls one gate. It drops changes that the gate staged, because a gate may only decide.
func (e *Engine) askGate(ctx context.Context, owner string, gate plugins.GateFunc) (d plugins.Decision) {
	defer func() {
		err := e.staged.err
		e.staged = staged{}
		if err != nil {
			d = plugins.Decision{Kind: plugins.Block, Reason: fmt.Sprintf("plugin %s could not decide: %v", owner, err)}
		}
		d.Plugin = owner
	}()
	defer panics.Handle(func(p *panics.Error) { e.staged.err = p })
	d, err := gate(ctx, &e.Context)
	if err == nil && d.Kind > plugins.Block {
		err = fmt.Errorf("it decides the unknown kind %d", d.Kind)
	}
	if err != nil {
		e.staged.setError(err)
	}
	return d
}
