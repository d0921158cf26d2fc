package a2a

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/exchange"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

// Each fault of a peer ends the turn with the fitting outcome, or not at all.
func TestEachFaultOfAPeerHasItsOutcome(t *testing.T) {
	t.Parallel()
	ended := event.Termination{Type: event.NaturalEnd}
	failed := func(code string) event.Termination { return event.Termination{Type: event.Failed, Code: code} }
	whole := peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Words("all "), peertest.Words("of it"), peertest.Turned(peertest.Completed, ""))
	started := peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Words("all "))
	done := peertest.Result(peertest.Task(peertest.Completed, "all of it"))
	huge := peertest.Words(strings.Repeat("x", 11<<20))
	for _, tt := range []struct {
		name    string
		replies map[string][]peertest.Reply
		set     func(p *client.Peer)
		want    event.Termination
		answer  string
		// calls is the minimum number of calls per method.
		calls map[string]int
		// canceled is set if the task is canceled at the peer.
		canceled bool
	}{
		{name: "the connection breaks before the answer", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.Broken, peertest.Broken, whole}}, want: ended, answer: "all of it", calls: map[string]int{peertest.MethodStream: 3}},
		{name: "the connection always breaks", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.Broken}}, want: failed(client.CodeUnreachable), calls: map[string]int{peertest.MethodStream: exchange.SendAttempts}},
		{name: "the stream has no event", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.StreamOf(), whole}}, want: ended, answer: "all of it", calls: map[string]int{peertest.MethodStream: 2}},
		{name: "the first byte never comes", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.Hang}}, set: func(p *client.Peer) { p.SetIdleTimeout(500 * time.Millisecond) }, want: failed(client.CodeUnreachable), calls: map[string]int{peertest.MethodStream: 1}},
		{name: "the stream stops", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.OpenStream(peertest.Task(peertest.Working, ""), peertest.Words("all "))}, peertest.MethodSubscribe: {peertest.StreamOf(peertest.Task(peertest.Working, "all "), peertest.Words("of it"), peertest.Turned(peertest.Completed, ""))}},
			set: func(p *client.Peer) { p.SetIdleTimeout(500 * time.Millisecond) }, want: ended, answer: "all of it"},
		{name: "the stream is reset", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.CutStream(peertest.Task(peertest.Working, ""), peertest.Words("all "))}, peertest.MethodSubscribe: {peertest.StreamOf(peertest.Task(peertest.Working, "all "), peertest.Words("of it"), peertest.Turned(peertest.Completed, ""))}},
			want: ended, answer: "all of it", calls: map[string]int{peertest.MethodSubscribe: 1}},
		{name: "the stream ends early", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {started}, peertest.MethodSubscribe: {peertest.StreamOf(peertest.Task(peertest.Working, "all of"), peertest.Turned(peertest.Working, "")), peertest.StreamOf(peertest.Task(peertest.Completed, "all of it"))}},
			want: ended, answer: "all of it", calls: map[string]int{peertest.MethodSubscribe: 2}},
		{name: "a stream begins in the middle", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {started}, peertest.MethodSubscribe: {peertest.StreamOf(peertest.Words(" it"), peertest.Turned(peertest.Completed, ""))}, peertest.MethodGet: {peertest.Answers(503), done}},
			want: ended, answer: "all of it", calls: map[string]int{peertest.MethodGet: 2}},
		{name: "streams that are there bring nothing", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {started}, peertest.MethodSubscribe: {peertest.StreamOf()}, peertest.MethodGet: {peertest.Result(peertest.Task(peertest.Working, "")), done}},
			want: ended, answer: "all of it", calls: map[string]int{peertest.MethodSubscribe: exchange.Fruitless}},
		{name: "no stream is resumed", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {started}, peertest.MethodGet: {peertest.Result(peertest.Task(peertest.Working, "all ")), done}}, want: ended, answer: "all of it"},
		{name: "streams are not found", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {started}, peertest.MethodSubscribe: {peertest.Answers(404)}, peertest.MethodGet: {done}}, want: ended, answer: "all of it", calls: map[string]int{peertest.MethodSubscribe: 1}},
		{name: "there are no streams, against the card", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.Answers(501)}, peertest.MethodSend: {peertest.Sent(peertest.Task(a2a.TaskStateSubmitted, ""))}, peertest.MethodSubscribe: {peertest.Answers(501)},
			peertest.MethodGet: {peertest.Result(peertest.Task(peertest.Working, "")), peertest.Answers(500), peertest.Answers(429, "Retry-After", "0"), peertest.Broken, peertest.Fault(-32603, "oops"), peertest.Result("?"), done}},
			want: ended, answer: "all of it", calls: map[string]int{peertest.MethodGet: 7}},
		{name: "there is an error instead of a stream", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.Fault(-32602, "no such thing")}}, want: failed(client.CodeRefused), calls: map[string]int{peertest.MethodStream: 1}},
		{name: "a stream ends by an error", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {func(w http.ResponseWriter, _ *peertest.Request) {
				peertest.SendEvents(w, peertest.Task(peertest.Working, ""))
				_, _ = fmt.Fprintf(w, "data: %s\n\n", peertest.Envelope("error", map[string]any{"code": -32603, "message": "oops"}))
			}}, peertest.MethodSubscribe: {peertest.Fault(-32004, "it has ended")}, peertest.MethodGet: {done}}, want: ended, answer: "all of it"},
		{name: "an event is no event", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {func(w http.ResponseWriter, _ *peertest.Request) {
				peertest.SendEvents(w, peertest.Task(peertest.Working, ""))
				_, _ = fmt.Fprintf(w, "data: %s\n\n", peertest.Envelope("result", map[string]any{"surprise": struct{}{}}))
			}}, peertest.MethodSubscribe: {peertest.StreamOf(peertest.Task(peertest.Completed, "all of it"))}}, want: ended, answer: "all of it"},
		{name: "the credential is refused", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.Answers(401, "WWW-Authenticate", `Bearer realm="`+token+`"`)}}, want: failed("unauthorized")},
		{name: "the credential is refused later", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {started}, peertest.MethodSubscribe: {peertest.Answers(403)}}, want: failed("unauthorized"), answer: "all ", canceled: true},
		{name: "it is too much for a while", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.Answers(429, "Retry-After", "0"), peertest.Answers(503), whole}}, want: ended, answer: "all of it", calls: map[string]int{peertest.MethodStream: 3}},
		{name: "it is too much for longer than the turn may take", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.Answers(429, "Retry-After", "3600")}}, want: failed("rate_limited"), calls: map[string]int{peertest.MethodStream: 1}},
		{name: "it is always overloaded", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.Answers(503)}}, want: failed(client.CodeUnreachable), calls: map[string]int{peertest.MethodStream: exchange.SendAttempts}},
		{name: "the peer fails over the message", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.Answers(500)}}, want: failed(client.CodeUnreachable), calls: map[string]int{peertest.MethodStream: 1}},
		{name: "a proxy does not wait", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.Answers(504)}}, want: failed(client.CodeUnreachable), calls: map[string]int{peertest.MethodStream: 1}},
		{name: "an event has 11 MiB", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Working, ""), huge, peertest.Turned(peertest.Completed, ""))}}, want: failed(client.CodeTooLarge), canceled: true},
		{name: "a snapshot has 11 MiB", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {started}, peertest.MethodSubscribe: {peertest.StreamOf(peertest.Task(peertest.Completed, huge.Artifact.Parts[0].Text()))}}, want: failed(client.CodeTooLarge), answer: "all ", canceled: true},
		{name: "an event is one of another task", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Working, ""), &a2a.TaskStatusUpdateEvent{TaskID: "another", ContextID: peertest.ContextID, Status: a2a.TaskStatus{State: peertest.Completed}})}},
			want: failed(client.CodeProtocol), canceled: true},
		{name: "the task that is looked at is another", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {started}, peertest.MethodGet: {peertest.Result(&a2a.Task{ID: "another", Status: a2a.TaskStatus{State: peertest.Completed}})}}, want: failed(client.CodeProtocol), answer: "all ", canceled: true},
		{name: "a task has no id", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.StreamOf(&a2a.Task{Status: a2a.TaskStatus{State: peertest.Working}})}}, want: failed(client.CodeProtocol)},
		{name: "an id is too long", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.StreamOf(&a2a.Task{ID: a2a.TaskID(strings.Repeat("x", exchange.MaxID+1))})}}, want: failed(client.CodeProtocol)},
		{name: "an artifact is null", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Working, ""), &a2a.TaskArtifactUpdateEvent{TaskID: peertest.TaskID})}}, want: failed(client.CodeProtocol), canceled: true},
		{name: "a task that has ended goes on", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {started}, peertest.MethodSubscribe: {peertest.StreamOf(peertest.Turned(peertest.Completed, ""), peertest.Turned(peertest.Working, "still here"))},
			peertest.MethodGet: {peertest.Result(peertest.Task(peertest.Working, "nothing")), done}}, want: ended, answer: "all of it", calls: map[string]int{peertest.MethodGet: 2}},
		{name: "the state is not known", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.StreamOf(peertest.Task("TASK_STATE_DREAMING", ""), peertest.Words("all of it"), peertest.Turned("?", ""), peertest.Turned(peertest.Completed, ""))}}, want: ended, answer: "all of it"},
		{name: "the task is lost", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {started}, peertest.MethodSubscribe: {peertest.Fault(-32001, "no such task")}, peertest.MethodGet: {peertest.Fault(-32001, "no such task")}}, want: failed(client.CodeTaskLost),
			answer: "all ", calls: map[string]int{peertest.MethodGet: exchange.Missing}, canceled: true},
		{name: "a task that was completed is lost", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {started}, peertest.MethodSubscribe: {peertest.StreamOf(peertest.Turned(peertest.Completed, ""))}, peertest.MethodGet: {peertest.Fault(-32001, "no such task")}}, want: failed(client.CodeTaskLost), answer: "all "},
		{name: "the task has failed", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Words("half"), peertest.Turned(a2a.TaskStateFailed, "no luck with "+token))}}, want: failed(client.CodeRemoteFailed), answer: "half"},
		{name: "the task is rejected", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.StreamOf(peertest.Task(a2a.TaskStateRejected, ""))}}, want: failed(client.CodeRemoteRejected), calls: map[string]int{peertest.MethodStream: 1}},
		{name: "the peer cancels the task", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Turned(a2a.TaskStateCanceled, "lunch"))}}, want: event.Termination{Type: event.Canceled}},
		{name: "it ends after a message alone", replies: map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.StreamOf(&a2a.Message{ID: "m", ContextID: peertest.ContextID, Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart("all of it")}})}},
			want: ended, answer: "all of it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.replies[peertest.MethodCancel] == nil {
				tt.replies[peertest.MethodCancel] = []peertest.Reply{peertest.Result(peertest.Task(a2a.TaskStateCanceled, ""))}
			}
			r := newRig(t, tt.replies)
			if tt.set != nil {
				tt.set(r.remote.peer)
			}
			res, err := r.run(t.Context())
			got := termination(res, err)
			if got.Type != tt.want.Type || got.Code != tt.want.Code || res.Response != tt.answer {
				t.Errorf("it ends by %+v with %q (%v)", got, res.Response, err)
			}
			if failure, ok := errors.AsType[*client.PeerError](err); got.Type == event.Failed && (!ok || failure.Code != got.Code || failure.Peer != r.script.URL) {
				t.Errorf("the error is %#v", err)
			}
			for method, want := range tt.calls {
				if n := len(r.script.Got(method)); n != want {
					t.Errorf("%s is called %d times, want %d", method, n, want)
				}
			}
			if n := len(r.script.Got(peertest.MethodCancel)); (n > 0) != tt.canceled {
				t.Errorf("the task is ended at the peer %d times", n)
			}
			checkTurn(t, r, res, err)
		})
	}
}

// checkTurn checks the invariants of every ended turn: each message keeps its id when it is sent
// again, the shown text is the answer, and the credential appears nowhere.
func checkTurn(t *testing.T, r *rig, res *backend.Result, err error) {
	t.Helper()
	sends := slices.Concat(r.script.Got(peertest.MethodSend), r.script.Got(peertest.MethodStream))
	for _, c := range sends {
		if id := c.Message(t).ID; id != sends[0].Message(t).ID || id == "" {
			t.Errorf("the message has the id %q, then %q", sends[0].Message(t).ID, id)
		}
	}
	if text := r.host.text(); text != res.Response {
		t.Errorf("%d bytes are shown, the answer has %d: %.80q, %.80q", len(text), len(res.Response), text, res.Response)
	}
	started, ended := 0, 0
	for _, kind := range r.host.types() {
		switch kind {
		case event.TypeStepStart:
			started++
		case event.TypeStepEnd:
			ended++
		}
	}
	if started != ended {
		t.Errorf("%d steps begin, %d end", started, ended)
	}
	said, marshalErr := json.Marshal([]any{r.host.events, res.Termination, fmt.Sprint(err), termination(res, err), res.State})
	if marshalErr != nil {
		t.Fatal(marshalErr)
	}
	if strings.Contains(string(said), token) {
		t.Errorf("the credential is in %s", said)
	}
}
