package a2abackend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// maxID is how long the id of a task or context may be, in bytes.
const maxID = 512

// take takes in an event of the peer's, of which there is no other way in. The errors
// end the turn.
func (d *delegation) take(ctx context.Context, ev a2a.Event) error {
	cleanEvent(ev)
	switch ev := ev.(type) {
	case *a2a.Message:
		if ev != nil {
			return d.message(ctx, ev)
		}
	case *a2a.Task:
		if ev != nil {
			return d.snapshot(ctx, ev)
		}
	case *a2a.TaskStatusUpdateEvent:
		if ev != nil {
			if err := d.see(ctx, ev.TaskID, ev.ContextID); err != nil {
				return err
			}
			d.told = false
			return d.observe(&ev.Status, ev.Metadata)
		}
	case *a2a.TaskArtifactUpdateEvent:
		if ev != nil && ev.Artifact != nil {
			if err := d.see(ctx, ev.TaskID, ev.ContextID); err != nil {
				return err
			}
			d.told = false
			return d.bounded(d.assembly.update(ev.Artifact.ID, ev.Artifact.Parts, ev.Append))
		}
	}
	return d.fail(CodeProtocol, "an event says nothing", nil)
}

// message takes in a message: the answer of a peer that makes no task of it, or
// what the agent says beside its work.
func (d *delegation) message(ctx context.Context, m *a2a.Message) error {
	if d.course.TaskID != "" {
		if err := d.see(ctx, m.TaskID, m.ContextID); err != nil {
			return err
		}
		d.closing = messageText(m)
		return nil
	}
	if problem := unfit(m.ContextID, false); problem != "" {
		return d.fail(CodeProtocol, "the id of a context "+problem, nil)
	}
	d.report(m.Metadata)
	d.replied, d.whole, d.course.Accepted = true, true, true
	if m.ContextID != "" {
		d.course.ContextID = m.ContextID
	}
	return d.bounded(d.assembly.update("", m.Parts, false))
}

// snapshot takes in the task as it is. What it has of artifacts is all that there
// is.
func (d *delegation) snapshot(ctx context.Context, t *a2a.Task) error {
	if t.ID == "" {
		return d.fail(CodeProtocol, "a task has no id", nil)
	}
	if err := d.see(ctx, t.ID, t.ContextID); err != nil {
		return err
	}
	if d.course.State.Terminal() && !t.Status.State.Terminal() {
		return nil // what has ended does not go on
	}
	for _, m := range t.History {
		if m != nil && m.Role == a2a.MessageRoleAgent {
			d.closing = messageText(m)
		}
	}
	if err := d.bounded(d.assembly.rebuild(t.Artifacts)); err != nil {
		return err
	}
	d.whole, d.told = true, true
	return d.observe(&t.Status, t.Metadata)
}

// see takes in whose event something is. The ids are kept when they are seen for
// the first time, and so is that the message has arrived.
func (d *delegation) see(ctx context.Context, task a2a.TaskID, contextID string) error {
	c := &d.course
	if problem := cmp.Or(unfit(string(task), d.inPath), unfit(contextID, false)); problem != "" {
		return d.fail(CodeProtocol, "the id of a task or context "+problem, nil)
	}
	switch {
	case task == "" && c.TaskID == "":
		return d.fail(CodeProtocol, "an event names no task", nil)
	case task != "" && c.TaskID != "" && task != c.TaskID:
		return d.fail(CodeProtocol, fmt.Sprintf("an event is one of another task, %q", clip.Text(string(task))), nil)
	}
	known := c.Accepted && c.TaskID != "" && (contextID == "" || contextID == c.ContextID)
	c.TaskID, c.ContextID = cmp.Or(c.TaskID, task), cmp.Or(contextID, c.ContextID)
	c.Accepted, d.tickets, d.resolutions = true, nil, nil
	d.known.Store(true)
	if known {
		return nil
	}
	return d.checkpoint(ctx)
}

// unfit says what is wrong with an id of the peer's, which events carry, and
// requests, perhaps in their paths; "" when nothing is.
func unfit(id string, inPath bool) string {
	switch {
	case len(id) > maxID:
		return fmt.Sprintf("has more than %d bytes", maxID)
	case !utf8.ValidString(id):
		return "is not UTF-8"
	case strings.ContainsFunc(id, unicode.IsControl):
		return "has control characters"
	case inPath && (url.PathEscape(id) != id || strings.Trim(id, ".") == "" && id != ""):
		return "cannot be part of a URL"
	}
	return ""
}

// observe takes in the state of the task. One that has ended stays so. States
// that are not known are work.
func (d *delegation) observe(s *a2a.TaskStatus, metadata map[string]any) error {
	d.report(metadata)
	if d.course.State.Terminal() {
		return nil
	}
	before, said := d.course.State, fingerprint(&d.status)
	d.status, d.course.State = *s, s.State
	if s.State == a2a.TaskStateInputRequired || s.State == a2a.TaskStateAuthRequired {
		d.interrupted = !d.answered(s)
	}
	if s.State != before || fingerprint(s) != said {
		text := d.peer.shown(messageText(s.Message), maxShown)
		if err := d.bounded(d.assembly.spend(overhead + len(text))); err != nil {
			return err
		}
		d.activity(activityState(s.State), text)
	}
	if s.State.Terminal() {
		return nil
	}
	return d.job.Meter.Exceeded()
}

// settled reports whether the task has ended, or waits for somebody.
func (d *delegation) settled() bool {
	return d.replied || d.interrupted || d.course.State.Terminal()
}

// bounded returns the error of a turn whose output is too large.
func (d *delegation) bounded(err error) error {
	if tooMuch, ok := errors.AsType[*outputError](err); ok {
		return d.fail(CodeTooLarge, tooMuch.Error(), err)
	}
	return err
}

// taskActivity is what a turn shows of its task.
type taskActivity struct {
	Peer      string     `json:"peer"`
	TaskID    a2a.TaskID `json:"task_id"`
	ContextID string     `json:"context_id,omitempty"`
	State     string     `json:"state"`
	// Message is what the agent says of it, cut where it is long.
	Message string `json:"message,omitempty"`
}

// ActivityTask is the type of the activity that shows the task at the peer.
const ActivityTask = "a2a_task"

func (d *delegation) activity(state, text string) {
	d.host.Emit(&event.ActivitySnapshot{
		MessageID: d.job.TurnID + "/task", ActivityType: ActivityTask,
		Content: encode(&taskActivity{d.peer.endpoint.BaseURL, d.course.TaskID, d.course.ContextID, state, text}),
	})
}

// activityState returns the state of a task as it is shown: working,
// input_required.
func activityState(s a2a.TaskState) string {
	return clip.Text(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")))
}
