package workflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/service"
	engine "github.com/agentruntime/agentruntime/service/workflow"
	"github.com/agentruntime/agentruntime/store"
)

const report = `
workflows:
  report:
    events: [{type: day.closed, source: shop}]
    steps:
      - id: figures
        tool: {name: figures, input: {day: "${{ input.day }}"}}
      - id: write
        agent:
          agent: writer
          prompt: "Summarize ${{ steps.figures.outputs.day }} for ${{ signal.source }}."
          tools: []
          output: {structured: {schema: {type: object, required: [alarm, text], properties: {alarm: {type: boolean}, text: {type: string}}}}}
      - id: send
        when: {value: "${{ steps.write.outputs.alarm }}", equals: true}
        tool: {name: send, input: {text: "${{ steps.write.outputs.text }}"}}
      - id: after
        tool: {name: send, input: {text: {template: "sent ${{ steps.send.outputs.text }}"}}}
`

func closed(id, day string) engine.Event {
	return engine.Event{ID: id, Type: "day.closed", Source: "shop", Data: json.RawMessage(`{"day":"` + day + `"}`)}
}

func TestARunCarriesDataFromStepToStep(t *testing.T) {
	w := open(t, report, `replies: [{match: "Summarize Monday for shop.", text: '{"alarm": true, "text": "All is lost."}', usage: {input_tokens: 7, output_tokens: 3}}]`)
	w.publish(1, closed("e1", "Monday"))
	r := w.until(store.RunSucceeded)
	w.wantSteps(r, engine.StepSucceeded, engine.StepSucceeded, engine.StepSucceeded, engine.StepSucceeded)
	if got, want := strings.Join(w.lines("send"), ""), `{"text":"All is lost."}{"text":"sent All is lost."}`; got != want {
		t.Errorf("sent was %s, want %s", got, want)
	}
	if u := r.Steps[1].Usage; u.Input != 7 || u.Output != 3 {
		t.Errorf("the usage is %+v", u)
	}
	if string(r.Steps[0].Input) != `{"day":"Monday"}` || r.Trigger.Kind != engine.ByEvent || r.Trigger.Event.ID != "e1" {
		t.Errorf("the run began by %+v with %s", r.Trigger, r.Steps[0].Input)
	}
}

func TestAStepWhoseConditionDoesNotHoldIsSkippedWithItsDependents(t *testing.T) {
	w := open(t, report, `replies: [{text: '{"alarm": false, "text": "All is well."}'}]`)
	w.publish(1, closed("e1", "Monday"))
	r := w.until(store.RunSucceeded)
	w.wantSteps(r, engine.StepSucceeded, engine.StepSucceeded, engine.StepSkipped, engine.StepSkipped)
	if sent := w.lines("send"); len(sent) > 0 {
		t.Errorf("sent was %s", sent)
	}
}

func TestTheSameEventBeginsOneRun(t *testing.T) {
	w := open(t, report, `fallback: {text: '{"alarm": false, "text": "x"}'}`)
	w.publish(1, closed("e1", "Monday"))
	w.publish(0, closed("e1", "Monday"))
	w.publish(0, closed("e1", "Tuesday"))
	w.publish(1, closed("e0", "Sunday")) // came late
	other := closed("e1", "Monday")
	other.Source = "elsewhere"
	w.publish(0, other) // matches nothing
	if _, created, err := w.Publish(t.Context(), service.Caller{Tenant: "globex", Subject: "alice"}, []engine.Event{closed("e9", "x")}); err != nil || created != 0 {
		t.Errorf("another tenant's event made %d runs (%v)", created, err)
	}
}

func TestAFailedStepFailsTheRun(t *testing.T) {
	w := open(t, `
workflows:
  w:
    events: [{type: x}]
    steps:
      - {id: first, tool: {name: broken}, retry: {max_attempts: 3, backoff: 10ms}}
      - {id: second, tool: {name: send, input: {text: never}}}
`, "")
	w.publish(1, engine.Event{ID: "1", Type: "x"})
	r := w.until(store.RunFailed)
	w.wantSteps(r, engine.StepFailed, engine.StepSkipped)
	if r.Steps[0].Attempt != 3 || !strings.Contains(r.Message, "step first: ") || !strings.Contains(r.Message, "exit") {
		t.Errorf("the run ended with %q after %d attempts", r.Message, r.Steps[0].Attempt)
	}
}

func TestACallThatIsIdempotentIsTriedAgainWithTheSameKey(t *testing.T) {
	w := open(t, `
workflows:
  w:
    events: [{type: x}]
    steps:
      - {id: call, tool: {name: flaky}, retry: {max_attempts: 5, backoff: 10ms, max_backoff: 20ms}}
`, "")
	w.publish(1, engine.Event{ID: "1", Type: "x"})
	r := w.until(store.RunSucceeded)
	keys, err := os.ReadFile(filepath.Join(w.dir, "keys"))
	if lines := strings.Fields(string(keys)); err != nil || len(lines) != 3 || lines[0] != lines[1] || lines[1] != lines[2] || r.Steps[0].Attempt != 3 {
		t.Errorf("after %d attempts the keys are %q (%v)", r.Steps[0].Attempt, lines, err)
	}
}

func TestATurnThatHasActedIsNotTriedAgain(t *testing.T) {
	w := open(t, `
workflows:
  w:
    events: [{type: x}]
    steps:
      - {id: ask, agent: {agent: writer, prompt: "Send it."}, retry: {max_attempts: 3, backoff: 10ms}, timeout: 2s}
`, `replies: [{match: Send it, tool_calls: [{id: c, name: send, arguments: {text: hello}}]}, {text: never, delay: 1h}]`)
	w.publish(1, engine.Event{ID: "1", Type: "x"})
	r := w.until(store.RunFailed)
	if r.Steps[0].Attempt != 1 || !strings.Contains(r.Message, "not retried, because its effects must not be repeated") || len(w.lines("send")) != 1 {
		t.Errorf("after %d attempts it ended with %q; sent was %q", r.Steps[0].Attempt, r.Message, w.lines("send"))
	}
}

func TestARunIsCanceledWhileItsModelIsAsked(t *testing.T) {
	w := open(t, `
workflows:
  w:
    events: [{type: x}]
    steps:
      - {id: slow, agent: {agent: writer, prompt: Hello.}}
      - {id: after, tool: {name: send, input: {text: never}}}
`, `replies: [{text: x, delay: 1h}]`)
	w.publish(1, engine.Event{ID: "1", Type: "x"})
	r := w.untilTurn()
	if _, err := w.Cancel(t.Context(), team, r.ID, ""); err != nil {
		t.Fatal(err)
	}
	r = w.until(store.RunCanceled)
	w.wantSteps(r, engine.StepCanceled, engine.StepSkipped)
	if turn, err := w.app.Service().GetTurn(t.Context(), service.Operator(), r.Steps[0].TurnID); err != nil || turn.Status != store.Canceled {
		t.Errorf("its turn is %v (%v)", turn.Status, err)
	}
	if sent := w.lines("send"); len(sent) > 0 {
		t.Errorf("sent was %q", sent)
	}
}

func TestNoMoreRunsAreUnderWayThanMayBe(t *testing.T) {
	const limited = `
workflows:
  w:
    events: [{type: x}]
    concurrency: {limit: 3, on_limit: POLICY}
    steps:
      - {id: wait, tool: {name: send, input: {text: "${{ signal.id }}"}, approval: true}}
`
	for policy, rest := range map[string]store.RunStatus{"queue": store.RunPending, "skip": store.RunCanceled} {
		w := open(t, strings.Replace(limited, "POLICY", policy, 1), "")
		var events []engine.Event
		for i := range 10 {
			events = append(events, engine.Event{ID: fmt.Sprint(i), Type: "x"})
		}
		if _, n, err := w.Publish(t.Context(), team, events); err != nil || n != 10 {
			t.Fatal(n, err)
		}
		waiting := w.awaitStatuses(map[store.RunStatus]int{store.RunWaiting: 3, rest: 7})[store.RunWaiting]
		w.approve(waiting[0], `{"approved":true}`)
		want := map[store.RunStatus]int{store.RunWaiting: 3, store.RunPending: 6, store.RunSucceeded: 1}
		if policy == "skip" {
			want = map[store.RunStatus]int{store.RunWaiting: 2, store.RunCanceled: 7, store.RunSucceeded: 1}
		}
		w.awaitStatuses(want)
	}
}

func TestAReferenceThatIsMissingFailsTheStep(t *testing.T) {
	w := open(t, report, "")
	w.publish(1, engine.Event{ID: "1", Type: "day.closed", Source: "shop", Data: json.RawMessage(`{}`)})
	if r := w.until(store.RunFailed); !strings.Contains(r.Message, "input.day is not there") {
		t.Errorf("the run ended with %q", r.Message)
	}
}

const triage = `
workflows:
  triage:
    events: [{type: ticket}]
    on_wait: POLICY
    steps:
      - id: send
        tool: {name: send, input: {text: "${{ input.title }}"}, approval: true}
      - id: done
        tool: {name: figures, input: {day: "${{ steps.send.outputs.text }}"}}
`

func ticket(id string) engine.Event {
	return engine.Event{ID: id, Type: "ticket", Data: json.RawMessage(`{"title":"Help"}`)}
}

func TestARunWaitsForApproval(t *testing.T) {
	for _, tt := range []struct {
		answer string
		status store.RunStatus
		sent   int
	}{{`{"approved":true}`, store.RunSucceeded, 1}, {`{"approved":false,"reason":"too early"}`, store.RunFailed, 0}} {
		w := open(t, strings.Replace(triage, "POLICY", "wait", 1), "")
		w.publish(1, ticket("1"))
		r := w.until(store.RunWaiting)
		w.wantSteps(r, engine.StepWaiting, engine.StepPending)
		if len(w.lines("send")) > 0 {
			t.Fatal("it was sent before anybody approved")
		}
		w.approve(r, tt.answer)
		r = w.until(tt.status)
		if sent := w.lines("send"); len(sent) != tt.sent {
			t.Errorf("after %s sent was %s", tt.answer, sent)
		}
		if tt.sent == 0 && !strings.Contains(r.Message, "a person refused this call: too early") {
			t.Errorf("the run ended with %q", r.Message)
		}
	}
}

func TestARunThatNobodyAttendsFailsInsteadOfWaiting(t *testing.T) {
	w := open(t, strings.Replace(triage, "POLICY", "fail", 1), "")
	w.publish(1, ticket("1"))
	r := w.until(store.RunFailed)
	w.wantSteps(r, engine.StepFailed, engine.StepSkipped)
	if turn, err := w.app.Service().GetTurn(t.Context(), service.Operator(), r.Steps[0].TurnID); err != nil || turn.Status != store.Canceled {
		t.Errorf("its turn is %v (%v)", turn.Status, err)
	}
}

func TestARunIsCanceled(t *testing.T) {
	w := open(t, strings.Replace(triage, "POLICY", "wait", 1), "")
	w.publish(1, ticket("1"))
	r := w.until(store.RunWaiting)
	if _, err := w.Cancel(t.Context(), team, r.ID, "not needed"); err != nil {
		t.Fatal(err)
	}
	r = w.until(store.RunCanceled)
	w.wantSteps(r, engine.StepCanceled, engine.StepSkipped)
	if turn, err := w.app.Service().GetTurn(t.Context(), service.Operator(), r.Steps[0].TurnID); err != nil || turn.Status != store.Canceled || r.Message != "not needed" {
		t.Errorf("its turn is %v (%v), its message %q", turn.Status, err, r.Message)
	}
	if _, err := w.Cancel(t.Context(), team, r.ID, "again"); !errors.As(err, new(*store.StateError)) {
		t.Errorf("canceling it again: %v", err)
	}
}

func TestARunIsEndedByItsTime(t *testing.T) {
	w := open(t, `
workflows:
  w:
    events: [{type: x}]
    steps:
      - {id: slow, agent: {agent: writer, prompt: Hello.}, timeout: 50ms}
`, `replies: [{text: x, delay: 1h}]`)
	w.publish(1, engine.Event{ID: "1", Type: "x"})
	if r := w.until(store.RunFailed); !strings.Contains(r.Message, "step slow: it took longer than 50ms") {
		t.Errorf("the run ended with %q", r.Message)
	}
}

func TestRunsBeginOneAfterAnotherAtTheirLimit(t *testing.T) {
	w := open(t, `
workflows:
  w:
    events: [{type: x}]
    concurrency: {limit: 1}
    steps:
      - {id: wait, tool: {name: send, input: {text: "${{ signal.id }}"}, approval: true}}
`, "")
	w.publish(1, engine.Event{ID: "1", Type: "x"})
	first := w.until(store.RunWaiting)
	w.publish(1, engine.Event{ID: "2", Type: "x"})
	w.until(store.RunPending)
	w.approve(first, `{"approved":true}`)
	second := w.until(store.RunWaiting)
	if second.ID == first.ID {
		t.Fatal("the second run does not begin")
	}
	w.approve(second, `{"approved":true}`)
	w.until(store.RunSucceeded)
}

func TestAConversationIsContinuedBySessionKey(t *testing.T) {
	w := open(t, `
workflows:
  w:
    events: [{type: x}]
    steps:
      - {id: ask, agent: {agent: writer, session_key: "${{ input.user }}", prompt: "Hello ${{ signal.id }}."}}
`, `fallback: {text: Hi.}`)
	sessions := make(map[string]string)
	for _, id := range []string{"1", "2", "3"} {
		user := map[string]string{"1": "ann", "2": "ann", "3": "ben"}[id]
		w.publish(1, engine.Event{ID: id, Type: "x", Data: json.RawMessage(`{"user":"` + user + `"}`)})
		sessions[id] = w.until(store.RunSucceeded).Steps[0].SessionID
	}
	if sessions["1"] != sessions["2"] || sessions["1"] == sessions["3"] {
		t.Errorf("the sessions are %v", sessions)
	}
}

func TestAnotherTenantSeesNothing(t *testing.T) {
	w := open(t, strings.Replace(triage, "POLICY", "wait", 1), "")
	w.publish(1, ticket("1"))
	r := w.until(store.RunWaiting)
	foreign := service.Caller{Tenant: "globex", Subject: "alice"}
	restricted := team
	restricted.Agents = service.NewAgentSet([]string{"nobody"})
	if list, _, err := w.ListRuns(t.Context(), foreign, engine.RunQuery{}); err != nil || len(list) > 0 {
		t.Errorf("another tenant sees %d runs (%v)", len(list), err)
	}
	if _, err := w.GetRun(t.Context(), foreign, r.ID); !errors.As(err, new(*engine.NotFoundError)) {
		t.Errorf("another tenant reads the run: %v", err)
	}
	if _, err := w.Cancel(t.Context(), foreign, r.ID, ""); !errors.As(err, new(*engine.NotFoundError)) {
		t.Errorf("another tenant cancels the run: %v", err)
	}
	if list, err := w.ListStarts(t.Context(), foreign, false); err != nil || len(list) > 0 {
		t.Errorf("another tenant sees %d triggers (%v)", len(list), err)
	}
	if list, err := w.ListStarts(t.Context(), team, false); err != nil || len(list) != 1 {
		t.Errorf("the tenant sees %d triggers (%v)", len(list), err)
	}
}
