package a2abackend

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
	"github.com/agentruntime/agentruntime/event"
)

// A fault of the peer's ends the turn in the way that fits it, or not at all.
func TestEachFaultOfAPeerHasItsOutcome(t *testing.T) {
	t.Parallel()
	ended := event.Termination{Type: event.NaturalEnd}
	failed := func(code string) event.Termination { return event.Termination{Type: event.Failed, Code: code} }
	whole := streamOf(task(working, ""), words("all "), words("of it"), turned(completed, ""))
	started := streamOf(task(working, ""), words("all "))
	done := result(task(completed, "all of it"))
	huge := words(strings.Repeat("x", 11<<20))
	for _, tt := range []struct {
		name    string
		replies map[string][]reply
		set     func(p *peer)
		want    event.Termination
		answer  string
		// calls are how often a method is called, at least.
		calls map[string]int
		// canceled tells that the task is ended at the peer.
		canceled bool
	}{
		{name: "the connection breaks ahead of the answer", replies: map[string][]reply{
			methodStream: {broken, broken, whole}}, want: ended, answer: "all of it", calls: map[string]int{methodStream: 3}},
		{name: "the connection always breaks", replies: map[string][]reply{
			methodStream: {broken}}, want: failed(CodeUnreachable), calls: map[string]int{methodStream: sendAttempts}},
		{name: "the stream has no event", replies: map[string][]reply{
			methodStream: {streamOf(), whole}}, want: ended, answer: "all of it", calls: map[string]int{methodStream: 2}},
		{name: "the first byte never comes", replies: map[string][]reply{
			methodStream: {hang}}, set: func(p *peer) { p.http.limits.idle = 20 * time.Millisecond }, want: failed(CodeUnreachable), calls: map[string]int{methodStream: 1}},
		{name: "the stream stops", replies: map[string][]reply{
			methodStream: {openStream(task(working, ""), words("all "))}, methodSubscribe: {streamOf(task(working, "all "), words("of it"), turned(completed, ""))}},
			set: func(p *peer) { p.http.limits.idle = 50 * time.Millisecond }, want: ended, answer: "all of it"},
		{name: "the stream is reset", replies: map[string][]reply{
			methodStream: {cutStream(task(working, ""), words("all "))}, methodSubscribe: {streamOf(task(working, "all "), words("of it"), turned(completed, ""))}},
			want: ended, answer: "all of it", calls: map[string]int{methodSubscribe: 1}},
		{name: "the stream ends early", replies: map[string][]reply{
			methodStream: {started}, methodSubscribe: {streamOf(task(working, "all of"), turned(working, "")), streamOf(task(completed, "all of it"))}},
			want: ended, answer: "all of it", calls: map[string]int{methodSubscribe: 2}},
		{name: "a stream begins in the middle", replies: map[string][]reply{
			methodStream: {started}, methodSubscribe: {streamOf(words(" it"), turned(completed, ""))}, methodGet: {answers(503), done}},
			want: ended, answer: "all of it", calls: map[string]int{methodGet: 2}},
		{name: "streams that are there bring nothing", replies: map[string][]reply{
			methodStream: {started}, methodSubscribe: {streamOf()}, methodGet: {result(task(working, "")), done}},
			want: ended, answer: "all of it", calls: map[string]int{methodSubscribe: fruitless}},
		{name: "no stream is taken up again", replies: map[string][]reply{
			methodStream: {started}, methodGet: {result(task(working, "all ")), done}}, want: ended, answer: "all of it"},
		{name: "streams are not found", replies: map[string][]reply{
			methodStream: {started}, methodSubscribe: {answers(404)}, methodGet: {done}}, want: ended, answer: "all of it", calls: map[string]int{methodSubscribe: 1}},
		{name: "there are no streams, against the card", replies: map[string][]reply{
			methodStream: {answers(501)}, methodSend: {sent(task(a2a.TaskStateSubmitted, ""))}, methodSubscribe: {answers(501)},
			methodGet: {result(task(working, "")), answers(500), answers(429, "Retry-After", "0"), broken, fault(-32603, "oops"), result("?"), done}},
			want: ended, answer: "all of it", calls: map[string]int{methodGet: 7}},
		{name: "there is an error instead of a stream", replies: map[string][]reply{
			methodStream: {fault(-32602, "no such thing")}}, want: failed(CodeRefused), calls: map[string]int{methodStream: 1}},
		{name: "a stream ends by an error", replies: map[string][]reply{
			methodStream: {func(w http.ResponseWriter, _ *request) {
				sendEvents(w, task(working, ""))
				_, _ = fmt.Fprintf(w, "data: %s\n\n", envelope("error", map[string]any{"code": -32603, "message": "oops"}))
			}}, methodSubscribe: {fault(-32004, "it has ended")}, methodGet: {done}}, want: ended, answer: "all of it"},
		{name: "an event is no event", replies: map[string][]reply{
			methodStream: {func(w http.ResponseWriter, _ *request) {
				sendEvents(w, task(working, ""))
				_, _ = fmt.Fprintf(w, "data: %s\n\n", envelope("result", map[string]any{"surprise": struct{}{}}))
			}}, methodSubscribe: {streamOf(task(completed, "all of it"))}}, want: ended, answer: "all of it"},
		{name: "the credential is refused", replies: map[string][]reply{
			methodStream: {answers(401, "WWW-Authenticate", `Bearer realm="`+token+`"`)}}, want: failed("unauthorized")},
		{name: "the credential is refused later", replies: map[string][]reply{
			methodStream: {started}, methodSubscribe: {answers(403)}}, want: failed("unauthorized"), answer: "all ", canceled: true},
		{name: "it is too much for a while", replies: map[string][]reply{
			methodStream: {answers(429, "Retry-After", "0"), answers(503), whole}}, want: ended, answer: "all of it", calls: map[string]int{methodStream: 3}},
		{name: "it is too much for longer than the turn may take", replies: map[string][]reply{
			methodStream: {answers(429, "Retry-After", "3600")}}, want: failed("rate_limited"), calls: map[string]int{methodStream: 1}},
		{name: "it is always overloaded", replies: map[string][]reply{
			methodStream: {answers(503)}}, want: failed(CodeUnreachable), calls: map[string]int{methodStream: sendAttempts}},
		{name: "the peer fails over the message", replies: map[string][]reply{
			methodStream: {answers(500)}}, want: failed(CodeUnreachable), calls: map[string]int{methodStream: 1}},
		{name: "a proxy does not wait", replies: map[string][]reply{
			methodStream: {answers(504)}}, want: failed(CodeUnreachable), calls: map[string]int{methodStream: 1}},
		{name: "an event has 11 MiB", replies: map[string][]reply{
			methodStream: {streamOf(task(working, ""), huge, turned(completed, ""))}}, want: failed(CodeTooLarge), canceled: true},
		{name: "a snapshot has 11 MiB", replies: map[string][]reply{
			methodStream: {started}, methodSubscribe: {streamOf(task(completed, huge.Artifact.Parts[0].Text()))}}, want: failed(CodeTooLarge), answer: "all ", canceled: true},
		{name: "an event is one of another task", replies: map[string][]reply{
			methodStream: {streamOf(task(working, ""), &a2a.TaskStatusUpdateEvent{TaskID: "another", ContextID: contextID, Status: a2a.TaskStatus{State: completed}})}},
			want: failed(CodeProtocol), canceled: true},
		{name: "the task that is looked at is another", replies: map[string][]reply{
			methodStream: {started}, methodGet: {result(&a2a.Task{ID: "another", Status: a2a.TaskStatus{State: completed}})}}, want: failed(CodeProtocol), answer: "all ", canceled: true},
		{name: "a task has no id", replies: map[string][]reply{
			methodStream: {streamOf(&a2a.Task{Status: a2a.TaskStatus{State: working}})}}, want: failed(CodeProtocol)},
		{name: "an id is too long", replies: map[string][]reply{
			methodStream: {streamOf(&a2a.Task{ID: a2a.TaskID(strings.Repeat("x", maxID+1))})}}, want: failed(CodeProtocol)},
		{name: "an artifact is null", replies: map[string][]reply{
			methodStream: {streamOf(task(working, ""), &a2a.TaskArtifactUpdateEvent{TaskID: taskID})}}, want: failed(CodeProtocol), canceled: true},
		{name: "a task that has ended goes on", replies: map[string][]reply{
			methodStream: {started}, methodSubscribe: {streamOf(turned(completed, ""), turned(working, "still here"))},
			methodGet: {result(task(working, "nothing")), done}}, want: ended, answer: "all of it", calls: map[string]int{methodGet: 2}},
		{name: "the state is not known", replies: map[string][]reply{
			methodStream: {streamOf(task("TASK_STATE_DREAMING", ""), words("all of it"), turned("?", ""), turned(completed, ""))}}, want: ended, answer: "all of it"},
		{name: "the task is lost", replies: map[string][]reply{
			methodStream: {started}, methodSubscribe: {fault(-32001, "no such task")}, methodGet: {fault(-32001, "no such task")}}, want: failed(CodeTaskLost),
			answer: "all ", calls: map[string]int{methodGet: missing}, canceled: true},
		{name: "a task that was completed is lost", replies: map[string][]reply{
			methodStream: {started}, methodSubscribe: {streamOf(turned(completed, ""))}, methodGet: {fault(-32001, "no such task")}}, want: failed(CodeTaskLost), answer: "all "},
		{name: "the task has failed", replies: map[string][]reply{
			methodStream: {streamOf(task(working, ""), words("half"), turned(a2a.TaskStateFailed, "no luck with "+token))}}, want: failed(CodeRemoteFailed), answer: "half"},
		{name: "the task is rejected", replies: map[string][]reply{
			methodStream: {streamOf(task(a2a.TaskStateRejected, ""))}}, want: failed(CodeRemoteRejected), calls: map[string]int{methodStream: 1}},
		{name: "the peer cancels the task", replies: map[string][]reply{
			methodStream: {streamOf(task(working, ""), turned(a2a.TaskStateCanceled, "lunch"))}}, want: event.Termination{Type: event.Cancelled}},
		{name: "it ends behind a message alone", replies: map[string][]reply{
			methodStream: {streamOf(&a2a.Message{ID: "m", ContextID: contextID, Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart("all of it")}})}},
			want: ended, answer: "all of it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.replies[methodCancel] == nil {
				tt.replies[methodCancel] = []reply{result(task(a2a.TaskStateCanceled, ""))}
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
			if failure, ok := errors.AsType[*PeerError](err); got.Type == event.Failed && (!ok || failure.Code != got.Code || failure.Peer != r.script.URL) {
				t.Errorf("the error is %#v", err)
			}
			for method, want := range tt.calls {
				if n := len(r.script.got(method)); n != want {
					t.Errorf("%s is called %d times, want %d", method, n, want)
				}
			}
			if n := len(r.script.got(methodCancel)); (n > 0) != tt.canceled {
				t.Errorf("the task is ended at the peer %d times", n)
			}
			checkTurn(t, r, res, err)
		})
	}
}

// checkTurn checks what holds for every turn that ended: each message has the
// same id each time it is sent, what was shown is the answer, and the credential
// is nowhere.
func checkTurn(t *testing.T, r *rig, res *backend.Result, err error) {
	t.Helper()
	sends := slices.Concat(r.script.got(methodSend), r.script.got(methodStream))
	for _, c := range sends {
		if id := c.message(t).ID; id != sends[0].message(t).ID || id == "" {
			t.Errorf("the message has the id %q, then %q", sends[0].message(t).ID, id)
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
