package a2a_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/a2asdk"
)

// The tests in this file drive the server with the official JavaScript SDKs.

// sends sends a message that must be answered with a task.
func (v visitor) sends(t *testing.T, s a2asdk.Sending) *a2asdk.Task {
	t.Helper()
	r, err := v.Send(s)
	if err != nil || r.Task == nil {
		t.Fatalf("%q is answered with %+v, %v", s.Message.Text(), r, err)
	}
	return r.Task
}

// begins sends a message whose answer stands still, and returns the task.
func (v visitor) begins(t *testing.T, text string) *a2asdk.Task {
	t.Helper()
	s := a2asdk.Say(text)
	s.Immediately = true
	task := v.sends(t, s)
	v.awaitHold(t, text)
	return task
}

// reaches asks for a task until it is in a state.
func (v visitor) reaches(t *testing.T, id, state string) a2asdk.Task {
	t.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		task, err := v.Get(id, nil)
		if err != nil {
			t.Fatalf("get %s: %v", id, err)
		}
		if task.State == state {
			return task
		}
		select {
		case <-again.C:
		case <-time.After(20 * time.Second):
			t.Fatalf("task %s is %s, not %s", id, task.State, state)
		}
	}
}

func TestJavaScriptDiscoversTheAgent(t *testing.T) {
	t.Parallel()
	forEachVisitor(t, func(t *testing.T, v visitor) {
		card, err := v.Card()
		if err != nil || card.Name != "clerk" || card.Description != "Does what the first word says." || !card.Streaming || !card.Push {
			t.Errorf("the card is %+v, %v", card, err)
		}
		root := a2asdk.NewClient(t, v.version, v.url, a2asdk.ClientOptions{Headers: a2asdk.Bearer(aliceKey)})
		if r, err := root.Send(a2asdk.Say("echo hello")); err != nil || r.Task == nil || r.Task.Text() != "hello" {
			t.Errorf("by the card at the root, the reply is %+v, %v", r, err)
		}
		stranger := a2asdk.NewClient(t, v.version, v.url, a2asdk.ClientOptions{Transport: v.transport})
		if _, err := stranger.Send(a2asdk.Say("echo hello")); err == nil || !strings.Contains(err.Error(), "a credential is needed") {
			t.Errorf("a stranger is told %v", err)
		}
	})
}

func TestJavaScriptVerifiesTheSignatureOfTheCard(t *testing.T) {
	t.Parallel()
	forEachVisitor(t, func(t *testing.T, v visitor) {
		if v.version == a2asdk.V03 {
			return // it looks at no signatures
		}
		keys, err := v.signer.PublicKeys()
		if err != nil {
			t.Fatal(err)
		}
		var set struct {
			Keys json.RawMessage `json:"keys"`
		}
		if err := json.Unmarshal(keys, &set); err != nil {
			t.Fatal(err)
		}
		if card, err := v.SignedCard(set.Keys); err != nil || card.Name != "clerk" {
			t.Errorf("the card is %+v, %v", card, err)
		}
		if _, err := v.SignedCard(json.RawMessage(`[]`)); err == nil {
			t.Error("a key that is not known has signed")
		}
	})
}

func TestJavaScriptSendsAMessage(t *testing.T) {
	t.Parallel()
	forEachVisitor(t, func(t *testing.T, v visitor) {
		task := v.sends(t, a2asdk.Say("echo hello"))
		if task.State != "completed" || task.Text() != "hello" || task.ContextID == "" {
			t.Errorf("the task is %+v", task)
		}
		again, err := v.Get(task.ID, nil)
		if err != nil || again.Text() != "hello" || len(again.History) != 1 || again.History[0].Text() != "echo hello" {
			t.Errorf("later the task is %+v, %v", again, err)
		}
		if short, err := v.Get(task.ID, new(0)); err != nil || len(short.History) != 0 {
			t.Errorf("without history it is %+v, %v", short, err)
		}
		next := a2asdk.Say("echo more")
		next.Message.ContextID = task.ContextID
		if more := v.sends(t, next); more.ID == task.ID || more.ContextID != task.ContextID {
			t.Errorf("the next task of the context is %+v", more)
		}
		same := a2asdk.Say("echo once")
		same.Message.MessageID = "m1"
		if first, second := v.sends(t, same), v.sends(t, same); first.ID != second.ID {
			t.Error("the same message made two tasks")
		}
		failed := v.sends(t, a2asdk.Say("fail"))
		if failed.State != "failed" || failed.Message.Text() != "the task failed: invalid_request" {
			t.Errorf("the failed task is %s: %q", failed.State, failed.Message.Text())
		}
	})
}

func TestJavaScriptReturnsImmediatelyAndPolls(t *testing.T) {
	t.Parallel()
	forEachVisitor(t, func(t *testing.T, v visitor) {
		const message = "hold 1"
		task := v.begins(t, message)
		if task.State != "submitted" && task.State != "working" {
			t.Errorf("at once the task is %s", task.State)
		}
		v.reaches(t, task.ID, "working")
		v.hold(message).release()
		if done := v.reaches(t, task.ID, "completed"); done.Text() != "0;" {
			t.Errorf("the task says %q", done.Text())
		}
	})
}

func TestJavaScriptStreams(t *testing.T) {
	t.Parallel()
	forEachVisitor(t, func(t *testing.T, v visitor) {
		want := ""
		for i := range 500 {
			want += fmt.Sprintf("%d;", i)
		}
		events, err := a2asdk.Collect(v.Stream(a2asdk.Say("stream 500")))
		if err != nil || len(events) == 0 {
			t.Fatalf("%d events and %v", len(events), err)
		}
		if events[0].Task == nil {
			t.Errorf("the first event is %+v", events[0])
		}
		if got := a2asdk.Assembled(events); got != want {
			t.Errorf("the chunks are %q", got)
		}
		if last := events[len(events)-1]; last.State() != "completed" || v.version == a2asdk.V03 && (last.Status == nil || !last.Status.Final) {
			t.Errorf("the last event is %+v", last)
		}
		if task, err := v.Get(events[0].TaskID(), nil); err != nil || task.Text() != want {
			t.Errorf("the task says %q, %v", task.Text(), err)
		}
	})
}

// breaksOff streams a message whose answer stands still, goes away when it does,
// and returns the task.
func (v visitor) breaksOff(t *testing.T, message string) (task string) {
	t.Helper()
	for e, err := range v.Stream(a2asdk.Say(message)) {
		if err != nil {
			t.Fatal(err)
		}
		if task = e.TaskID(); e.Artifact != nil {
			break
		}
	}
	v.awaitHold(t, message)
	return task
}

func TestJavaScriptTakesUpAStreamAgain(t *testing.T) {
	t.Parallel()
	forEachVisitor(t, func(t *testing.T, v visitor) {
		const message = "hold 3"
		task := v.breaksOff(t, message)
		var events []a2asdk.Event
		for e, err := range v.Subscribe(task) {
			if err != nil {
				t.Fatal(err)
			}
			if len(events) == 0 {
				if e.Task == nil || e.Task.State != "working" {
					t.Errorf("the first event is %+v", e)
				}
				v.hold(message).release()
			}
			events = append(events, e)
		}
		if got := a2asdk.Assembled(events); got != "0;1;2;" || events[len(events)-1].State() != "completed" {
			t.Errorf("what follows is %q, then %+v", got, events[len(events)-1])
		}
		// Version 0.3 says nothing of tasks that have ended; both are told so.
		if _, err := a2asdk.Collect(v.Subscribe(task)); a2asdk.Reason(err) != "UnsupportedOperation" {
			t.Errorf("to follow what has ended is %v", err)
		}
	})
}

func TestJavaScriptCancels(t *testing.T) {
	t.Parallel()
	forEachVisitor(t, func(t *testing.T, v visitor) {
		running := v.begins(t, "hold 1")
		if task, err := v.Cancel(running.ID); err != nil || task.State != "canceled" {
			t.Errorf("the running task is %+v, %v", task, err)
		}
		// Version 1.0 lets a cancel be repeated, and 0.3 refuses it.
		if task, err := v.Cancel(running.ID); a2asdk.Reason(err) != "TaskNotCancelable" && (err != nil || task.State != "canceled") {
			t.Errorf("canceled again, it is %+v, %v", task, err)
		}
		v.reaches(t, running.ID, "canceled")
		asking := v.sends(t, a2asdk.Say("ask why?"))
		if task, err := v.Cancel(asking.ID); err != nil || task.State != "canceled" {
			t.Errorf("the waiting task is %+v, %v", task, err)
		}
		done := v.sends(t, a2asdk.Say("echo done"))
		if _, err := v.Cancel(done.ID); a2asdk.Reason(err) != "TaskNotCancelable" {
			t.Errorf("to cancel a completed task is %v", err)
		}
	})
}

func TestACancelThatRacesTheEndIsTold(t *testing.T) {
	t.Parallel()
	forEachVisitor(t, func(t *testing.T, v visitor) {
		for i := range 8 {
			message := fmt.Sprintf("hold 1 %d", i)
			begun := v.begins(t, message)
			var racers sync.WaitGroup
			racers.Go(v.hold(message).release)
			task, err := v.Cancel(begun.ID)
			racers.Wait()
			switch {
			case err == nil && task.State == "canceled":
				v.reaches(t, begun.ID, "canceled")
			case a2asdk.Reason(err) == "TaskNotCancelable":
				v.reaches(t, begun.ID, "completed")
			default:
				t.Errorf("the cancel ends with %+v, %v", task, err)
			}
		}
	})
}

func TestJavaScriptAnswersAQuestion(t *testing.T) {
	t.Parallel()
	for message, state := range map[string]string{"ask who?": "input-required", "authorize who?": "auth-required"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			forEachVisitor(t, func(t *testing.T, v visitor) {
				asking := v.sends(t, a2asdk.Say(message))
				if asking.State != state || asking.Message.Text() != "who?" {
					t.Fatalf("the task is %+v", asking)
				}
				done := v.sends(t, a2asdk.Continue(asking, "me"))
				if done.ID != asking.ID || done.State != "completed" || done.Text() != `you said me` {
					t.Errorf("the answered task is %+v", done)
				}
				if _, err := v.Send(a2asdk.Continue(asking, "and again")); a2asdk.Reason(err) != "UnsupportedOperation" {
					t.Errorf("a message to a task that has ended is %v", err)
				}
			})
		})
	}
}

func TestJavaScriptAnswersAQuestionOnAStream(t *testing.T) {
	t.Parallel()
	forEachVisitor(t, func(t *testing.T, v visitor) {
		events, err := a2asdk.Collect(v.Stream(a2asdk.Say("ask who?")))
		if err != nil || events[len(events)-1].State() != "input-required" {
			t.Fatalf("the events are %+v, %v", events, err)
		}
		asking := &a2asdk.Task{ID: events[0].TaskID()}
		events, err = a2asdk.Collect(v.Stream(a2asdk.Continue(asking, "me")))
		if err != nil || a2asdk.Assembled(events) != "you said me" || events[len(events)-1].State() != "completed" {
			t.Errorf("the answer is %+v, %v", events, err)
		}
	})
}

func TestJavaScriptListsTasks(t *testing.T) {
	t.Parallel()
	forEachVisitor(t, func(t *testing.T, v visitor) {
		if v.version == a2asdk.V03 {
			return // it has no such method
		}
		if page, err := v.List(a2asdk.Query{}); err != nil || page.Tasks == nil || len(page.Tasks) != 0 {
			t.Errorf("of nothing the list is %+v, %v", page, err)
		}
		first := a2asdk.Say("echo 0")
		var want []string
		for range 5 {
			task := v.sends(t, first)
			first = a2asdk.Say("echo next")
			first.Message.ContextID = task.ContextID
			want = append(want, task.ID)
		}
		asking := v.sends(t, a2asdk.Say("ask why?"))
		slices.Reverse(want) // the latest first
		q := a2asdk.Query{PageSize: 2, ContextID: first.Message.ContextID, IncludeArtifacts: true}
		var got []string
		for pages := 1; ; pages++ {
			page, err := v.List(q)
			if err != nil || page.TotalSize != 5 {
				t.Fatalf("page %d is %+v, %v", pages, page, err)
			}
			for _, task := range page.Tasks {
				if got = append(got, task.ID); task.Text() == "" {
					t.Errorf("%s has no artifacts", task.ID)
				}
			}
			if q.PageToken = page.NextPageToken; q.PageToken == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the list is %v, not %v", got, want)
		}
		if page, err := v.List(a2asdk.Query{State: "input-required"}); err != nil || len(page.Tasks) != 1 || page.Tasks[0].ID != asking.ID {
			t.Errorf("the tasks that ask are %+v, %v", page, err)
		}
		bob := v.client(t, v.version, a2asdk.JSONRPC, bobKey)
		if page, err := bob.List(a2asdk.Query{}); err != nil || len(page.Tasks) != 0 || page.TotalSize != 0 {
			t.Errorf("somebody else sees %+v, %v", page, err)
		}
	})
}

func TestJavaScriptIsToldOfTasksThatAreNot(t *testing.T) {
	t.Parallel()
	forEachVisitor(t, func(t *testing.T, v visitor) {
		hers := v.sends(t, a2asdk.Say("ask why?")).ID
		bob := v.client(t, v.version, a2asdk.JSONRPC, bobKey)
		for name, ask := range map[string]func(c *a2asdk.Client, id string) error{
			"get":       func(c *a2asdk.Client, id string) error { _, err := c.Get(id, nil); return err },
			"cancel":    func(c *a2asdk.Client, id string) error { _, err := c.Cancel(id); return err },
			"subscribe": func(c *a2asdk.Client, id string) error { return drained(c.Subscribe(id)) },
			"send": func(c *a2asdk.Client, id string) error {
				_, err := c.Send(a2asdk.Continue(&a2asdk.Task{ID: id}, "me"))
				return err
			},
			"stream": func(c *a2asdk.Client, id string) error {
				return drained(c.Stream(a2asdk.Continue(&a2asdk.Task{ID: id}, "me")))
			},
			"push": func(c *a2asdk.Client, id string) error {
				_, err := c.CreatePush(a2asdk.Push{TaskID: id, URL: "https://example.com/hook"})
				return err
			},
			"push get":    func(c *a2asdk.Client, id string) error { _, err := c.GetPush(id, "p"); return err },
			"push list":   func(c *a2asdk.Client, id string) error { _, err := c.ListPush(id); return err },
			"push delete": func(c *a2asdk.Client, id string) error { return c.DeletePush(id, "p") },
		} {
			if err := ask(v.Client, "nosuch"); a2asdk.Reason(err) != "TaskNotFound" {
				t.Errorf("%s of an unknown task is %v", name, err)
			}
			if err := ask(bob, hers); a2asdk.Reason(err) != "TaskNotFound" {
				t.Errorf("%s of somebody else's task is %v", name, err)
			}
		}
		v.reaches(t, hers, "input-required")
	})
}

// drained returns what ends a stream; a stream with events is an error.
func drained(events iter.Seq2[a2asdk.Event, error]) error {
	all, err := a2asdk.Collect(events)
	if len(all) > 0 {
		return errors.Join(fmt.Errorf("there are %d events", len(all)), err)
	}
	return err
}
