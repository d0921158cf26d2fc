package local

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
)

// CodeHandoff is the code of a turn that is blocked because the conversation cannot be handed off
// as requested.
const CodeHandoff = "hand_off"

// HandoffLimitError reports that the conversation changed hands too often.
type HandoffLimitError struct {
	// Agent is the agent that was to take over.
	Agent string
	Limit int
}

// Error names the agent and the limit.
func (e *HandoffLimitError) Error() string {
	return fmt.Sprintf("the conversation does not go to agent %s: it may change hands %d times in a turn", e.Agent, e.Limit)
}

// mayHandoff returns an error if another handoff is not possible. The limit is set by the agent
// handing off.
func (t *turn) mayHandoff(agentID string) error {
	if limit := t.agent.HandoffLimit(); t.stats.Handoffs >= limit {
		return &HandoffLimitError{Agent: agentID, Limit: limit}
	}
	return nil
}

// changeHands performs the handoff requested in the previous step. If that is impossible, the
// turn is blocked, because the current agent has declared itself done.
func (t *turn) changeHands(ctx context.Context) (stepResult, error) {
	for t.handOff != "" {
		to := t.handOff
		t.handOff = ""
		if to == t.agent.ID {
			continue
		}
		if err := t.mayHandoff(to); err != nil {
			return handOffFailed(err), nil
		}
		agent, env, err := t.host.Handoff(ctx, to)
		if err != nil {
			return handOffFailed(err), nil
		}
		if err := t.handTo(ctx, agent, env); err != nil {
			return stepResult{}, err
		}
		if t.stop != nil { // set by a phase around the handoff
			return endTurn(*t.stop), nil
		}
	}
	return stepResult{}, nil
}

// handTo performs a handoff: it ends the previous agent's plugins and starts the new agent's.
func (t *turn) handTo(ctx context.Context, agent *spec.Agent, env *backend.ExecutionEnv) error {
	if err := execution.NewEngine(env.Env, t.job.Ceiling).Restore(t.engine.Export()); err != nil {
		return err // before the agent ends anything
	}
	if err := t.leaveAgent(ctx, agent, env); err != nil {
		return err
	}
	engine := execution.NewEngine(env.Env, t.job.Ceiling)
	if err := engine.Restore(t.engine.Export()); err != nil {
		return err
	}
	t.deadLetters = append(t.deadLetters, t.engine.DeadLetters()...)
	t.splitUsage()
	from := t.agent.ID
	t.agent, t.env, t.engine = agent, env, engine
	if t.form == nil { // the turn's caller requested none
		t.form = env.Output
	}
	t.stats.Handoffs++
	t.syncHookView()
	t.replacePrompt(string(agent.SystemPrompt))
	t.span.Handoff(agent.ID)
	t.host.Emit(&event.Handoff{From: from, To: agent.ID, Count: t.stats.Handoffs})
	return t.enterAgent(ctx)
}

// leaveAgent runs the last phases of the current agent before another one takes over. Handoffs
// requested by these phases are ignored.
func (t *turn) leaveAgent(ctx context.Context, to *spec.Agent, env *backend.ExecutionEnv) error {
	c := &t.engine.Context
	c.Termination = &event.Termination{Type: event.BehaviorRequested, Code: CodeHandoff, Detail: "agent " + to.ID + " takes over"}
	leave := func(ctx context.Context) error { return t.engine.Leave(ctx, env.Env) }
	err := t.runHooks(ctx, plugins.RunEnd, leave)
	c.Termination = nil
	if err == nil {
		err = t.runHooks(ctx, plugins.Deactivate, t.deactivatePlugins)
	}
	t.handOff = ""
	t.showState()
	return err
}

func handOffFailed(err error) stepResult {
	return endTurn(event.Termination{Type: event.Blocked, Code: CodeHandoff, Detail: "the handoff failed: " + err.Error()})
}
