package a2a

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/exchange"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
)

// turn is one turn at a peer: an exchange within the turn's budgets and time, shown to the host. It
// belongs to the goroutine that runs Execute.
//
// Its state is saved before a message is sent and once the peer has returned the ids of the task.
type turn struct {
	peer     *client.Peer
	job      *backend.Job
	host     backend.Host
	exchange *exchange.Exchange

	course course
	stats  plugins.Stats
	// waits is the turn's open wait, kept until the peer has the answers.
	waits    wait
	response string
	span     telemetry.StepSpan
}

// wait is an open wait, in the form of the turn's state.
type wait struct {
	outcome      event.CallOutcome
	interactions []*backend.Interaction
	answers      []interaction.Answer
}

// isSuspended reports whether the wait has not been resumed yet.
func (w *wait) isSuspended() bool { return w.outcome == event.CallSuspended }

// restoreState restores a turn from a saved state.
func (t *turn) restoreState(s *backend.State) error {
	if err := s.Check(); err != nil {
		return err
	}
	if s.Remote == nil || s.Agent != t.job.Agent.ID {
		return fmt.Errorf("the state of the turn is not one of agent %s at a peer", t.job.Agent.ID)
	}
	c, err := decodeCourse(s.Remote.Resume)
	if err != nil {
		return err
	}
	if c.Peer != t.peer.Target() {
		return fmt.Errorf("continue the task at peer %s: %w", c.Peer, errOtherPeer)
	}
	t.course, t.stats, t.response = *c, s.Stats, s.Response
	t.waits = wait{outcome: s.Remote.Outcome, interactions: s.Remote.Interactions, answers: slices.Clone(s.Remote.Answers)}
	return nil
}

// beginStep opens the step of another message, and starts its exchange with begin.
func (t *turn) beginStep(begin func(messageID string) error) error {
	c := &t.course
	c.Step++
	t.stats.Steps++
	c.Open = true
	if err := begin(exchange.MessageID(t.job.TurnID, c.Step)); err != nil {
		return err
	}
	t.host.Emit(&event.StepStart{Step: c.Step, MessageID: t.answerID()})
	return nil
}

// endStep closes the step, if one is open.
func (t *turn) endStep() {
	if t.course.Open {
		t.course.Open = false
		t.exchange.CloseMessage()
		t.host.Emit(&event.StepEnd{Step: t.course.Step})
	}
}

// answerID is the id of the step's answer in the conversation.
func (t *turn) answerID() string {
	return event.ShownID(t.job.TurnID) + "/m" + strconv.Itoa(t.course.Step)
}

// userParts returns the turn's input for the peer: the parts of the user's messages, in order.
func userParts(input []model.Message) []*a2a.Part {
	var parts []*a2a.Part
	for i := range input {
		if input[i].Role == model.RoleUser {
			parts = append(parts, a2awire.Parts(input[i].Parts)...)
		}
	}
	return parts
}

// checkpointError reports that a turn's state could not be stored. The task
// continues, and so does the turn, from its last stored state.
type checkpointError struct{ err error }

func (e *checkpointError) Error() string { return "keep the state of the turn: " + e.err.Error() }

func (e *checkpointError) Unwrap() error { return e.err }

// saveCheckpoint stores the turn's state, if the job has a checkpoint.
func (t *turn) saveCheckpoint(ctx context.Context) error {
	if t.job.Checkpoint == nil || ctx.Err() != nil {
		return nil
	}
	if err := t.job.Checkpoint(ctx, t.currentState()); err != nil {
		return &checkpointError{err}
	}
	return nil
}

// taskActivity is the shown progress of a task.
type taskActivity struct {
	Peer      string     `json:"peer"`
	TaskID    a2a.TaskID `json:"task_id"`
	ContextID string     `json:"context_id,omitempty"`
	State     string     `json:"state"`
	// Message is the agent's message about it, cut if long.
	Message string `json:"message,omitempty"`
}

// activityTask is the type of the activity that shows the task at the peer.
const activityTask = "a2a_task"

// showTask shows the state of the task.
func (t *turn) showTask(state, text string) {
	at := t.exchange.Position()
	t.host.Emit(&event.ActivitySnapshot{
		MessageID: event.ShownID(t.job.TurnID) + "/task", ActivityType: activityTask,
		Content: encodeRecord(&taskActivity{t.peer.Endpoint.BaseURL, at.TaskID, at.ContextID, state, text}),
	})
}

// currentState returns the state from which the turn continues.
func (t *turn) currentState() *backend.State {
	c := t.course
	c.Position = t.exchange.Position()
	stats := t.stats
	stats.Elapsed += time.Since(stats.Started)
	session := rememberContext(nil, t.job.Agent.ID, t.peer.Target(), t.exchange.Position().ContextID)
	s := &backend.State{
		Version: backend.StateVersion, Agent: t.job.Agent.ID, Stats: stats,
		Budgets: t.job.Meter.Budgets(), Spent: t.job.Meter.Spent(), Response: t.response,
		Plugins: execution.State{Session: session, Written: slices.Sorted(maps.Keys(session))},
		Remote: &backend.CallState{
			ID:      cmp.Or(string(c.TaskID), c.MessageID),
			Outcome: t.waits.outcome, Interactions: t.waits.interactions, Resume: encodeRecord(&c), Answers: slices.Clone(t.waits.answers),
		},
	}
	if before := t.job.State; before != nil {
		s.Budgets, s.Output, s.Answered = before.Budgets, before.Output, maps.Clone(before.Answered)
	}
	return s
}
