package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/exchange"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

const (
	inputRequired = a2a.TaskStateInputRequired
	authRequired  = a2a.TaskStateAuthRequired
)

// asking returns the task while it asks a question.
func asking(state a2a.TaskState, question string) *a2a.Task {
	t := peertest.Task(state, "")
	t.Status.Message = peertest.Said(question)
	return t
}

// resume returns the answer to an interaction.
func resume(target, answer string) interaction.Answer {
	return interaction.Answer{Target: target, Action: interaction.Resume, Result: json.RawMessage(answer)}
}

// wait runs the turn until it waits for a person.
func (r *rig) wait() (*backend.State, *interaction.Request) {
	r.t.Helper()
	res, err := r.run(r.t.Context())
	if err != nil || res.Termination.Type != event.Suspended || len(res.Interactions) != 1 || res.State == nil {
		r.t.Fatalf("it does not wait: %+v, %v", res, err)
	}
	return res.State, res.Interactions[0]
}

func TestAPeerThatAsks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer string
		told   *a2a.Part
	}{
		"and gets a text":           {`"blue"`, a2a.NewTextPart("blue")},
		"and gets it in a field":    {`{"text":"blue"}`, a2a.NewTextPart("blue")},
		"and is given a value":      {`{"data":{"colour":["blue",1,null]}}`, a2a.NewDataPart(map[string]any{"colour": []any{"blue", 1.0, nil}})},
		"and is given a simple one": {`{"data":false}`, a2a.NewDataPart(false)},
		"and gets a text of JSON":   {`"{\"a\":1}"`, a2a.NewTextPart(`{"a":1}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {
				peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Words("Let me see. "), peertest.Turned(inputRequired, "Which colour?")),
				peertest.StreamOf(peertest.Task(peertest.Working, "Let me see. "), peertest.Words("Blue it is."), peertest.Turned(peertest.Completed, "")),
			}})
			state, request := r.wait()
			want := &interaction.Request{
				ID: "task-1/1", CallID: "task-1", Action: ActionInput, Message: "Which colour?", ResponseSchema: request.ResponseSchema, Mode: interaction.PassDecisionToTool,
				Parameters: json.RawMessage(`{"context_id":"context-1","task_id":"task-1"}`),
			}
			if diff := cmp.Diff(want, request); diff != "" {
				t.Error(diff)
			}
			shown, ok := r.host.events[len(r.host.events)-1].(*event.InteractionRequest)
			if !ok || shown.ID != request.ID || shown.CallID != string(peertest.TaskID) || shown.Message != "Which colour?" {
				t.Errorf("it shows %+v", shown)
			}
			before := len(r.host.events)
			r.next(state, resume(request.ID, tt.answer))
			res, err := r.run(t.Context())
			if err != nil || res.Response != "Let me see. Blue it is." || res.Steps != 2 || res.State != nil {
				t.Fatalf("%+v, %v", res, err)
			}
			if resumed, ok := r.host.events[before].(*event.ToolCallResumed); !ok || resumed.TargetID != request.ID || string(resumed.Result) != tt.answer {
				t.Errorf("it shows %+v", r.host.events[before])
			}
			if text := r.host.text(); text != res.Response {
				t.Errorf("it shows %q", text)
			}
			calls := r.script.Got(peertest.MethodStream)
			first, second := calls[0].Message(t), calls[1].Message(t)
			if second.TaskID != peertest.TaskID || second.ContextID != peertest.ContextID || second.ID == first.ID || len(calls) != 2 {
				t.Errorf("the messages are %+v and %+v", first, second)
			}
			if diff := cmp.Diff(a2a.ContentParts{tt.told}, second.Parts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheDataOfAQuestionIsNoPartOfItsText(t *testing.T) {
	t.Parallel()
	asks := peertest.Turned(inputRequired, "May I?")
	asks.Status.Message.Parts = append(asks.Status.Message.Parts, a2a.NewDataPart(map[string]any{"tool": "lend"}))
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Working, ""), asks)}})
	_, request := r.wait()
	want := `{"context_id":"context-1","data":{"tool":"lend"},"task_id":"task-1"}`
	if request.Message != "May I?" || string(request.Parameters) != want {
		t.Errorf("it asks %q with %s", request.Message, request.Parameters)
	}
}

// Text missed before a question is fetched because it cannot be shown after the answer, but not
// forever.
func TestAQuestionComesBehindAllThatWasSaid(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		looks []peertest.Reply
		shown string
		times int
	}{
		"when the peer tells it":           {[]peertest.Reply{peertest.Result(peertest.Task(inputRequired, "all of it"))}, "all of it", 1},
		"when the peer is busy":            {[]peertest.Reply{peertest.Answers(503), peertest.Broken, peertest.Answers(429, "Retry-After", "0"), peertest.Result(peertest.Task(inputRequired, "all of it"))}, "all of it", 4},
		"unless the peer does not tell it": {[]peertest.Reply{peertest.Answers(404)}, "all it", exchange.Missing},
		"unless the task goes on":          {[]peertest.Reply{peertest.Result(peertest.Task(peertest.Working, "all of it, or"))}, "all it", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string][]peertest.Reply{
				peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Words("all "))}, peertest.MethodSubscribe: {peertest.StreamOf(peertest.Words("it"), peertest.Turned(inputRequired, "why?"))}, peertest.MethodGet: tt.looks,
			})
			r.wait()
			if got := r.host.text(); got != tt.shown {
				t.Errorf("%q is shown, want %q", got, tt.shown)
			}
			if n := len(r.script.Got(peertest.MethodGet)); n != tt.times {
				t.Errorf("the task is looked at %d times, want %d", n, tt.times)
			}
		})
	}
}

func TestAnswersThatAPeerCannotBeGiven(t *testing.T) {
	t.Parallel()
	for form, answers := range map[string][]string{
		string(inputSchema): {`""`, `null`, `1`, `{}`, `{"data":null}`, `{"text":1}`, `{"text":"a","more":1}`},
		string(authSchema):  {`true`, `{}`, `{"authenticated":"yes"}`, `{"authenticated":true,"more":1}`},
	} {
		compiled, err := schema.Compile(json.RawMessage(form))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range answers {
			if found, err := compiled.ValidateJSON(t.Context(), json.RawMessage(a)); err != nil || len(found) == 0 {
				t.Errorf("%s is an answer", a)
			}
		}
	}
}

func TestAPeerThatAsksAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {
		peertest.StreamOf(asking(inputRequired, "Which colour?")),
		peertest.StreamOf(asking(inputRequired, "Are you sure?")),
		peertest.StreamOf(peertest.Task(peertest.Completed, "Blue it is.")),
	}})
	state, first := r.wait()
	r.next(state, resume(first.ID, `"blue"`))
	state, second := r.wait()
	if first.ID == second.ID || second.Message != "Are you sure?" {
		t.Errorf("it asks %+v, then %+v", first, second)
	}
	if err := state.Answer(resume(first.ID, `"red"`)); err == nil {
		t.Error("a late answer to the first question is one to the second")
	}
	r.next(state, resume(string(peertest.TaskID), `"yes"`)) // an interaction may be named by its call
	res, err := r.run(t.Context())
	if err != nil || res.Response != "Blue it is." || res.Steps != 3 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestATurnThatNobodyAnswersGoesOnWaiting(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(asking(inputRequired, "Which colour?"))}})
	state, first := r.wait()
	r.next(state)
	state, second := r.wait()
	if c, err := decodeCourse(state.Remote.Resume); err != nil || !c.Deadline.IsZero() {
		t.Errorf("the time runs out on %s, %v", c.Deadline, err)
	}
	if diff := cmp.Diff(first, second); diff != "" || len(r.script.Got(peertest.MethodStream)) != 1 {
		t.Error(diff)
	}
}

func TestAnAnswerThatIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		state  a2a.TaskState
		answer interaction.Answer
	}{
		"input":         {inputRequired, interaction.Answer{Action: interaction.Cancel, Reason: "not today"}},
		"authorization": {authRequired, interaction.Answer{Action: interaction.Cancel}},
		"consent":       {authRequired, resume("", `{"authenticated":false}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(asking(tt.state, "May I?"))}, peertest.MethodCancel: {peertest.Result(peertest.Task(a2a.TaskStateCanceled, ""))}})
			state, request := r.wait()
			tt.answer.Target = request.ID
			r.next(state, tt.answer)
			res, err := r.run(t.Context())
			if got := termination(res, err); got.Type != event.Canceled || got.Detail == "" || res.State != nil {
				t.Errorf("it ends by %+v", got)
			}
			if sends, cancels := len(r.script.Got(peertest.MethodStream)), len(r.script.Got(peertest.MethodCancel)); sends != 1 || cancels != 1 {
				t.Errorf("%d messages, %d cancels", sends, cancels)
			}
		})
	}
}

// An agent that waits for authorization does not show whether it was granted: the task is read
// again, and a message is sent only if the answer has one.
func TestAPeerThatWaitsToBeAuthorized(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer string
		sends  int
	}{
		"elsewhere":      {`{"authenticated":true}`, 1},
		"with a message": {`{"authenticated":true,"text":"code 1234"}`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := asking(authRequired, "Open https://example.com/auth")
			r := newRig(t, map[string][]peertest.Reply{
				peertest.MethodStream:    {peertest.StreamOf(asked), peertest.StreamOf(asked, peertest.Turned(peertest.Working, ""), peertest.Words("thanks"), peertest.Turned(peertest.Completed, ""))},
				peertest.MethodSubscribe: {peertest.StreamOf(asked), peertest.StreamOf(asked, peertest.Task(peertest.Completed, "thanks"))},
				peertest.MethodGet:       {peertest.Result(asked), peertest.Result(peertest.Task(peertest.Completed, "thanks"))},
			})
			state, request := r.wait()
			if request.Action != ActionAuth || request.Message != "Open https://example.com/auth" {
				t.Errorf("it asks %+v", request)
			}
			r.next(state, resume(request.ID, tt.answer))
			res, err := r.run(t.Context())
			if err != nil || res.Response != "thanks" {
				t.Fatalf("%+v, %v", res, err)
			}
			if n := len(r.script.Got(peertest.MethodStream)); n != tt.sends {
				t.Errorf("%d messages are sent", n)
			}
		})
	}
}

// An answer reaches the peer once, whenever the process dies.
func TestAnAnswerIsGivenOnce(t *testing.T) {
	t.Parallel()
	question := asking(inputRequired, "Which colour?")
	for name, tt := range map[string]struct {
		now   *a2a.Task
		sends int
	}{
		"it has not arrived": {question, 3},
		"it has arrived":     {peertest.Task(peertest.Working, ""), 2},
		"it has been enough": {peertest.Task(peertest.Completed, "Blue it is."), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string][]peertest.Reply{
				peertest.MethodStream:    {peertest.StreamOf(question), peertest.Broken, peertest.StreamOf(peertest.Task(peertest.Completed, "Blue it is."))},
				peertest.MethodGet:       {peertest.Result(tt.now)},
				peertest.MethodSubscribe: {peertest.StreamOf(peertest.Task(peertest.Completed, "Blue it is."))},
			})
			r.remote.peer.Options.Poll.Next = time.Millisecond
			state, request := r.wait()
			r.next(state, resume(request.ID, `"blue"`))
			ctx, kill := context.WithCancelCause(t.Context())
			kept := (*backend.State)(nil)
			r.job.Checkpoint = func(_ context.Context, s *backend.State) error {
				kept = stored(t, s)
				return nil
			}
			r.script.Mu.Lock()
			r.script.Replies[peertest.MethodStream][0] = func(w http.ResponseWriter, c *peertest.Request) {
				kill(backend.ErrReleased)
				peertest.Broken(w, c)
			}
			r.script.Mu.Unlock()
			if _, err := r.run(ctx); !errors.Is(err, backend.ErrReleased) || kept == nil || len(kept.Remote.Answers) != 1 {
				t.Fatalf("the answer is not kept: %+v, %v", kept, err)
			}
			r.next(kept)
			res, err := r.run(t.Context())
			if err != nil || res.Response != "Blue it is." {
				t.Fatalf("%+v, %v", res, err)
			}
			sends := r.script.Got(peertest.MethodStream)
			if len(sends) != tt.sends || sends[1].Message(t).ID != sends[len(sends)-1].Message(t).ID {
				t.Errorf("%d messages are sent", len(sends))
			}
			if err := kept.Answer(resume(request.ID, `"blue"`)); err != nil {
				t.Errorf("the answer is not known any more: %v", err)
			}
		})
	}
}

func TestTheTimeThatAPersonTakesDoesNotCount(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(asking(inputRequired, "Which colour?")), peertest.StreamOf(peertest.Task(peertest.Completed, "Blue it is."))}})
	r.remote.peer.Endpoint.Timeout = nil
	state, _ := r.wait()
	c, err := decodeCourse(state.Remote.Resume)
	if err != nil || !c.Deadline.IsZero() || c.Left < 4*time.Minute || c.Left > 5*time.Minute {
		t.Errorf("%s are left until %s, %v", c.Left, c.Deadline, err)
	}
}

// A task read after the peer's question may be older than the question.
func TestAStaleTaskDoesNotTakeAQuestionBack(t *testing.T) {
	t.Parallel()
	first := asking(inputRequired, "Which colour?")
	r := newRig(t, map[string][]peertest.Reply{
		peertest.MethodStream:    {peertest.StreamOf(first), peertest.StreamOf(first, peertest.Turned(peertest.Working, ""))},
		peertest.MethodSubscribe: {peertest.StreamOf(peertest.Turned(inputRequired, "Which size?"))},
		peertest.MethodGet:       {peertest.Result(first)},
	})
	state, request := r.wait()
	r.next(state, resume(request.ID, `"blue"`))
	res, err := r.run(t.Context())
	if err != nil || res.Termination.Type != event.Suspended || res.Interactions[0].Message != "Which size?" {
		t.Errorf("%+v, %v", res, err)
	}
}
