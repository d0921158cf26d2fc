package a2a_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/a2asdk"
	"github.com/agentruntime/agentruntime/tools/ask"
)

// The tests in this file drive the server with the official SDK for Python.

// forEachPython runs a test with a client over each transport, each at an office
// of its own.
func forEachPython(t *testing.T, test func(t *testing.T, v visitor)) {
	t.Helper()
	a2asdk.ForEachPython(t, func(t *testing.T, transport string) {
		o := openOffice(t)
		test(t, visitor{o.client(t, a2asdk.Python, transport, aliceKey), o, a2asdk.Python, transport})
	})
}

func TestPythonSendsGetsAndLists(t *testing.T) {
	t.Parallel()
	forEachPython(t, func(t *testing.T, v visitor) {
		if card, err := v.Card(); err != nil || card.Name != "clerk" || !card.Streaming {
			t.Errorf("the card is %+v, %v", card, err)
		}
		task := v.sends(t, a2asdk.Say("echo hello"))
		if task.State != "completed" || task.Text() != "hello" {
			t.Errorf("the task is %+v", task)
		}
		next := a2asdk.Say("echo more")
		next.Message.ContextID = task.ContextID
		if more := v.sends(t, next); more.ID == task.ID || more.ContextID != task.ContextID {
			t.Errorf("the next task of the context is %+v", more)
		}
		if again, err := v.Get(task.ID, nil); err != nil || again.Text() != "hello" || len(again.History) != 1 {
			t.Errorf("later the task is %+v, %v", again, err)
		}
		page, err := v.List(a2asdk.Query{ContextID: task.ContextID, PageSize: 1, IncludeArtifacts: true})
		if err != nil || page.TotalSize != 2 || len(page.Tasks) != 1 || page.Tasks[0].Text() != "more" || page.NextPageToken == "" {
			t.Errorf("the list is %+v, %v", page, err)
		}
		if failed := v.sends(t, a2asdk.Say("fail")); failed.State != "failed" || failed.Message.Text() != "the task failed: invalid_request" {
			t.Errorf("the failed task is %s: %q", failed.State, failed.Message.Text())
		}
	})
}

func TestPythonStreamsAndCancels(t *testing.T) {
	t.Parallel()
	forEachPython(t, func(t *testing.T, v visitor) {
		want := ""
		for i := range 100 {
			want += fmt.Sprintf("%d;", i)
		}
		events, err := a2asdk.Collect(v.Stream(a2asdk.Say("stream 100")))
		if err != nil || len(events) == 0 || events[0].Task == nil || a2asdk.Assembled(events) != want || events[len(events)-1].State() != "completed" {
			t.Errorf("the events are %+v, %v", events, err)
		}
		running := v.begins(t, "hold 1")
		if task, err := v.Cancel(running.ID); err != nil || task.State != "canceled" {
			t.Errorf("the running task is %+v, %v", task, err)
		}
		v.reaches(t, running.ID, "canceled")
		const message = "hold 2"
		task := v.breaksOff(t, message)
		begun := false
		events = nil
		for e, err := range v.Subscribe(task) {
			if err != nil {
				t.Fatal(err)
			}
			if !begun {
				v.hold(message).release()
				begun = true
			}
			events = append(events, e)
		}
		if got := a2asdk.Assembled(events); got != "0;1;" || events[len(events)-1].State() != "completed" {
			t.Errorf("what follows is %q: %+v", got, events)
		}
	})
}

func TestPythonIsToldWhatIsWrong(t *testing.T) {
	t.Parallel()
	forEachPython(t, func(t *testing.T, v visitor) {
		hers := v.sends(t, a2asdk.Say("ask why?")).ID
		bob := v.client(t, a2asdk.Python, v.transport, bobKey)
		for name, c := range map[string]*a2asdk.Client{"nosuch": v.Client, hers: bob} {
			if _, err := c.Get(name, nil); a2asdk.Reason(err) != "TaskNotFound" {
				t.Errorf("get %s is %v", name, err)
			}
			if _, err := c.Cancel(name); a2asdk.Reason(err) != "TaskNotFound" {
				t.Errorf("cancel %s is %v", name, err)
			}
			if _, err := a2asdk.Collect(c.Subscribe(name)); a2asdk.Reason(err) != "TaskNotFound" {
				t.Errorf("subscribe to %s is %v", name, err)
			}
		}
		done := v.sends(t, a2asdk.Say("echo done"))
		if _, err := v.Cancel(done.ID); a2asdk.Reason(err) != "TaskNotCancelable" {
			t.Errorf("to cancel a completed task is %v", err)
		}
		if _, err := v.Send(a2asdk.Continue(done, "more")); a2asdk.Reason(err) != "UnsupportedOperation" {
			t.Errorf("a message to a task that has ended is %v", err)
		}
		if _, err := v.client(t, a2asdk.Python, v.transport, "ark_nobody").Send(a2asdk.Say("echo x")); err == nil {
			t.Error("a stranger is let in")
		}
	})
}

func TestPythonAnswersAToolThatAsks(t *testing.T) {
	t.Parallel()
	a2asdk.ForEachPython(t, func(t *testing.T, transport string) {
		w := open(t, withQuestion(t, "choose", ask.Config{Choices: []string{"Left", "Right"}}), withQuestion(t, "sign_in", ask.Config{Kind: "auth", URL: "https://id.example/login"}))
		w.model.teach("go", calls("choose", `{"question":"Which way?"}`), calls("sign_in", `{"question":"Sign in."}`), says("done"))
		v := visitor{Client: a2asdk.NewClient(t, a2asdk.Python, w.url+"/a2a/clerk", a2asdk.ClientOptions{Transport: transport, Headers: a2asdk.Bearer("alice")})}
		asking := v.sends(t, a2asdk.Say("go"))
		if asking.State != "input-required" || asking.Message.Text() != "Which way?\nChoices: Left | Right" {
			t.Fatalf("the task is %s: %q", asking.State, asking.Message.Text())
		}
		if _, err := v.Send(a2asdk.Continue(asking, "up")); err == nil {
			t.Error("an answer that is no choice is taken")
		}
		if asking = v.sends(t, a2asdk.Continue(asking, "left")); asking.State != "auth-required" || asking.Message.Text() != "Sign in.\nhttps://id.example/login" {
			t.Fatalf("the task is %s: %q", asking.State, asking.Message.Text())
		}
		answer := a2asdk.Continue(asking, "")
		answer.Message.Parts = []a2asdk.Part{{Data: json.RawMessage(`{"authenticated":true}`)}}
		if done := v.sends(t, answer); done.State != "completed" || done.Text() != "done" {
			t.Errorf("the task is %s: %q", done.State, done.Text())
		}
	})
}

// A file comes to the agent with its name, its media type and its bytes, whatever
// these are.
func TestPythonSendsAFile(t *testing.T) {
	t.Parallel()
	forEachPython(t, func(t *testing.T, v visitor) {
		picture, page := []byte{0x89, 'P', 'N', 'G', 0, 0xff, '\n'}, []byte("%PDF-1.7\r\n\x00\x80")
		words := a2asdk.Say("files")
		words.Message.Parts = append(words.Message.Parts,
			a2asdk.Part{Raw: picture, Filename: "p\u00ef c.png", MediaType: "image/png"}, a2asdk.Part{Raw: page, Filename: "page.pdf", MediaType: "application/pdf"})
		task := v.sends(t, words)
		if want := fmt.Sprintf("p\u00ef c.png image/png %x\npage.pdf application/pdf %x\n", picture, page); task.State != "completed" || task.Text() != want {
			t.Errorf("the agent gets %q: %s", task.Text(), task.State)
		}
		again, err := v.Get(task.ID, nil)
		if err != nil || len(again.History) != 1 || len(again.History[0].Parts) != 3 {
			t.Fatalf("later the task is %+v, %v", again, err)
		}
		if sent := again.History[0].Parts[2]; string(sent.Raw) != string(page) || sent.Filename != "page.pdf" || sent.MediaType != "application/pdf" {
			t.Errorf("the client is shown %+v", sent)
		}
	})
}
