package agentruns

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// hugeLog is a log in which every event that a run tells of says more than a frame
// holds, with characters that are long in JSON.
func hugeLog(text string) []event.Data {
	raw, _ := json.Marshal(map[string]any{"a": text, "list": strings.Split(text, "")[:1000]}) // texts encode
	names := strings.Split(strings.Repeat("tool,", 300_000), ",")
	return []event.Data{
		&event.RunStart{AgentID: "a"}, &event.StepStart{Step: 1},
		&event.ToolCallReady{ID: "c", Name: "weather", Arguments: raw}, &event.ToolCallReady{ID: "d", Name: "look", Arguments: raw},
		&event.TextDelta{Delta: text}, &event.ReasoningDelta{Delta: text}, &event.InferenceComplete{FinishReason: "tool_calls"},
		&event.InteractionRequest{Request: interaction.Request{ID: "p", CallID: "c", Tool: "weather", Arguments: raw, Action: "tool:PermissionConfirm", Message: text, Parameters: raw, ResponseSchema: raw}},
		&event.ToolCallResumed{TargetID: "p", Action: "resume", Result: raw},
		&event.InteractionRequest{Request: interaction.Request{ID: "q", CallID: "q", Tool: "choose", Action: "ask:question", Message: text, Parameters: raw, ResponseSchema: raw}},
		&event.InteractionRequest{Request: interaction.Request{ID: "e", CallID: "d", Tool: "look", Action: clienttool.Action, Arguments: json.RawMessage(`{}`), Parameters: json.RawMessage(`{"kind":"a2a_local","agentCard":` + string(raw) + `}`)}},
		&event.ToolCallResumed{TargetID: "e", Action: "resume", Result: raw},
		&event.ToolCallDone{ID: "c", Name: "weather", Outcome: event.CallSucceeded, Result: toolResult1(text)},
		&event.LoopDetected{Count: 3, Tools: names}, &event.ToolBudgetExceeded{Tool: text},
		&event.StepStart{Step: 2}, &event.TextDelta{Delta: "x"}, &event.StreamReset{},
	}
}

// TestNoEventIsLargerThanAFrame tells logs of which every event says too much.
func TestNoEventIsLargerThanAFrame(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"control": strings.Repeat("\x01", 1<<20), "wide": strings.Repeat("界", 1<<20), "markup": strings.Repeat("<", 200<<10)} {
		ends := []event.Data{
			&event.RunFinish{Result: &event.Output{Response: text}, Termination: event.Termination{Type: event.NaturalEnd}},
			&event.RunFinish{Result: &event.Output{Response: text}, FinishReason: model.FinishMaxTokens, Termination: event.Termination{Type: event.NaturalEnd}},
			&event.RunFinish{Termination: event.Termination{Type: event.Failed, Code: "provider", Detail: text}},
			&event.RunFinish{Termination: event.Termination{Type: event.Canceled}},
		}
		tr, seen := newTranslator(facts), map[string]bool{}
		for i, data := range append(hugeLog(text), ends...) {
			r := recordOf(t, i+1, data)
			frames, err := tr.translateRecord(&r)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range frames {
				var out bytes.Buffer
				size := server.MaxFrame
				if f.isTerminal() {
					size = server.MaxLastFrame
				}
				if err := f.writeTo(&out); err != nil || out.Len() > size {
					t.Errorf("%s: %s has %d bytes, %v", name, f.Type, out.Len(), err)
				}
				seen[f.Type] = true
				var line struct {
					Truncated bool           `json:"truncated"`
					Text      string         `json:"text"`
					Data      map[string]any `json:"data"`
				}
				_, encoded, _ := strings.Cut(out.String(), "\ndata: ")
				if err := json.Unmarshal([]byte(encoded), &line); err != nil {
					t.Fatalf("%s: %s: %v", name, f.Type, err)
				}
				if said, _ := line.Data["text"].(string); said != line.Text || line.Truncated != reflect.DeepEqual(line.Data["truncated"], true) {
					t.Errorf("%s: %s differs in its two forms", name, f.Type)
				}
				if f.Type == typeLocalToolCall && line.Truncated && line.Data["kind"] == "a2a_local" {
					t.Errorf("%s: a call of the client is cut off", name)
				}
				if f.Type == typeResult && name == "wide" && line.Text != text {
					t.Errorf("%s: the result has %d bytes of %d", name, len(line.Text), len(text))
				}
			}
		}
		for kind := range payloadFields {
			if !seen[kind] {
				t.Errorf("no event is a %s", kind)
			}
		}
	}
}

// TestACutOffAnswerIsSeenOnce shows deltas as the page says, from every place of a log
// whose answer breaks off twice.
func TestACutOffAnswerIsSeenOnce(t *testing.T) {
	t.Parallel()
	log := []event.Data{
		&event.RunStart{AgentID: "a"}, &event.StepStart{Step: 1}, &event.TextDelta{Delta: "on"}, &event.TextDelta{Delta: "ce "},
		&event.RunStart{AgentID: "a", Resumed: true}, &event.StepStart{Step: 1}, &event.TextDelta{Delta: "once up"}, &event.StreamReset{},
		&event.TextDelta{Delta: "once "}, &event.TextDelta{Delta: "upon"}, &event.InferenceComplete{FinishReason: "stop"},
		&event.StepStart{Step: 2}, &event.TextDelta{Delta: " a time"}, &event.InferenceComplete{FinishReason: "stop"},
	}
	tr, shown := newTranslator(facts), map[uint64]string{}
	for i, data := range log {
		r := recordOf(t, i+1, data)
		frames, err := tr.translateRecord(&r)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			switch p := f.Payload.(type) {
			case assistantDelta:
				shown[f.Seq] = p.Text
			case deltasReset:
				for seq := p.FromSeq; seq < f.Seq; seq++ {
					delete(shown, seq)
				}
			}
		}
	}
	whole := ""
	for seq := range tr.seq + 1 {
		whole += shown[seq]
	}
	if whole != "once upon a time" {
		t.Errorf("the client shows %q", whole)
	}
}
