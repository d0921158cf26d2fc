package exchange

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
)

// Each phase allows the moves of the diagram and rejects all others.
func TestEveryMoveOfAnExchange(t *testing.T) {
	t.Parallel()
	const refused = phase(-1)
	//                 draft         send       look          accept        reply         ask          end
	allowed := [...][7]phase{
		phaseIdle:    {phaseDrafted, refused, refused, refused, refused, refused, refused},
		phaseDrafted: {refused, phaseSent, refused, refused, refused, refused, refused},
		phaseSent:    {refused, phaseSent, refused, phaseWorking, phaseReplied, refused, refused},
		phaseWorking: {refused, refused, refused, refused, refused, phaseAsking, phaseEnded},
		phaseAsking:  {phaseDrafted, refused, phaseWorking, refused, refused, phaseAsking, phaseEnded},
		phaseReplied: {refused, refused, refused, refused, refused, refused, refused},
		phaseEnded:   {refused, refused, refused, refused, refused, refused, refused},
	}
	if len(allowed) != len(phaseNames) || len(allowed[0]) != len(moveNames) {
		t.Fatalf("there are %d phases and %d moves", len(phaseNames), len(moveNames))
	}
	reached := map[phase]bool{phaseIdle: true}
	for from := range phase(len(phaseNames)) {
		for m := range move(len(moveNames)) {
			want := allowed[from][m]
			got, err := from.afterMove(m)
			wrong, isMove := errors.AsType[*moveError](err)
			switch {
			case want == refused && (!isMove || wrong.phase != from || wrong.move != m || got != from):
				t.Errorf("%s, %s: it is %s, %v", from, m, got, err)
			case want != refused && (err != nil || got != want):
				t.Errorf("%s, %s: it is %s, %v; not %s", from, m, got, err, want)
			}
			reached[got] = true
		}
	}
	if len(reached) != len(phaseNames) {
		t.Errorf("only %v are reached", reached)
	}
}

// exchangeIn returns an exchange in a phase, without hooks.
func exchangeIn(t *testing.T, p phase) *Exchange {
	t.Helper()
	peer, err := client.New(&spec.Endpoint{BaseURL: "https://agents.example"}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	at := Position{MessageID: "m1", TaskID: peertest.TaskID, ContextID: peertest.ContextID, Accepted: true, State: peertest.Working}
	switch p {
	case phaseIdle:
		at = Position{}
	case phaseDrafted, phaseSent, phaseReplied:
		at = Position{MessageID: "m1"}
	case phaseAsking:
		at.State = a2a.TaskStateInputRequired
	case phaseEnded:
		at.State = peertest.Completed
	}
	x := New(peer, Hooks{}, at, p == phaseAsking)
	if restored := map[phase]phase{phaseDrafted: phaseSent, phaseReplied: phaseSent}; x.phase != p && x.phase != restored[p] {
		t.Fatalf("the phase is %s, not %s", x.phase, p)
	}
	x.phase = p
	return x
}

// Events from a peer move an exchange through its phases or are rejected.
func TestEventsInEveryPhase(t *testing.T) {
	t.Parallel()
	const refused = phase(-1)
	events := map[string]func() a2a.Event{
		"a task": func() a2a.Event { return peertest.Task(peertest.Working, "") },
		"a reply": func() a2a.Event {
			return &a2a.Message{ID: "r", Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart("hi")}}
		},
		"a text":     func() a2a.Event { return peertest.Words("hi") },
		"a question": func() a2a.Event { return peertest.Turned(a2a.TaskStateInputRequired, "which?") },
		"an end":     func() a2a.Event { return peertest.Turned(peertest.Completed, "") },
	}
	for event, want := range map[string][7]phase{
		//            idle     drafted  sent          working       asking       replied  ended
		"a task":     {refused, refused, phaseWorking, phaseWorking, phaseAsking, refused, phaseEnded},
		"a reply":    {refused, refused, phaseReplied, phaseWorking, phaseAsking, refused, phaseEnded},
		"a text":     {refused, refused, phaseWorking, phaseWorking, phaseAsking, refused, phaseEnded},
		"a question": {refused, refused, phaseAsking, phaseAsking, phaseAsking, refused, phaseEnded},
		"an end":     {refused, refused, phaseEnded, phaseEnded, phaseEnded, refused, phaseEnded},
	} {
		for from := range phase(len(phaseNames)) {
			x := exchangeIn(t, from)
			err := x.Take(t.Context(), events[event]())
			if want[from] == refused {
				if failure, ok := errors.AsType[*client.PeerError](err); !ok || failure.Code != client.CodeProtocol || x.phase != from {
					t.Errorf("%s while %s: it is %s, %v", event, from, x.phase, err)
				}
				continue
			}
			if err != nil || x.phase != want[from] {
				t.Errorf("%s while %s: it is %s, %v; not %s", event, from, x.phase, err, want[from])
			}
		}
	}
}

// The position of an exchange determines its phase. Only unsent messages may have been sent.
func TestAPositionLeadsBackToThePhase(t *testing.T) {
	t.Parallel()
	for from, want := range map[phase]phase{
		phaseIdle: phaseIdle, phaseDrafted: phaseSent, phaseSent: phaseSent, phaseWorking: phaseWorking, phaseAsking: phaseAsking, phaseEnded: phaseEnded,
	} {
		at := exchangeIn(t, from).Position()
		if got := phaseOf(&at, from == phaseAsking); got != want {
			t.Errorf("%s leads to %s, not %s", from, got, want)
		}
	}
}

func TestIDsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for id, want := range map[string][2]bool{ // unfit, unfit in a path
		"": {}, "0198c2-a": {}, "a:b@c": {}, "a/b": {false, true}, "a?b": {false, true}, "..": {false, true}, "%2e": {false, true},
		"a\nb": {true, true}, "a\x00": {true, true}, "a\xff": {true, true}, strings.Repeat("x", MaxID+1): {true, true},
	} {
		if got := [2]bool{idProblem(id, false) != "", idProblem(id, true) != ""}; got != want {
			t.Errorf("%.20q is unfit: %v", id, got)
		}
	}
}

// No sequence of events causes a panic, and the display equals the text.
func FuzzTakeEvents(f *testing.F) {
	for _, what := range []string{
		`{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"},"artifacts":[{"artifactId":"a","parts":[{"text":"h"}]}]}}`,
		`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}`,
	} {
		f.Add([]byte(what), []byte(`{"artifactUpdate":{"taskId":"t","append":true,"artifact":{"artifactId":"a","parts":[{"text":"hi"}]}}}`))
	}
	p, err := client.New(&spec.Endpoint{BaseURL: "https://agents.example"}, zap.NewNop())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		a, s := newAssembly(0)
		x := New(p, Hooks{ShowText: a.show, ResetText: a.reset}, Position{MessageID: "m"}, false)
		for _, data := range [][]byte{first, second, first} {
			var ev a2a.StreamResponse
			if json.Unmarshal(data, &ev) != nil {
				continue
			}
			if x.Take(t.Context(), ev.Event) != nil {
				return
			}
		}
		if !x.output.stale && s.shown != x.Text() {
			t.Fatalf("%q is shown of %q", s.shown, x.Text())
		}
		answer, err := x.Answer()
		if err != nil {
			return
		}
		if x.ShowAnswer(answer); s.shown != answer {
			t.Fatalf("%q is shown of %q", s.shown, answer)
		}
	})
}
