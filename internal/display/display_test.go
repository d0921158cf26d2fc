package display_test

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/internal/display"
	"pgregory.net/rapid"
)

func TestTheDisplayOfEventsThatCameWithoutOne(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ typ, data, want string }{
		"delta":                       {"assistant.delta", `{"text":" world "}`, `{"kind":"text","phase":"delta","text":" world ","format":"markdown"}`},
		"delta of the older type":     {"agent.message.delta", `{"delta":"a"}`, `{"kind":"text","phase":"delta","text":"a","format":"markdown"}`},
		"delta by its content":        {"assistant.delta", `{"text":null,"content":"a"}`, `{"kind":"text","phase":"delta","text":"a","format":"markdown"}`},
		"the first name that is set":  {"assistant.delta", `{"text":"","delta":"a"}`, ``},
		"delta of a number":           {"assistant.delta", `{"text":1.50}`, `{"kind":"text","phase":"delta","text":"1.50","format":"markdown"}`},
		"empty delta":                 {"assistant.delta", `{}`, ``},
		"completed":                   {"assistant.completed", `{"text":"a\n"}`, `{"kind":"text","phase":"completed","text":"a\n","format":"markdown"}`},
		"completed without a text":    {"assistant.completed", `{"delta":"a"}`, `{"kind":"text","phase":"completed","format":"markdown"}`},
		"tool started":                {"tool.started", `{"tool_name":"lookup","tool_call_id":"c1","arguments":{"q":1}}`, `{"kind":"tool","phase":"started","label":"lookup","ref":"c1","input":{"q":1},"action":"Running"}`},
		"tool by its older names":     {"tool.started", `{"toolId":"x","callId":"c","parentCallId":"p","request":"r"}`, `{"kind":"tool","phase":"started","label":"x","ref":"c","parentRef":"p","input":"r","action":"Running"}`},
		"preview before arguments":    {"tool.started", `{"name":"x","inputPreview":"…","arguments":{}}`, `{"kind":"tool","phase":"started","label":"x","input":"…","action":"Running"}`},
		"tool without a name":         {"tool.started", `{"tool_name":"  "}`, `{"kind":"tool","phase":"started","label":"tool","action":"Running"}`},
		"tool completed":              {"tool.completed", `{"tool_name":"x","status":200,"output":{"a":[1]},"error":"e"}`, `{"kind":"tool","phase":"completed","text":"200","label":"x","output":{"a":[1]},"error":"e","action":"Ran"}`},
		"message before status":       {"tool.completed", `{"tool_name":"x","message":" fine ","status":"ok"}`, `{"kind":"tool","phase":"completed","text":"fine","label":"x","action":"Ran"}`},
		"empty message":               {"tool.completed", `{"tool_name":"x","text":"","status":"","statusCode":204}`, `{"kind":"tool","phase":"completed","text":"204","label":"x","action":"Ran"}`},
		"output by the name of body":  {"tool.completed", `{"tool_name":"x","body":"b","result":null}`, `{"kind":"tool","phase":"completed","label":"x","output":"b","action":"Ran"}`},
		"tool failed":                 {"tool.failed", `{"tool_name":"x","error":"no"}`, `{"kind":"tool","phase":"failed","text":"no","label":"x","error":"no","action":"Failed"}`},
		"tool failed with an object":  {"tool.failed", `{"tool_name":"x","error":{"m": 1}}`, `{"kind":"tool","phase":"failed","text":"{\"m\":1}","label":"x","error":{"m": 1},"action":"Failed"}`},
		"interaction requested":       {"interaction.requested", `{"interaction_id":"i"}`, `{"kind":"interaction","phase":"requested","label":"interaction","ref":"i"}`},
		"interaction resolved":        {"interaction.resolved", `{"interactionId":"i"}`, `{"kind":"interaction","phase":"resolved","label":"interaction","ref":"i"}`},
		"turn started":                {"turn.started", `{"status":"running"}`, `{"kind":"status","phase":"started","text":"running","label":"turn"}`},
		"turn failed":                 {"turn.failed", `{"message":"m","status":"failed"}`, `{"kind":"error","phase":"failed","text":"m","label":"turn"}`},
		"turn canceled":               {"turn.canceled", `{"status":"canceled"}`, `{"kind":"status","phase":"canceled","text":"canceled","label":"turn"}`},
		"turn completed":              {"turn.completed", `{"status":"succeeded"}`, ``},
		"progress":                    {"tool.progress", `{"text":"a"}`, ``},
		"message":                     {"assistant.message", `{"text":"a"}`, ``},
		"reasoning":                   {"reasoning.delta", `{"text":"a"}`, ``},
		"another type":                {"x", `{"text":"a"}`, ``},
		"data that is not an object":  {"turn.started", `[1]`, `{"kind":"status","phase":"started","label":"turn"}`},
		"data that is not there":      {"turn.started", ``, `{"kind":"status","phase":"started","label":"turn"}`},
		"data that is no JSON at all": {"assistant.delta", `{"text":`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if d := display.For(tt.typ, json.RawMessage(tt.data)); d != nil {
				encoded, err := json.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				got = string(encoded)
			}
			if !sameJSON(t, got, tt.want) {
				t.Errorf("the display is\n%s\nand should be\n%s", got, tt.want)
			}
		})
	}
}

func TestADisplayThatCameWithAnEventIsTidiedAlone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ typ, given, want string }{
		"nothing":           {"assistant.delta", `{}`, `{}`},
		"words":             {"x", `{"kind":" status ","phase":"\tstarted","text":" a "}`, `{"kind":"status","phase":"started","text":" a "}`},
		"a tool at work":    {"x", `{"kind":"tool","phase":"progress"}`, `{"kind":"tool","phase":"progress","action":"Running"}`},
		"a tool that ended": {"x", `{"kind":"tool","phase":"canceled","label":"l"}`, `{"kind":"tool","phase":"canceled","label":"l","action":"Canceled"}`},
		"a word of its own": {"x", `{"kind":"tool","phase":"completed","action":" Read "}`, `{"kind":"tool","phase":"completed","action":"Read"}`},
		"no such phase":     {"x", `{"kind":"tool","phase":"later"}`, `{"kind":"tool","phase":"later"}`},
		"text":              {"assistant.completed", `{"kind":"text"}`, `{"kind":"text","format":"markdown"}`},
		"text elsewhere":    {"x", `{"kind":"text"}`, `{"kind":"text"}`},
		"text that is JSON": {"assistant.delta", `{"kind":"text","format":"json"}`, `{"kind":"text","format":"json"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var d display.Display
			if err := json.Unmarshal([]byte(tt.given), &d); err != nil {
				t.Fatal(err)
			}
			display.Normalize(tt.typ, &d)
			got, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("the display is %s and should be %s", got, tt.want)
			}
		})
	}
}

func TestPropertyDeltasLoseNoCharacter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		data, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		for _, typ := range []string{display.TypeAssistantDelta, display.TypeAssistantCompleted} {
			got := ""
			if d := display.For(typ, data); d != nil {
				got = d.Text
			}
			var want string
			if err := json.Unmarshal([]byte(quote(t, text)), &want); err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Fatalf("%s shows %q of %q", typ, got, want)
			}
		}
	})
}

func FuzzDisplay(f *testing.F) {
	f.Add("tool.completed", []byte(`{"tool_name":"x","output":{"a":1},"status":200}`))
	f.Add("assistant.delta", []byte(`{"text":"a"}`))
	f.Add("turn.failed", []byte(`{"error":[null]}`))
	f.Fuzz(func(t *testing.T, typ string, data []byte) {
		d := display.For(typ, data)
		if d == nil {
			return
		}
		encoded, err := json.Marshal(d)
		if err != nil {
			t.Fatalf("the display of %q cannot be encoded: %v", data, err)
		}
		var again display.Display
		if err := json.Unmarshal(encoded, &again); err != nil {
			t.Fatal(err)
		}
		display.Normalize(typ, d)
	})
}

// quote returns a text as in JSON: invalid UTF-8 is replaced.
func quote(t *rapid.T, text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// sameJSON reports whether two texts are the same JSON or both empty.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	if a == "" || b == "" {
		return a == b
	}
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	xs, _ := json.Marshal(x) // it was JSON
	ys, _ := json.Marshal(y)
	return string(xs) == string(ys)
}
