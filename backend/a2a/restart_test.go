package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/model"
)

func TestATurnIsKeptAheadOfTheMessageAndWithTheTask(t *testing.T) {
	t.Parallel()
	var kept atomic.Int32
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {func(w http.ResponseWriter, _ *peertest.Request) {
		if kept.Load() != 1 {
			t.Error("the message comes before the state")
		}
		peertest.SendEvents(w, peertest.Task(a2a.TaskStateSubmitted, ""), peertest.Turned(peertest.Working, ""), peertest.Words("hi"), peertest.Turned(peertest.Completed, ""))
	}}})
	var states []course
	r.job.Checkpoint = func(_ context.Context, state *backend.State) error {
		c, err := decodeCourse(stored(t, state).Remote.Resume)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, *c)
		kept.Add(1)
		return nil
	}
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(states) != 2 || states[0].Accepted || states[0].TaskID != "" || !states[1].Accepted || states[1].TaskID != peertest.TaskID || states[1].ContextID != peertest.ContextID {
		t.Fatalf("the states are %+v", states)
	}
	if id := r.script.Got(peertest.MethodStream)[0].Message(t).ID; id != states[0].MessageID || states[0].Deadline.IsZero() || !states[0].Deadline.Equal(states[1].Deadline) {
		t.Errorf("the message has the id %q, the states are %+v", id, states)
	}
}

// A turn continues from any point where it was stopped.
func TestATurnGoesOnInAnotherProcess(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stop    int
		replies map[string][]peertest.Reply
		sends   int
	}{
		"before the message": {1, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Words("hi"), peertest.Turned(peertest.Completed, ""))}}, 1},
		"after the message": {2, map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Working, ""))}, peertest.MethodSubscribe: {peertest.StreamOf(peertest.Task(peertest.Working, "h"), peertest.Words("i"), peertest.Turned(peertest.Completed, ""))}}, 1},
		"when it has ended": {2, map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Working, ""))}, peertest.MethodSubscribe: {peertest.Fault(-32004, "it has ended")}, peertest.MethodGet: {peertest.Result(peertest.Task(peertest.Completed, "hi"))}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.replies)
			state := r.stopAt(tt.stop)
			before, err := decodeCourse(state.Remote.Resume)
			if err != nil {
				t.Fatal(err)
			}
			r.next(state)
			res, err := r.run(t.Context())
			if err != nil || res.Response != "hi" || res.Steps != 1 {
				t.Fatalf("%+v, %v", res, err)
			}
			sends := r.script.Got(peertest.MethodStream)
			if len(sends) != tt.sends || sends[0].Message(t).ID != before.MessageID {
				t.Errorf("%d messages are sent", len(sends))
			}
			checkTurn(t, r, res, err)
		})
	}
}

func TestARestartDoesNotProlongATurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.OpenStream(peertest.Task(peertest.Working, ""))}, peertest.MethodSubscribe: {peertest.Hang}, peertest.MethodCancel: {peertest.Result(peertest.Task(a2a.TaskStateCanceled, ""))}})
	r.remote.peer.Endpoint.Timeout = nil
	state := r.stopAt(2)
	c, err := decodeCourse(state.Remote.Resume)
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(c.Deadline); left < 4*time.Minute || left > 5*time.Minute {
		t.Errorf("%s are left", left)
	}
	c.Deadline = time.Now().Add(50 * time.Millisecond)
	state.Remote.Resume = encodeRecord(c)
	r.next(state)
	res, err := r.run(t.Context())
	if got := termination(res, err); got.Code != string(model.Timeout) || len(r.script.Got(peertest.MethodCancel)) != 1 {
		t.Errorf("it ends by %+v", got)
	}
}

func TestAStateThatCannotBeKept(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	for at, sends := range []int{0, 1} {
		r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.OpenStream(peertest.Task(peertest.Working, ""))}, peertest.MethodCancel: {peertest.Result(peertest.Task(a2a.TaskStateCanceled, ""))}})
		n := 0
		r.job.Checkpoint = func(context.Context, *backend.State) error {
			if n++; n > at {
				return full
			}
			return nil
		}
		res, err := r.run(t.Context())
		if !errors.Is(err, full) || len(r.script.Got(peertest.MethodStream)) != sends || len(r.script.Got(peertest.MethodCancel)) != 0 {
			t.Errorf("it ends by %v, with %d messages and %d cancels", err, len(r.script.Got(peertest.MethodStream)), len(r.script.Got(peertest.MethodCancel)))
		}
		checkTurn(t, r, res, err)
	}
}

func TestAStateThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Completed, "hi"))}})
	good := r.stopAt(1)
	for name, spoil := range map[string]func(s *backend.State){
		"no remote turn":  func(s *backend.State) { s.Remote = nil },
		"another agent":   func(s *backend.State) { s.Agent = "near" },
		"no JSON":         func(s *backend.State) { s.Remote.Resume = json.RawMessage(`{"version":`) },
		"nothing":         func(s *backend.State) { s.Remote.Resume = nil },
		"another version": func(s *backend.State) { s.Remote.Resume = bytesOf(s, `"version":1`, `"version":2`) },
		"no message":      func(s *backend.State) { s.Remote.Resume = bytesOf(s, `"message_id":"`, `"message_ide":"`) },
		"no deadline":     func(s *backend.State) { s.Remote.Resume = bytesOf(s, `"deadline":"`, `"deadlin":"`) },
		"another peer":    func(s *backend.State) { s.Remote.Resume = bytesOf(s, `127.0.0.1`, `127.0.0.2`) },
	} {
		state := good.Clone()
		spoil(state)
		job := *r.job
		job.State = state
		if _, err := r.remote.Execute(t.Context(), &job, r.host); err == nil {
			t.Errorf("%s: it goes on", name)
		}
	}
	if n := len(r.script.Got(peertest.MethodStream)); n != 0 {
		t.Errorf("the peer is asked %d times", n)
	}
}

func bytesOf(s *backend.State, from, to string) json.RawMessage {
	return json.RawMessage(strings.Replace(string(s.Remote.Resume), from, to, 1))
}

// The next turn of a session is another task in the same conversation.
func TestTheNextTurnOfASessionIsPartOfTheConversation(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Completed, "hi")), peertest.StreamOf(peertest.Task(peertest.Completed, "hi again"))}})
	r.job.Session = map[string]json.RawMessage{"notes": json.RawMessage(`"kept"`)}
	res, err := r.run(t.Context())
	if err != nil || string(res.Session["notes"]) != `"kept"` || res.Session["a2a:far"] == nil {
		t.Fatalf("the session is %s, %v", res.Session, err)
	}
	job := newJob()
	job.TurnID, job.Session, job.History = "turn-2", res.Session, slices.Concat(r.job.Input, res.Messages)
	job.Input = []model.Message{model.System("be brief"), model.User("and"), model.User("now?")}
	r.job = job
	if _, err = r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, second := r.script.Got(peertest.MethodStream)[0].Message(t), r.script.Got(peertest.MethodStream)[1].Message(t)
	if first.ContextID != "" || second.ContextID != peertest.ContextID || first.TaskID != "" || second.TaskID != "" || first.ID == second.ID {
		t.Errorf("the messages are %+v and %+v", first, second)
	}
	if len(second.Parts) != 2 || second.Parts[0].Text() != "and" || second.Parts[1].Text() != "now?" {
		t.Errorf("the peer gets %+v", second.Parts)
	}
	r.job.Session["a2a:far"] = json.RawMessage(`{"version":1}`)
	if _, err := r.run(t.Context()); err == nil {
		t.Error("a session that cannot be read is taken for a new one")
	}
	r.job.Session["a2a:far"] = encodeRecord(&memory{Version: 1, Peer: "https://elsewhere.example", ContextID: "theirs"})
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m := r.script.Got(peertest.MethodStream)[2].Message(t); m.ContextID != "" {
		t.Errorf("the peer gets the context %q of another", m.ContextID)
	}
}

func TestATurnWithNothingToSay(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.job.Input = []model.Message{model.Assistant("hello")}
	res, err := r.run(t.Context())
	if got := termination(res, err); got.Type != event.Failed || len(r.script.Got(peertest.MethodStream)) != 0 {
		t.Errorf("it ends by %+v", got)
	}
	checkTurn(t, r, res, err)
}
