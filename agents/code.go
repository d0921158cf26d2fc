package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// turn is a turn that code drives.
//
//	code ──▶ generate ─┬─ ended ──▶ code ──▶ …  ──▶ result
//	                   └─ suspended, stopped or lost: the turn leaves, whatever the code returns
type turn struct {
	definition *definition
	loop       backend.Backend
	job        *backend.Job
	host       *sharedHost
	session    tools.Session
	named      TurnContext

	mu sync.Mutex
	// added are the messages of the turn after its input.
	added []model.Message
	// past holds the completed Generate calls; the code's next call gets the number next.
	past generations
	next int
	// last is the result of the latest Generate call, and left the error of an incomplete call.
	last *backend.Result
	left error
	// inMemory is the run of a turn whose conversation the service does not store, or nil.
	inMemory *clientRun
	// replaying is set while the code repeats changes that are already stored.
	replaying bool
}

// generations are the completed Generate calls, as State.Code stores them.
type generations struct {
	Ended []generation `json:"ended"`
	// Steps is the total number of steps.
	Steps   int                        `json:"steps"`
	Session map[string]json.RawMessage `json:"session,omitempty"`
}

// generation is a completed Generate call.
type generation struct {
	Text         string            `json:"text,omitempty"`
	FinishReason wire.FinishReason `json:"finish_reason,omitempty"`
}

// newTurn returns an agent's turn, from its start or from its saved state.
func newTurn(ctx context.Context, d *definition, loop backend.Backend, job *backend.Job, host backend.Host) (*turn, error) {
	t := &turn{definition: d, loop: loop, job: job, host: &sharedHost{Host: host}, session: host.Session()}
	t.named = TurnContext{Index: countTurns(job.History), SnapshotID: t.session.SnapshotID(), SessionID: job.SessionID, ParentSnapshotID: t.session.ParentSnapshotID(), Resumed: job.State != nil}
	if t.named.SnapshotID != "" && d.snapshots == nil {
		t.named.SnapshotID = job.TurnID
	}
	if set := d.set.Load(); set != nil && d.snapshots == nil {
		t.named.ParentSnapshotID = set.turnOf(ctx, t.named.ParentSnapshotID)
	}
	if job.State == nil {
		return t, nil
	}
	t.replaying = true
	if len(job.State.Code) > 0 {
		if err := json.Unmarshal(job.State.Code, &t.past); err != nil {
			return nil, fmt.Errorf("read the recorded steps of agent %s: %w", d.name, err)
		}
	}
	return t, nil
}

// run runs the code.
func (t *turn) run(ctx context.Context) (*backend.Result, error) {
	result, err := t.callCode(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left != nil || t.last != nil && t.last.State != nil {
		return t.last, t.left
	}
	out := &backend.Result{Messages: t.added}
	if t.last != nil {
		*out = *t.last
		out.Messages = t.added
	}
	if err == nil && t.replaying {
		err = fmt.Errorf("the code of agent %s has not called Generate again, where the turn stopped", t.definition.name)
	}
	if err != nil {
		return out, publishError(err)
	}
	t.finish(out, result)
	return out, nil
}

// finish ends the turn with the return value of the code.
func (t *turn) finish(out *backend.Result, result *Result) {
	if out.Termination.Type == "" {
		out.Termination.Type = event.NaturalEnd
	}
	if result == nil {
		return
	}
	answer := result.Message
	if answer == nil && result.Text != "" {
		answer = new(model.Assistant(result.Text))
	}
	said := t.last != nil && answer != nil && answer.Text() == t.last.Response && len(t.added) > 0 && t.added[len(t.added)-1].Role == model.RoleAssistant
	if answer != nil && !said {
		answer.Role = model.RoleAssistant
		out.Messages = append(slices.Clip(out.Messages), *answer)
	}
	out.Response = ""
	if answer != nil {
		out.Response = answer.Text()
	}
	out.FinishReason = toModelReason(result.FinishReason)
}

// callCode calls the code and returns a panic as an error.
func (t *turn) callCode(ctx context.Context) (_ *Result, err error) {
	defer panics.Recover(&err)
	if run, ok := ctx.Value(clientRunKey{}).(*clientRun); ok && run.agent.definition == t.definition {
		t.inMemory = run
		if code := run.memory.code; code != nil {
			return code(ctx, t)
		}
	}
	return t.definition.code(ctx, t)
}

// countTurns returns the number of turns in a conversation: how often a user message follows
// another role.
func countTurns(history []model.Message) int {
	n := 0
	for i := range history {
		if history[i].Role == model.RoleUser && (i == 0 || history[i-1].Role != model.RoleUser) {
			n++
		}
	}
	return n
}

// replaceHistory replaces the conversation before the input.
func (t *turn) replaceHistory(messages []model.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.inMemory == nil:
		return fmt.Errorf("the history of agent %s is kept by the service and cannot be replaced: use Prompt.History", t.definition.name)
	case slices.ContainsFunc(messages, func(m model.Message) bool { return m.Role == model.RoleSystem }):
		return errors.New("a history has no messages of the system: use Prompt.Instructions")
	case t.replaying:
		return nil
	}
	t.inMemory.replaceHistory(cloneMessages(messages))
	job := *t.job
	job.History = cloneMessages(messages)
	t.job = &job
	return nil
}

// close prevents further use of the turn by its code.
func (t *turn) close() { t.host.close() }

// isReplaying reports whether the code repeats changes that are already stored.
func (t *turn) isReplaying() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.replaying
}

// changeSession changes the session and emits the change. A stored change is not repeated.
func (t *turn) changeSession(change func() error) error {
	if t.isReplaying() {
		return nil
	}
	if err := change(); err != nil {
		return err
	}
	return t.host.use(backend.Host.FlushSession)
}

// sendText streams a piece of text.
func (t *turn) sendText(text string) error {
	if t.isReplaying() {
		return nil
	}
	return t.host.use(func(h backend.Host) { h.Emit(&event.TextDelta{Delta: text}) })
}

// addMessages adds messages to the conversation.
func (t *turn) addMessages(list []model.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.replaying {
		return nil
	}
	t.added = append(t.added, cloneMessages(list)...)
	return nil
}

// errNoModel reports that a code-only agent has no model to call.
var errNoModel = errors.New("the agent has no model: declare it and use Coded")

// generate runs the loop. The messages of the turn so far precede the ones it adds.
func (t *turn) generate(ctx context.Context, p *Prompt) (*Result, error) {
	if p == nil {
		p = &Prompt{}
	}
	if t.definition.bare {
		return nil, errNoModel
	}
	t.mu.Lock()
	number := t.next
	t.next++
	if number < len(t.past.Ended) {
		defer t.mu.Unlock()
		done := t.past.Ended[number]
		return &Result{Text: done.Text, FinishReason: done.FinishReason}, nil
	}
	job, err := t.jobOf(p)
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	result, err := t.loop.Execute(ctx, job, t.host.forLoop())
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.noteEnd(ctx, result, err)
}

// jobOf returns the loop's job, which starts at the turn's saved state or after its messages.
func (t *turn) jobOf(p *Prompt) (*backend.Job, error) {
	job := *t.job
	if p.Instructions != "" {
		agent := *job.Agent
		agent.SystemPrompt = spec.Prompt(p.Instructions)
		job.Agent = &agent
	}
	if p.History != nil {
		job.History = p.History
	}
	switch {
	case t.replaying:
		t.replaying = false
	default:
		t.added = append(t.added, p.Input...)
		if len(t.added) > 0 || t.next > 1 {
			job.State = &backend.State{
				Version: backend.StateVersion, Agent: job.Agent.ID, Messages: slices.Clone(t.added),
				Stats: plugins.Stats{Steps: t.past.Steps}, Plugins: execution.State{Session: t.past.Session},
			}
		}
	}
	code, err := json.Marshal(&t.past)
	if err != nil {
		return nil, fmt.Errorf("record the steps of agent %s: %w", t.definition.name, err)
	}
	t.host.setCode(code)
	if keep := job.Checkpoint; keep != nil {
		job.Checkpoint = func(ctx context.Context, state *backend.State) error {
			state.Code = code
			return keep(ctx, state)
		}
	}
	return &job, nil
}

// noteEnd notes the result of the loop.
func (t *turn) noteEnd(ctx context.Context, result *backend.Result, err error) (*Result, error) {
	t.last = result
	if result == nil {
		return nil, err
	}
	t.added = result.Messages
	if result.State != nil { // suspended, or stopped between two steps
		result.State.Code = t.host.code
		t.left = err
		if err == nil {
			err = errInterrupted
		}
		return nil, err
	}
	switch {
	case err != nil && backend.Released(ctx):
		t.left = err
		return nil, err
	case err != nil:
		return nil, err
	case result.Termination.Status() != event.StatusSucceeded:
		return nil, &terminationError{result.Termination}
	}
	done := generation{Text: result.Response, FinishReason: fromModelReason(result.FinishReason)}
	t.past.Ended = append(slices.Clip(t.past.Ended), done)
	t.past.Steps, t.past.Session = result.Steps, result.Session
	return &Result{Text: done.Text, FinishReason: done.FinishReason}, nil
}

// terminationError reports a turn that the loop ended without an error.
type terminationError struct{ why event.Termination }

// Error returns the reason for the end.
func (e *terminationError) Error() string { return string(e.why.Type) + ": " + e.why.Detail }

// Termination returns how the turn ends.
func (e *terminationError) Termination() event.Termination { return e.why }

// errInterrupted is returned by Generate when the turn waits for a person.
var errInterrupted = errors.New("the turn is interrupted")
