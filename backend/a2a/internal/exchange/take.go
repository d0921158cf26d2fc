package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// MaxID is the maximum length of a task or context id in bytes.
const MaxID = 512

// Take applies an event from the peer; all events pass through it. An error ends the exchange.
func (x *Exchange) Take(ctx context.Context, ev a2a.Event) error {
	switch ev := ev.(type) {
	case *a2a.Message:
		if ev != nil {
			cleanMessage(ev)
			return x.takeMessage(ctx, ev)
		}
	case *a2a.Task:
		if ev != nil {
			cleanTask(ev)
			return x.takeTask(ctx, ev)
		}
	case *a2a.TaskStatusUpdateEvent:
		if ev != nil {
			if err := x.takeUpdate(ctx, ev.TaskID, ev.ContextID); err != nil {
				return err
			}
			cleanStatus(&ev.Status)
			return x.takeStatus(&ev.Status, cleanMap(ev.Metadata))
		}
	case *a2a.TaskArtifactUpdateEvent:
		if ev != nil && ev.Artifact != nil {
			if err := x.takeUpdate(ctx, ev.TaskID, ev.ContextID); err != nil {
				return err
			}
			cleanArtifact(ev.Artifact)
			return x.limitError(x.output.updateArtifact(ev.Artifact.ID, ev.Artifact.Parts, ev.Append))
		}
	}
	return x.Fail(client.CodeProtocol, "an event is empty", nil)
}

// takeUpdate applies the ids of an update. After a snapshot of the task, all events were seen.
func (x *Exchange) takeUpdate(ctx context.Context, task a2a.TaskID, contextID string) error {
	if err := x.takeIDs(ctx, task, contextID); err != nil {
		return err
	}
	if x.coverage == coverageSnapshot {
		x.coverage = coverageFull
	}
	return nil
}

// takeMessage applies a message: the reply of a peer without a task, or an agent's remark about
// its work.
func (x *Exchange) takeMessage(ctx context.Context, m *a2a.Message) error {
	if x.at.TaskID != "" {
		if err := x.takeIDs(ctx, m.TaskID, m.ContextID); err != nil {
			return err
		}
		x.lastWords = messageText(m)
		return nil
	}
	if problem := idProblem(m.ContextID, false); problem != "" {
		return x.Fail(client.CodeProtocol, "the id of a context "+problem, nil)
	}
	if err := x.takeMove(moveReply); err != nil {
		return err
	}
	x.takeReport(m.Metadata)
	x.coverage = coverageFull
	if m.ContextID != "" {
		x.at.ContextID = m.ContextID
	}
	return x.limitError(x.output.updateArtifact("", m.Parts, false))
}

// takeTask applies a snapshot of the task. Its artifacts are complete.
func (x *Exchange) takeTask(ctx context.Context, t *a2a.Task) error {
	if t.ID == "" {
		return x.Fail(client.CodeProtocol, "a task has no id", nil)
	}
	if err := x.takeIDs(ctx, t.ID, t.ContextID); err != nil {
		return err
	}
	if x.phase == phaseEnded && !t.Status.State.Terminal() {
		return nil // an ended task stays ended
	}
	for _, m := range t.History {
		if m != nil && m.Role == a2a.MessageRoleAgent {
			x.lastWords = messageText(m)
		}
	}
	if err := x.limitError(x.output.rebuildFrom(t.Artifacts)); err != nil {
		return err
	}
	x.coverage = coverageSnapshot
	return x.takeStatus(&t.Status, t.Metadata)
}

// takeIDs checks and records an event's ids. The position is stored when they are first seen, which
// shows that the message has arrived.
func (x *Exchange) takeIDs(ctx context.Context, task a2a.TaskID, contextID string) error {
	at := &x.at
	inPath := x.conn != nil && x.conn.Iface.ProtocolBinding == a2a.TransportProtocolHTTPJSON
	if problem := cmp.Or(idProblem(string(task), inPath), idProblem(contextID, false)); problem != "" {
		return x.Fail(client.CodeProtocol, "the id of a task or context "+problem, nil)
	}
	switch {
	case task == "" && at.TaskID == "":
		return x.Fail(client.CodeProtocol, "an event names no task", nil)
	case task != "" && at.TaskID != "" && task != at.TaskID:
		return x.Fail(client.CodeProtocol, fmt.Sprintf("an event is one of another task, %q", clip.Text(string(task))), nil)
	}
	known := x.phase.isAccepted() && at.TaskID != "" && (contextID == "" || contextID == at.ContextID)
	if !x.phase.isAccepted() || x.phase == phaseReplied {
		if err := x.takeMove(moveAccept); err != nil {
			return err
		}
	}
	at.TaskID, at.ContextID = cmp.Or(at.TaskID, task), cmp.Or(contextID, at.ContextID)
	x.hasTask.Store(true)
	if known || x.hooks.Keep == nil {
		return nil
	}
	return x.hooks.Keep(ctx)
}

// idProblem describes the problem with an id from the peer, which becomes part of events,
// requests and possibly paths; or returns "".
func idProblem(id string, inPath bool) string {
	switch {
	case len(id) > MaxID:
		return fmt.Sprintf("has more than %d bytes", MaxID)
	case !utf8.ValidString(id):
		return "is not UTF-8"
	case strings.ContainsFunc(id, unicode.IsControl):
		return "has control characters"
	case inPath && (url.PathEscape(id) != id || strings.Trim(id, ".") == "" && id != ""):
		return "cannot be part of a URL"
	}
	return ""
}

// takeStatus applies the task's state. An ended task stays ended. Unknown states count as working.
func (x *Exchange) takeStatus(s *a2a.TaskStatus, metadata map[string]any) error {
	x.takeReport(metadata)
	if x.phase == phaseEnded {
		return nil
	}
	if err := x.followState(s); err != nil {
		return err
	}
	before, said := x.at.State, questionFingerprint(&x.status)
	x.status, x.at.State = *s, s.State
	if s.State != before || questionFingerprint(s) != said {
		text := x.peer.Shown(messageText(s.Message), client.MaxShown)
		if err := x.limitError(x.output.countShown(Overhead + len(text))); err != nil {
			return err
		}
		x.showState(stateName(s.State), text)
	}
	if s.State.Terminal() || x.hooks.Exceeded == nil {
		return nil
	}
	return x.hooks.Exceeded()
}

// followState makes the move for a task's state.
func (x *Exchange) followState(s *a2a.TaskStatus) error {
	switch {
	case s.State.Terminal():
		return x.takeMove(moveEnd)
	case (s.State == a2a.TaskStateInputRequired || s.State == a2a.TaskStateAuthRequired) && !x.wasAnswered(s):
		return x.takeMove(moveAsk)
	default:
		return nil
	}
}

// takeReport counts the reported usage of the task. A report covers the whole task so far, so only
// the difference from the last one counts. An unreadable report is ignored.
func (x *Exchange) takeReport(metadata map[string]any) {
	if x.conn == nil || !x.conn.Extension {
		return
	}
	r, err := a2awire.ReportOf(metadata)
	if r == nil || err != nil {
		return
	}
	before := &x.at.Reported
	usage := largerUsage(r.Usage, before.Usage)
	used := usage
	used.Sub(before.Usage)
	more := &a2awire.Report{Usage: used, Steps: max(r.Steps-before.Steps, 0)}
	if r.Cost != nil {
		more.Cost = &event.Cost{Amount: r.Cost.Amount, Currency: r.Cost.Currency}
		if before.Cost != nil {
			more.Cost.Amount = max(r.Cost.Amount-before.Cost.Amount, 0)
		}
	}
	before.Usage, before.Steps = usage, max(r.Steps, before.Steps)
	if r.Cost != nil && (before.Cost == nil || r.Cost.Amount > before.Cost.Amount) {
		before.Cost = r.Cost
	}
	if x.hooks.Spend != nil {
		x.hooks.Spend(more)
	}
}

// largerUsage returns the larger count of each kind.
func largerUsage(a, b event.Usage) event.Usage {
	return event.Usage{
		Input: max(a.Input, b.Input), Output: max(a.Output, b.Output), CacheRead: max(a.CacheRead, b.CacheRead),
		CacheWrite: max(a.CacheWrite, b.CacheWrite), Reasoning: max(a.Reasoning, b.Reasoning),
	}
}

// limitError returns the error of an exchange whose output is too large.
func (x *Exchange) limitError(err error) error {
	if tooMuch, ok := errors.AsType[*outputError](err); ok {
		return x.Fail(client.CodeTooLarge, tooMuch.Error(), err)
	}
	return err
}

// stateName returns the display name of a task's state: working, input_required.
func stateName(s a2a.TaskState) string {
	return clip.Text(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")))
}

// questionFingerprint distinguishes a task's questions: "" if the peer sends nothing to distinguish
// them.
func questionFingerprint(s *a2a.TaskStatus) string {
	var id, at string
	if s.Message != nil {
		id = s.Message.ID
	}
	if s.Timestamp != nil {
		at = s.Timestamp.UTC().Format(time.RFC3339Nano)
	}
	if id == "" && at == "" {
		return ""
	}
	return string(s.State) + "|" + id + "|" + at
}

// wasAnswered reports whether the peer still shows the question that was answered
// last.
func (x *Exchange) wasAnswered(s *a2a.TaskStatus) bool {
	question := questionFingerprint(s)
	return question != "" && question == x.at.Asked
}

// messageText returns the text of a peer's message; "" for nil.
func messageText(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	return a2awire.Text(m.Parts)
}
