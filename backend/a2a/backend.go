package a2abackend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// remote runs turns at one peer.
type remote struct{ peer *peer }

var (
	_ backend.Backend = (*remote)(nil)
	_ backend.Aborter = (*remote)(nil)
)

// Profile returns what a peer can do. A turn goes on from its state alone, days
// later and in another process; of the conversation the peer gets what is new.
// Its budgets go to the peer, and what the peer reports counts against them.
func (*remote) Profile() backend.Profile {
	return backend.Profile{
		Continuation: backend.ContinueRemote,
		Decisions:    backend.DecisionsDurable,
		Overrides:    backend.LevelNone,
		Budgets:      backend.BudgetsEnforced,
		Persistence:  backend.PersistCheckpoint,
		Transcript:   backend.TranscriptIncremental,
	}
}

// Execute runs one turn at the peer, from its beginning or from job.State. The
// result is never nil. With backend.ErrYield, and when the context ended because
// the turn goes on with another worker, the task at the peer is left running;
// whatever else ends the turn ends the task too.
func (r *remote) Execute(ctx context.Context, job *backend.Job, host backend.Host) (*backend.Result, error) {
	d, err := newDelegation(r.peer, job, host)
	if err != nil {
		return &backend.Result{}, err
	}
	if d.outcome == event.CallSuspended && len(d.resolutions) == 0 && ctx.Err() == nil { // nobody has answered
		return d.result(event.Termination{Type: event.Suspended}), nil
	}
	ctx, cancel := d.limited(ctx)
	defer cancel()
	termination, err := d.run(ctx)
	switch {
	case err == nil:
		return d.result(termination), nil
	case errors.Is(err, backend.ErrYield):
		result := d.result(event.Termination{})
		result.State = d.state()
		return result, backend.ErrYield
	case backend.Released(ctx):
		return d.result(event.Termination{}), err
	}
	if ctx.Err() != nil || !errors.As(err, new(*checkpointError)) { // else somebody may go on from the state that was kept last
		d.abandon(ctx)
	}
	d.endStep()
	if d.response == "" {
		d.response = d.assembly.text()
	}
	return d.result(backend.TerminationOf(err)), err
}

// Abort ends the task of a turn that ended meanwhile. The error says that the
// task may still go on.
func (r *remote) Abort(ctx context.Context, state *backend.State) error {
	if state == nil || state.Remote == nil {
		return nil
	}
	c, err := decodeCourse(state.Remote.Resume)
	if err != nil {
		return err
	}
	switch {
	case c.Peer != r.peer.where():
		return fmt.Errorf("end the task at peer %s: %w", c.Peer, errOtherPeer)
	case c.TaskID == "":
		return r.peer.fail(CodeUnreachable, "", "the peer was sent a message, and did not say what task it became", nil)
	}
	return r.peer.cancelTask(ctx, c.TaskID)
}

// errOtherPeer says that a task is not at the peer that the agent has now.
var errOtherPeer = errors.New("the agent's endpoint is another peer now")

// where names the agent at the peer.
func (p *peer) where() string {
	if p.endpoint.Target == "" {
		return p.endpoint.BaseURL
	}
	return p.endpoint.BaseURL + " " + p.endpoint.Target
}

// result returns what the turn came to, or how far it came.
func (d *delegation) result(termination event.Termination) *backend.Result {
	r := &backend.Result{
		Termination: termination, Response: d.response, Steps: d.stats.Steps, Usage: d.stats.Usage,
		Session: remember(d.job.Session, d.job.Agent.ID, d.peer.where(), d.course.ContextID),
	}
	if d.stats.Currency != "" {
		r.Cost = &event.Cost{Amount: d.stats.Cost, Currency: d.stats.Currency}
	}
	switch termination.Type {
	case event.Suspended:
		r.State = d.state()
		r.Tickets = r.State.Tickets()
	case "":
	default:
		r.Messages = d.messages()
	}
	return r
}

// messages returns what the turn adds to the conversation.
func (d *delegation) messages() []model.Message {
	if d.response == "" {
		return nil
	}
	answer := model.Assistant(d.response)
	answer.ID = d.messageID()
	return []model.Message{answer}
}

// state returns what the turn goes on from.
func (d *delegation) state() *backend.State {
	stats := d.stats
	stats.Elapsed += time.Since(stats.Started)
	session := remember(nil, d.job.Agent.ID, d.peer.where(), d.course.ContextID)
	s := &backend.State{
		Version: backend.StateVersion, Agent: d.job.Agent.ID, Stats: stats,
		Budgets: d.job.Meter.Budgets(), Spent: d.job.Meter.Spent(), Response: d.response,
		Plugins: plugins.State{Session: session, Written: slices.Sorted(maps.Keys(session))},
		Remote: &backend.CallState{
			ID:      cmp.Or(string(d.course.TaskID), d.course.MessageID),
			Outcome: d.outcome, Tickets: d.tickets, Resume: encode(&d.course), Resolutions: slices.Clone(d.resolutions),
		},
	}
	if before := d.job.State; before != nil {
		s.Budgets, s.Output, s.Resolved = before.Budgets, before.Output, maps.Clone(before.Resolved)
	}
	return s
}
