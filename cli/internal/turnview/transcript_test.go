package turnview

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/display"
)

// shownEvent is an event in a test row.
type shownEvent struct {
	typ, data, display string
	private            bool
}

// event returns the event, with its type's default display unless the row has one.
func (e shownEvent) event(t *testing.T, seq uint64) *display.Event {
	t.Helper()
	ev := &display.Event{Seq: seq, Type: e.typ, Visibility: display.Public, Data: json.RawMessage(e.data)}
	if e.private {
		ev.Visibility = display.Private
	}
	if e.display == "" {
		ev.Display = display.For(e.typ, ev.Data)
		return ev
	}
	ev.Display = new(display.Display)
	if err := json.Unmarshal([]byte(e.display), ev.Display); err != nil {
		t.Fatal(err)
	}
	display.Normalize(e.typ, ev.Display)
	return ev
}

func TestTheLinesOfATranscript(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		events []shownEvent
		want   string
	}{
		"a turn begins":               {[]shownEvent{{typ: "turn.started", data: `{"status":"running"}`}}, "turn> started (running)\n"},
		"a turn begins without words": {[]shownEvent{{typ: "turn.started", data: `{}`}}, "turn> started\n"},
		"a turn ends":                 {[]shownEvent{{typ: "turn.completed", data: `{"status":"succeeded","steps":2,"usage":{"input_tokens":3,"output_tokens":1}}`}}, "turn> completed (2 steps, 4 tokens (3 in, 1 out))\n"},
		"a turn ends by its display":  {[]shownEvent{{typ: "turn.completed", data: `{}`, display: `{"kind":"status","phase":"completed","label":"turn","text":"done"}`}}, "turn> completed (done)\n"},
		"a turn fails":                {[]shownEvent{{typ: "turn.failed", data: `{"error":"no model","status":"failed"}`}}, "error> no model\n"},
		"a turn is canceled":          {[]shownEvent{{typ: "turn.canceled", data: `{"reason":"operator interrupted"}`}}, "turn> canceled (operator interrupted)\n"},
		"a turn waits":                {[]shownEvent{{typ: "turn.waiting", data: `{}`, display: `{"kind":"status","phase":"progress","label":"turn","text":"waiting for input"}`}}, "turn> waiting for input\n"},
		"a tool begins":               {[]shownEvent{{typ: "tool.started", data: `{"tool_name":"lookup","tool_call_id":"c1","arguments":{"q":1}}`}}, "tool> Running lookup {\"q\":1}\n"},
		"a tool ends":                 {[]shownEvent{{typ: "tool.completed", data: `{"tool_name":"lookup","status":200,"output":{"a":[1]}}`}}, "tool> Ran lookup (200) {\"a\":[1]}\n"},
		"a tool ends with an error":   {[]shownEvent{{typ: "tool.completed", data: `{"tool_name":"lookup","status":500,"error":"no"}`}}, "tool> Ran lookup (500): \"no\"\n"},
		"a tool fails":                {[]shownEvent{{typ: "tool.failed", data: `{"tool_name":"lookup","error":{"m":1}}`}}, "tool> Failed lookup: {\"m\":1}\n"},
		"a tool without an action":    {[]shownEvent{{typ: "x", data: `{}`, display: `{"kind":"tool","phase":"completed","label":"lookup","text":"200","output":{"a":1}}`}}, "tool> Ran lookup (200) {\"a\":1}\n"},
		"a tool without a name":       {[]shownEvent{{typ: "x", data: `{}`, display: `{"kind":"tool","phase":"started","ref":"c1"}`}}, "tool> Running c1\n"},
		"a tool goes on":              {[]shownEvent{{typ: "tool.progress", data: `{}`, display: `{"kind":"tool","phase":"progress","label":"lookup","text":"half"}`}}, "tool> Running lookup: half\n"},
		"a tool is canceled":          {[]shownEvent{{typ: "x", data: `{}`, display: `{"kind":"tool","phase":"canceled","label":"lookup","text":"late"}`}}, "tool> Canceled lookup: late\n"},
		"a question":                  {[]shownEvent{{typ: "interaction.requested", data: `{"interaction_id":"i1"}`}, {typ: "interaction.resolved", data: `{"interactionId":"i1"}`}}, "interaction> requested (i1)\ninteraction> resolved (i1)\n"},
		"deltas after one prefix":     {[]shownEvent{{typ: "assistant.delta", data: `{"text":"Hello"}`}, {typ: "assistant.delta", data: `{"text":" my_var "}`}, {typ: "assistant.completed", data: `{"text":"Hello my_var "}`}}, "assistant> Hello my_var \n"},
		"a whole text":                {[]shownEvent{{typ: "assistant.completed", data: `{"text":"a **b** c_d_e"}`}}, "assistant> a **b** c_d_e\n"},
		"an empty text":               {[]shownEvent{{typ: "assistant.completed", data: `{"text":""}`}}, ""},
		"two texts":                   {[]shownEvent{{typ: "assistant.delta", data: `{"text":"a"}`}, {typ: "assistant.completed", data: `{"text":"a"}`}, {typ: "assistant.completed", data: `{"text":"b"}`}}, "assistant> a\nassistant> b\n"},
		"thoughts before the answer":  {[]shownEvent{{typ: "reasoning.delta", data: `{}`, display: `{"kind":"reasoning","phase":"delta","text":"hm"}`}, {typ: "assistant.delta", data: `{"text":"a"}`}}, "reasoning> hm\nassistant> a\n"},
		"a call within a text":        {[]shownEvent{{typ: "assistant.delta", data: `{"text":"a"}`}, {typ: "tool.started", data: `{"tool_name":"x"}`}}, "assistant> a\ntool> Running x\n"},
		"an unknown type":             {[]shownEvent{{typ: "vendor.thing", data: `{"a":1}`}}, "event> vendor.thing (seq=1) {\"a\":1}\n"},
		"an unknown type, shown":      {[]shownEvent{{typ: "vendor.thing", data: `{}`, display: `{"kind":"status","phase":"progress","label":"vendor","text":"at work"}`}}, "turn> vendor: at work\n"},
		"a display before the data":   {[]shownEvent{{typ: "assistant.completed", data: `{"text":"raw"}`, display: `{"kind":"text","phase":"completed","text":"shown"}`}}, "assistant> shown\n"},
		"an unknown kind":             {[]shownEvent{{typ: "assistant.completed", data: `{"text":"raw"}`, display: `{"kind":"picture","phase":"completed","text":"shown"}`}}, "assistant> raw\n"},
		"an unknown phase":            {[]shownEvent{{typ: "tool.started", data: `{"tool_name":"x"}`, display: `{"kind":"tool","phase":"later"}`}}, "tool> Running x\n"},
		"a phase of another kind":     {[]shownEvent{{typ: "vendor.thing", data: `{}`, display: `{"kind":"text","phase":"requested","text":"a"}`}}, "event> vendor.thing (seq=1) {}\n"},
		"an empty display":            {[]shownEvent{{typ: "vendor.thing", data: `{"a":1}`, display: `{}`}}, "event> vendor.thing (seq=1) {\"a\":1}\n"},
		"a private event":             {[]shownEvent{{typ: "vendor.thing", data: `{}`, private: true}}, ""},
		"a private event, shown":      {[]shownEvent{{typ: "vendor.thing", data: `{}`, display: `{"kind":"text","phase":"completed","text":"secret"}`, private: true}}, ""},
		"a private event of a turn":   {[]shownEvent{{typ: "assistant.completed", data: `{"text":"secret"}`, private: true}}, ""},
		"lines of somebody else":      {[]shownEvent{{typ: "turn.canceled", data: `{"reason":"a\nerror> b\u001b[2J"}`}}, "turn> canceled (" + terminal.OneLine("a\nerror> b\x1b[2J") + ")\n"},
		"a hidden value in a call":    {[]shownEvent{{typ: "tool.started", data: `{"tool_name":"x","arguments":{"key":"hunter2"}}`}}, "tool> Running x {\"key\":\"[redacted]\"}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			shown := &Transcript{out: &out, redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }}
			shown.Begin()
			for i, e := range tt.events {
				shown.show(e.event(t, uint64(i+1)))
			}
			if err := shown.Close(); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != tt.want {
				t.Errorf("the transcript is\n%s\nand should be\n%s", got, tt.want)
			}
		})
	}
}

// TestATranscriptEndsWithTheAnswer also covers turns whose log lacks their texts.
func TestATranscriptEndsWithTheAnswer(t *testing.T) {
	t.Parallel()
	const end = "turn> completed (1 step)\n"
	for name, tt := range map[string]struct {
		answer string
		before []event.Data
		want   string
	}{
		"a text that was not shown":       {"Done.", nil, "assistant> Done.\n" + end},
		"a text that was shown":           {"Done.", []event.Data{&event.TextDelta{Delta: "Done."}}, "assistant> Done.\n" + end},
		"an object that was not shown":    {`{"a":1}`, nil, "structured> {\n  \"a\": 1\n}\n" + end},
		"an object that was shown":        {`{"a":1}`, []event.Data{&event.TextDelta{Delta: `{"a":1}`}}, "assistant> {\"a\":1}\nstructured> {\n  \"a\": 1\n}\n" + end},
		"a list":                          {"[1,2]\n", nil, "structured> [\n  1,\n  2\n]\n" + end},
		"what only begins like an object": {"{a", nil, "assistant> {a\n" + end},
		"no answer":                       {"", nil, end},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			shown := &Transcript{out: &out, redact: func(s string) string { return s }}
			shown.Begin()
			finish := &event.RunFinish{Termination: event.Termination{Type: event.NaturalEnd}, Result: &event.Output{Response: tt.answer}, Steps: 1}
			for _, data := range append(tt.before, finish) {
				shown.Emit(event.Event{Data: data})
			}
			if err := shown.Close(); err != nil || out.String() != tt.want {
				t.Errorf("the transcript is\n%s\nand should be\n%s\n%v", out.String(), tt.want, err)
			}
		})
	}
}
