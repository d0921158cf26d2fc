package a2asdk

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// pair is a client and a server of one version, with one transport between
// them.
type pair struct {
	*Client
	server *Server
}

// forEachPair runs a test with both versions over both transports.
func forEachPair(t *testing.T, o ServerOptions, test func(t *testing.T, p pair)) {
	t.Helper()
	ForEach(t, func(t *testing.T, v Version, transport string) {
		s := NewServer(t, v, o)
		test(t, pair{NewClient(t, v, s.URL, ClientOptions{Transport: transport, Headers: Bearer(o.Token)}), s})
	})
}

func TestTheScriptsPlay(t *testing.T) {
	t.Parallel()
	forEachPair(t, ServerOptions{Streaming: true, Token: "opensesame"}, func(t *testing.T, p pair) {
		if card, err := p.Card(); err != nil || card.Name != "scripted" || !card.Streaming || len(card.Interfaces) < 2 {
			t.Errorf("the card is %+v, %v", card, err)
		}
		for said, want := range map[string]struct{ state, text string }{
			"echo hello":   {"completed", "hello"},
			"stream 3":     {"completed", "0;1;2;"},
			"parts":        {"completed", "a text"},
			"ask who?":     {"input-required", ""},
			"authorize me": {"auth-required", ""},
			"fail badly":   {"failed", ""},
			"reject you":   {"rejected", ""},
		} {
			r, err := p.Send(Say(said))
			if err != nil || r.Task == nil || r.Task.State != want.state || r.Task.Text() != want.text {
				t.Errorf("%q is answered with %+v, %v", said, r.Task, err)
				continue
			}
			if _, rest, _ := strings.Cut(said, " "); want.state != "completed" && r.Task.Message.Text() != rest {
				t.Errorf("%q ends with %q", said, r.Task.Message.Text())
			}
		}
		if r, err := p.Send(Say("message hi")); err != nil || r.Message.Text() != "hi" {
			t.Errorf("the message is %+v, %v", r, err)
		}
	})
}

func TestEveryKindOfPartArrives(t *testing.T) {
	t.Parallel()
	forEachPair(t, ServerOptions{}, func(t *testing.T, p pair) {
		r, err := p.Send(Say("parts"))
		if err != nil {
			t.Fatal(err)
		}
		a := r.Task.Artifacts
		if len(a) != 4 || string(a[1].Parts[0].Data) != `{"rows":[1,2]}` || string(a[2].Parts[0].Raw) != "bytes" || a[2].Parts[0].MediaType != "image/png" ||
			a[3].Parts[0].URL != "https://files.example/report.pdf" {
			t.Errorf("the artifacts are %+v", a)
		}
	})
}

func TestAWaitingTaskGoesOn(t *testing.T) {
	t.Parallel()
	forEachPair(t, ServerOptions{}, func(t *testing.T, p pair) {
		for said, want := range map[string]string{"ask who?": "you said me", "authorize me": "authorized"} {
			r, err := p.Send(Say(said))
			if err != nil {
				t.Fatal(err)
			}
			more, err := p.Send(Continue(r.Task, "me"))
			if err != nil || more.Task == nil || more.Task.ID != r.Task.ID || more.Task.State != "completed" || more.Task.Text() != want {
				t.Errorf("%q goes on with %+v, %v", said, more.Task, err)
			}
			p.server.AwaitTask("continued", r.Task.ID)
		}
	})
}

func TestAStreamIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	forEachPair(t, ServerOptions{Streaming: true}, func(t *testing.T, p pair) {
		var task string
		for e, err := range p.Stream(Say("hold 2")) {
			if err != nil {
				t.Fatal(err)
			}
			if task = e.TaskID(); e.Artifact != nil && e.Artifact.LastChunk {
				break
			}
		}
		p.server.AwaitTask("holding", task)
		var events []Event
		for e, err := range p.Subscribe(task) {
			if err != nil {
				t.Fatal(err)
			}
			if len(events) == 0 {
				p.server.Release(task)
			}
			events = append(events, e)
		}
		if got := Assembled(events); got != "0;1;" || events[len(events)-1].State() != "completed" {
			t.Errorf("what follows is %q, then %q", got, events[len(events)-1].State())
		}
	})
}

func TestATaskIsCanceled(t *testing.T) {
	t.Parallel()
	forEachPair(t, ServerOptions{}, func(t *testing.T, p pair) {
		sending := Say("hold 1")
		sending.Immediately = true
		held, err := p.Send(sending)
		if err != nil {
			t.Fatal(err)
		}
		p.server.AwaitTask("holding", held.Task.ID)
		if task, err := p.Cancel(held.Task.ID); err != nil || task.State != "canceled" {
			t.Errorf("the canceled task is %+v, %v", task, err)
		}
		// Version 1.0 accepts this again, 0.3 rejects it.
		if task, err := p.Cancel(held.Task.ID); Reason(err) != "TaskNotCancelable" && task.State != "canceled" {
			t.Errorf("the second cancel ends with %+v, %v", task, err)
		}
		done, err := p.Send(Say("echo done"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Cancel(done.Task.ID); Reason(err) != "TaskNotCancelable" {
			t.Errorf("a completed task is canceled with %v", err)
		}
		asked, err := p.Send(Say("ask why"))
		if err != nil {
			t.Fatal(err)
		}
		if task, err := p.Cancel(asked.Task.ID); err != nil || task.State != "canceled" {
			t.Errorf("the waiting task is %+v, %v", task, err)
		}
	})
}

func TestErrorsHaveOneName(t *testing.T) {
	t.Parallel()
	forEachPair(t, ServerOptions{Token: "opensesame"}, func(t *testing.T, p pair) {
		if _, err := p.Get("nosuch", nil); Reason(err) != "TaskNotFound" {
			t.Errorf("an unknown task is %v", err)
		}
		if _, err := p.Cancel("nosuch"); Reason(err) != "TaskNotFound" {
			t.Errorf("an unknown task is %v", err)
		}
		if _, err := p.CreatePush(Push{TaskID: "nosuch", URL: "https://example.com"}); Reason(err) != "PushNotificationNotSupported" {
			t.Errorf("push without support is %v", err)
		}
		stranger := NewClient(t, V10, p.server.URL, ClientOptions{})
		if _, err := stranger.Get("nosuch", nil); err == nil {
			t.Error("a stranger is let in")
		}
	})
}

func TestAServerShowsWhatItIsSent(t *testing.T) {
	t.Parallel()
	forEachPair(t, ServerOptions{Token: "opensesame"}, func(t *testing.T, p pair) {
		sending := Say("echo x")
		sending.Message.Metadata = map[string]any{"colour": "red"}
		if _, err := p.Send(sending); err != nil {
			t.Fatal(err)
		}
		h := p.server.Await("started", nil)
		if h.Headers["authorization"] != "Bearer opensesame" || h.Metadata["colour"] != "red" || h.Text != "echo x" || h.MessageID == "" {
			t.Errorf("the server is sent %+v", h)
		}
	})
}

func TestTasksAreListed(t *testing.T) {
	t.Parallel()
	s := NewServer(t, V10, ServerOptions{})
	c := NewClient(t, V10, s.URL, ClientOptions{})
	var want, got []string
	for range 3 {
		r, err := c.Send(Say("echo x"))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, r.Task.ID)
	}
	q := Query{PageSize: 2, State: "completed"}
	for {
		page, err := c.List(q)
		if err != nil || page.TotalSize != 3 {
			t.Fatalf("the page is %+v, %v", page, err)
		}
		for _, task := range page.Tasks {
			got = append(got, task.ID)
		}
		if q.PageToken = page.NextPageToken; q.PageToken == "" {
			break
		}
	}
	if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("%v are listed, not %v", got, want)
	}
}

func TestASignedCardIsVerified(t *testing.T) {
	t.Parallel()
	s := NewServer(t, V10, ServerOptions{Signed: true})
	other := NewServer(t, V10, ServerOptions{Signed: true})
	c := NewClient(t, V10, s.URL, ClientOptions{})
	if card, err := c.SignedCard(json.RawMessage("[" + string(s.Key) + "]")); err != nil || card.Name != "scripted" {
		t.Errorf("the card is %+v, %v", card, err)
	}
	if _, err := c.SignedCard(json.RawMessage("[" + string(other.Key) + "]")); err == nil {
		t.Error("the card is verified by a key that did not sign it")
	}
}

func TestAProcessThatIsGoneIsAnError(t *testing.T) { // not parallel: shared by tests
	c := NewClient(t, V10, "http://127.0.0.1:1", ClientOptions{})
	if _, err := c.Card(); err == nil || Reason(err) != "" {
		t.Errorf("nobody answers with %v", err)
	}
	c.driver.stopProcess()
	if _, err := c.happened.lineAt(t.Context(), 0); err == nil {
		t.Error("the process goes on")
	}
	if _, err := c.Card(); err == nil || errors.As(err, new(*Error)) {
		t.Errorf("the call ends with %v", err)
	}
}
