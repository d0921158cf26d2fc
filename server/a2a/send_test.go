package a2a_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

func TestAMessageBecomesATaskWithAnAnswer(t *testing.T) {
	w := open(t)
	for _, over := range transports {
		c := w.client("alice", "clerk", over)
		message := user("hello")
		task := send(t, c, request(message))
		if task.Status.State != a2a.TaskStateCompleted || answerOf(task) != "you said: hello" || task.Status.Timestamp == nil {
			t.Errorf("%s: the task is %+v", over, task)
		}
		if len(task.History) != 1 || task.History[0].ID != message.ID || task.History[0].TaskID != task.ID {
			t.Errorf("%s: the history is %+v", over, task.History)
		}
		report, err := a2awire.ReportOf(task.Metadata)
		if err != nil || report == nil || report.Usage.Input != 10 || report.Usage.Output != 5 || report.Steps != 1 {
			t.Errorf("%s: the report is %+v, %v", over, report, err)
		}
	}
}

func TestTheSameMessageIsTheSameTask(t *testing.T) {
	w := open(t)
	c, message := w.alice(), user("hello")
	first, again := send(t, c, request(message)), send(t, c, request(message))
	if first.ID != again.ID || first.ContextID != again.ContextID {
		t.Errorf("the tasks are %s and %s", first.ID, again.ID)
	}
	if list, err := events(c.SendStreamingMessage(t.Context(), request(message))); err != nil || list[0].TaskInfo().TaskID != first.ID || len(list) != 1 {
		t.Errorf("the stream has %v, %v", list, err)
	}
	if theirs := send(t, w.client("bob", "clerk", a2a.TransportProtocolJSONRPC), request(message)); theirs.ID == first.ID {
		t.Error("somebody else has the task, too")
	}
	if other := send(t, w.client("alice", "other", a2a.TransportProtocolJSONRPC), request(message)); other.ID == first.ID {
		t.Error("another agent has the task, too")
	}
	inContext := user("more")
	inContext.ContextID = first.ContextID
	if a, b := send(t, c, request(inContext)), send(t, c, request(inContext)); a.ID != b.ID {
		t.Errorf("in a context the tasks are %s and %s", a.ID, b.ID)
	}
}

func TestAContextGoesOnWithTheNextMessage(t *testing.T) {
	w := open(t)
	c := w.alice()
	first := send(t, c, request(user("hello")))
	more := user("more")
	more.ContextID = first.ContextID
	second := send(t, c, request(more))
	if second.ContextID != first.ContextID || second.ID == first.ID || answerOf(second) != "you said: more" {
		t.Errorf("the next task is %+v", second)
	}
}

func TestAWaitIsBounded(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.MaxWait = 50_000_000 })
	release := make(chan struct{})
	w.model.teach("slow", reply{chunks: []string{"so", " slow"}, hold: release})
	c := w.alice()
	task := send(t, c, request(user("slow")))
	if task.Status.State != a2a.TaskStateWorking {
		t.Errorf("the task is %s", task.Status.State)
	}
	close(release)
	if done := reach(t, c, task.ID, a2a.TaskStateCompleted); answerOf(done) != "so slow" {
		t.Errorf("the answer is %q", answerOf(done))
	}
}

func TestNobodyWaitsWhoDoesNotWantTo(t *testing.T) {
	w := open(t)
	w.model.teach("slow", reply{chunks: []string{"never", ""}, hold: make(chan struct{})})
	c := w.alice()
	task := send(t, c, atOnce(user("slow")))
	if s := task.Status.State; s != a2a.TaskStateSubmitted && s != a2a.TaskStateWorking {
		t.Errorf("the task is %s", s)
	}
	reach(t, c, task.ID, a2a.TaskStateWorking)
}

func TestOnlyTheLatestOfTheHistoryIsShown(t *testing.T) {
	w := open(t)
	c := w.alice()
	for _, n := range []int{0, 1, 5} {
		req := request(user("hello"))
		req.Config = &a2a.SendMessageConfig{HistoryLength: &n}
		task := send(t, c, req)
		if want := min(n, 1); len(task.History) != want {
			t.Errorf("SendMessage shows %d messages of %d", len(task.History), n)
		}
		again, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID, HistoryLength: &n})
		if err != nil || len(again.History) != min(n, 1) {
			t.Errorf("GetTask shows %d messages of %d, %v", len(again.History), n, err)
		}
	}
	wrong := -1
	if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "x", HistoryLength: &wrong}); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("a negative length gives %v", err)
	}
}

func TestAMessageMustBeOne(t *testing.T) {
	w := open(t)
	c := w.alice()
	for name, m := range map[string]*a2a.Message{
		"no id":            {Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("x")}},
		"of the agent":     a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("x")),
		"no parts":         a2a.NewMessage(a2a.MessageRoleUser),
		"nothing said":     a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("")),
		"a file of a disk": a2a.NewMessage(a2a.MessageRoleUser, a2a.NewFileURLPart("file:///etc/passwd", "text/plain")),
	} {
		if _, err := c.SendMessage(t.Context(), request(m)); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	bad := user("x")
	bad.SetMeta(a2awire.Extension, map[string]any{"max_tokens": "many"})
	if _, err := c.SendMessage(t.Context(), request(bad)); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("a grant that cannot be read gives %v", err)
	}
}

func TestAGrantLimitsTheTurn(t *testing.T) {
	w := open(t)
	w.model.teach("long", asksNothing("1"), says("done"))
	c, tokens := w.alice(), 5
	m := user("long")
	a2awire.SetGrant(m, &a2awire.Grant{Depth: 1, MaxTokens: &tokens})
	task := send(t, c, request(m))
	if task.Status.State != a2a.TaskStateFailed || textOf(task.Status.Message) != "the task needed more than it may use: tokens" {
		t.Errorf("the task is %s: %s", task.Status.State, textOf(task.Status.Message))
	}
	deep := user("hello")
	a2awire.SetGrant(deep, &a2awire.Grant{Depth: 999})
	if _, err := c.SendMessage(t.Context(), request(deep)); !errors.Is(err, a2a.ErrUnsupportedOperation) {
		t.Errorf("a turn that is too deep gives %v", err)
	}
}

func TestCancelEndsATaskAtOnce(t *testing.T) {
	w := open(t)
	w.model.teach("slow", reply{chunks: []string{"never", ""}, hold: make(chan struct{})})
	for _, over := range transports {
		c := w.client("alice", "clerk", over)
		task := send(t, c, atOnce(user("slow")))
		for range 2 { // the second finds it canceled
			got, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
			if err != nil || got.Status.State != a2a.TaskStateCanceled {
				t.Fatalf("%s: the task is %+v, %v", over, got, err)
			}
		}
		done := send(t, c, request(user("hello")))
		if _, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: done.ID}); err == nil {
			t.Errorf("%s: a task that has ended is canceled", over)
		}
	}
}

func TestCancelWaitsForNoTool(t *testing.T) {
	stubborn := make(chan struct{})
	w := open(t, withTool("nothing", func(context.Context, *tools.Call) (tools.Result, error) {
		<-stubborn // whatever becomes of the turn
		return tools.TextResult("at last"), nil
	}))
	t.Cleanup(func() { close(stubborn) })
	w.model.teach("work", asksNothing("1"))
	c := w.alice()
	task := send(t, c, atOnce(user("work")))
	eventually(t, func() bool { return w.seen(t, task.ID, event.TypeToolCallReady) })
	got, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
	if err != nil || got.Status.State != a2a.TaskStateCanceled {
		t.Errorf("the task is %+v, %v", got, err)
	}
}

func TestATaskThatHasEndedTakesNoMessage(t *testing.T) {
	w := open(t)
	for _, over := range transports[:2] {
		c := w.client("alice", "clerk", over)
		task := send(t, c, request(user("hello")))
		if _, err := c.SendMessage(t.Context(), request(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("more")))); !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("%s: the error is %v", over, err)
		}
	}
	w.model.teach("slow", reply{chunks: []string{"never", ""}, hold: make(chan struct{})})
	c := w.alice()
	task := send(t, c, atOnce(user("slow")))
	if _, err := c.SendMessage(t.Context(), request(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("more")))); !errors.Is(err, a2a.ErrUnsupportedOperation) {
		t.Errorf("while it is worked on the error is %v", err)
	}
}

// asksNothing is a reply that calls a tool which does nothing.
func asksNothing(id string) reply {
	r := asks(id, "")
	r.calls[0].Name = "nothing"
	return r
}

// textOf returns the text of a message.
func textOf(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	parts := slices.DeleteFunc(slices.Clone([]*a2a.Part(m.Parts)), func(p *a2a.Part) bool { return p.Data() != nil })
	return a2awire.Text(parts)
}

// TestACostThatCannotBeMeasuredIsRefused sends a limit of cost to an agent whose model
// has no price.
func TestACostThatCannotBeMeasuredIsRefused(t *testing.T) {
	w := open(t)
	for _, over := range transports {
		m := user("hello")
		a2awire.SetGrant(m, &a2awire.Grant{MaxCost: new(1.0)})
		if _, err := w.client("alice", "clerk", over).SendMessage(t.Context(), request(m)); err == nil || !strings.Contains(err.Error(), "cannot be measured") {
			t.Errorf("%s: %v", over, err)
		}
	}
	caller := service.Caller{Tenant: "alice's", Subject: "alice"}
	session, err := w.service.CreateSession(t.Context(), caller, service.CreateSession{AgentID: "clerk"})
	if err != nil {
		t.Fatal(err)
	}
	create := service.CreateTurn{SessionID: session.ID, Input: []model.Message{model.User("hello")}}
	create.Overrides.Budgets = &spec.Budgets{MaxCost: new(1.0)}
	var invalid *service.InvalidError
	if _, err := w.service.CreateTurn(t.Context(), caller, create); !errors.As(err, &invalid) || invalid.Field != "budgets.max_cost" {
		t.Errorf("the service says %v", err)
	}
}
