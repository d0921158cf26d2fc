package display_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/display"
	"pgregory.net/rapid"
)

// shown returns the display events for a log.
func shown(t testing.TB, log ...event.Data) []display.Event {
	t.Helper()
	reader := display.Reader{Model: "fast"}
	var events []display.Event
	for i, data := range log {
		record, err := event.NewRecord(event.Event{Seq: uint64(i + 1), Time: time.Unix(int64(i), 0), TurnID: "t", SessionID: "s", Data: data})
		if err != nil {
			t.Fatal(err)
		}
		more, err := reader.Read(&record)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, more...)
	}
	return events
}

// line returns the relevant parts of an event.
func line(e *display.Event) string {
	parts := []string{e.Type}
	if e.Visibility == display.Private {
		parts = append(parts, "private")
	}
	if d := e.Display; d != nil {
		parts = append(parts, string(d.Kind)+"/"+string(d.Phase), d.Action, d.Label, d.Ref, d.Text, string(d.Input)+string(d.Output))
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

func TestTheEventsOfATurn(t *testing.T) {
	t.Parallel()
	log := []event.Data{
		&event.RunStart{AgentID: "clerk", Revision: 3},
		&event.StepStart{Step: 1, MessageID: "m1"},
		&event.ReasoningDelta{Delta: "hm"},
		&event.TextDelta{Delta: "Well,"},
		&event.StreamReset{Reason: "the connection broke"},
		&event.TextDelta{Delta: "I "},
		&event.TextDelta{Delta: "pay."},
		&event.ToolCallStart{ID: "c1", Name: "pay"},
		&event.ToolCallReady{ID: "c1", Name: "pay", Arguments: json.RawMessage(`{"amount":12}`)},
		&event.ToolCallStart{ID: "c2", Name: "note"},
		&event.ToolCallReady{ID: "c2", Name: "note", Arguments: json.RawMessage(`"nonsense"`)},
		&event.ToolCallReady{ID: "c3", Name: "gone", Arguments: json.RawMessage(`{}`)},
		&event.ToolCallCancel{ID: "c3", Name: "gone"},
		&event.InferenceComplete{Model: "x"},
		&event.InteractionRequest{Request: interaction.Request{ID: "perm_c1", CallID: "c1", Tool: "pay", Message: "May I?"}},
		&event.ToolCallDone{ID: "c1", Name: "pay", Outcome: event.CallSuspended},
		&event.ToolCallStreamDelta{ID: "c2", Name: "note", Delta: "half"},
		&event.ToolCallDone{ID: "c2", Name: "note", Outcome: event.CallFailed, Result: event.ToolResult{Content: []event.Content{{Type: "text", Text: "no ink"}}, IsError: true}},
		&event.RunWaiting{Interactions: []string{"perm_c1"}},
		&event.RunStart{AgentID: "clerk", Resumed: true},
		&event.ToolCallResumed{TargetID: "perm_c1", Action: "resume", Result: json.RawMessage(`{"approved":true}`)},
		&event.ToolCallDone{ID: "c1", Name: "pay", Outcome: event.CallSucceeded, Result: event.ToolResult{Content: []event.Content{{Type: "text", Text: `{"paid": true}`}}}},
		&event.StepEnd{Step: 1},
		&event.ContextTrimmed{Dropped: 2},
		&event.Handoff{From: "clerk", To: "boss", Count: 1},
		&event.Artifact{ID: "a1", Name: "bill"},
		&event.TextDelta{Delta: "Done."},
		&event.InferenceComplete{Model: "x"},
		&event.RunFinish{Status: event.StatusSucceeded, Termination: event.Termination{Type: event.NaturalEnd}, Steps: 2},
	}
	want := []string{
		`turn.started status/started turn running`,
		`reasoning.delta reasoning/delta hm`,
		`assistant.delta text/delta Well,`,
		`assistant.reset status/progress answer the model is asked again`,
		`assistant.delta text/delta I `,
		`assistant.delta text/delta pay.`,
		`assistant.completed text/completed I pay.`,
		`tool.started tool/started Running pay c1 {"amount":12}`,
		`tool.started tool/started Running note c2 {"malformed":"nonsense"}`,
		`interaction.requested interaction/requested interaction perm_c1`,
		`tool.progress tool/progress Running note c2 half`,
		`tool.failed tool/failed Failed note c2 no ink`,
		`turn.waiting status/progress turn waiting for input`,
		`turn.resumed status/progress turn resumed`,
		`interaction.resolved interaction/resolved interaction perm_c1`,
		`tool.completed tool/completed Ran pay c1 succeeded {"paid":true}`,
		`runtime.context_trimmed private`,
		`agent.handoff status/progress handoff clerk → boss`,
		`artifact.created status/progress artifact a1 bill`,
		`assistant.delta text/delta Done.`,
		`assistant.completed text/completed Done.`,
		`turn.completed`,
	}
	var got []string
	events := shown(t, log...)
	for i := range events {
		got = append(got, line(&events[i]))
		if events[i].Seq != uint64(i+1) {
			t.Errorf("event %d has the number %d", i+1, events[i].Seq)
		}
		if last := i == len(events)-1; events[i].Terminal() != last {
			t.Errorf("%s ends the turn: %t", events[i].Type, events[i].Terminal())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the events are\n%s\nand should be\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if data := string(events[0].Data); data != `{"status":"running","session_id":"s","model":"fast","agent_id":"clerk","revision":3}` {
		t.Errorf("the turn begins with %s", data)
	}
}

func TestEventsOfProvidersKeepTheirDisplay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ activity, content, want string }{
		"with a display":           {display.ForeignActivity, `{"seq":1,"type":"shell.ran","data":{"exit":0},"display":{"kind":" tool ","phase":"completed","label":"bash","ref":"own","parentRef":"c1","output":{"n":1}}}`, `shell.ran tool/completed Ran bash own {"n":1}`},
		"with an empty display":    {display.ForeignActivity, `{"seq":1,"type":"tool.started","data":{"tool_name":"bash"},"display":{}}`, `tool.started /`},
		"without a display":        {display.ForeignActivity, `{"seq":1,"type":"tool.started","data":{"tool_name":"bash","tool_call_id":"own"}}`, `tool.started tool/started Running bash own`},
		"of a type of its own":     {display.ForeignActivity, `{"seq":1,"type":"plan.made"}`, `plan.made`},
		"that is private":          {display.ForeignActivity, `{"seq":1,"type":"tool.started","visibility":"private"}`, `tool.started private`},
		"without a type":           {display.ForeignActivity, `{"seq":1,"type":""}`, `provider.event`},
		"that would end the turn":  {display.ForeignActivity, `{"seq":1,"type":"turn.completed","display":{"kind":"tool","phase":"completed"}}`, `provider.turn.completed tool/completed Ran`},
		"that would take it back":  {display.ForeignActivity, `{"seq":1,"type":"assistant.reset","data":{"from_seq":1}}`, `provider.assistant.reset`},
		"that cannot be read":      {display.ForeignActivity, `{"seq":"one"}`, `runtime.activity_snapshot private`},
		"that is another activity": {"a2a_task", `{"state":"running"}`, `runtime.activity_snapshot private`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := shown(t, &event.ActivitySnapshot{MessageID: "m", ActivityType: tt.activity, Content: json.RawMessage(tt.content)})
			if len(events) != 1 || line(&events[0]) != tt.want || events[0].Terminal() {
				t.Errorf("it is %q, not %q", line(&events[0]), tt.want)
			}
		})
	}
}

func TestHowATurnEndsIsShown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		why  event.Termination
		want string
	}{
		"by itself":        {event.Termination{Type: event.NaturalEnd}, `turn.completed`},
		"by its caller":    {event.Termination{Type: event.Canceled, Detail: "enough"}, `turn.canceled status/canceled turn enough`},
		"without a reason": {event.Termination{Type: event.Canceled}, `turn.canceled status/canceled turn canceled`},
		"by an error":      {event.Termination{Type: event.Failed, Code: "rate_limited", Detail: "try later"}, `turn.failed error/failed turn try later`},
		"by a budget":      {event.Termination{Type: event.BudgetExceeded, Code: "tokens"}, `turn.failed error/failed turn budget_exceeded: tokens`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var reader display.Reader
			events, err := reader.ReadOutcome(time.Now(), &event.Outcome{Termination: tt.why})
			if err != nil || len(events) != 1 || line(&events[0]) != tt.want {
				t.Errorf("%v, %v; it should be %q", events, err, tt.want)
			}
		})
	}
}

func TestARecordOfALaterVersionIsPrivate(t *testing.T) {
	t.Parallel()
	var reader display.Reader
	events, err := reader.Read(&event.Record{Type: "teleported", Data: json.RawMessage(`{"to":"mars"}`)})
	if err != nil || len(events) != 1 || line(&events[0]) != "runtime.teleported private" || string(events[0].Data) != `{"to":"mars"}` {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestPropertyDeltasJoinedAreTheMessage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		log := []event.Data{&event.RunStart{AgentID: "a"}}
		var want []string
		for range rapid.IntRange(0, 4).Draw(rt, "answers") {
			log = append(log, &event.StepStart{})
			if rapid.Bool().Draw(rt, "begins twice") {
				log = append(log, &event.TextDelta{Delta: rapid.StringN(1, 5, -1).Draw(rt, "lost")}, &event.StreamReset{})
			}
			var text string
			for _, delta := range rapid.SliceOfN(rapid.StringN(1, 8, -1), 0, 5).Draw(rt, "deltas") {
				delta = strings.ToValidUTF8(delta, "?")
				log, text = append(log, &event.TextDelta{Delta: delta}), text+delta
			}
			if log = append(log, &event.InferenceComplete{}); text != "" {
				want = append(want, text)
			}
		}
		var got []string
		var joined strings.Builder
		events := shown(t, log...)
		for i := range events {
			switch e := &events[i]; e.Type {
			case display.TypeAssistantDelta:
				joined.WriteString(e.Display.Text)
			case display.TypeAssistantReset:
				joined.Reset()
			case display.TypeAssistantCompleted:
				if joined.String() != e.Display.Text {
					rt.Fatalf("the deltas are %q, the message %q", joined.String(), e.Display.Text)
				}
				got = append(got, e.Display.Text)
				joined.Reset()
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("the messages are %q and should be %q", got, want)
		}
	})
}
