package agentruns

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// fake facts of runs.
var facts = runFacts{
	Model: modelUsed{ID: "platform:m", Provider: "openai", VendorModelID: "m"}, Thinks: true,
	Local: map[string]string{"look": "look", "read_file": "read.file"},
}

func recordOf(t interface{ Fatal(args ...any) }, seq int, data event.Data) event.Record {
	r, err := event.NewRecord(event.Event{Seq: uint64(seq), Time: time.Unix(0, 0).UTC(), TurnID: "t", SessionID: "s", Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// told returns the lines that a log becomes, without the model in their ends.
func told(t interface{ Fatal(args ...any) }, log []event.Data) []string {
	tr := newTranslator(facts)
	var lines []string
	for i, data := range log {
		r := recordOf(t, i+1, data)
		frames, err := tr.translateRecord(&r)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			line, err := json.Marshal(f.Payload)
			if err != nil {
				t.Fatal(err)
			}
			text, _, _ := strings.Cut(string(line), `,"tokens"`)
			lines = append(lines, f.Type+" "+text)
		}
	}
	return lines
}

func toolResult1(text string) event.ToolResult {
	return event.ToolResult{Content: []event.Content{{Type: "text", Text: text}}}
}

func TestWhatALogBecomes(t *testing.T) {
	t.Parallel()
	start, step := &event.RunStart{AgentID: "a"}, &event.StepStart{Step: 1}
	call := func(id, name string) *event.ToolCallReady {
		return &event.ToolCallReady{ID: id, Name: name, Arguments: json.RawMessage(`{"a":1}`)}
	}
	complete := func(reason string) *event.InferenceComplete {
		return &event.InferenceComplete{Model: "m", FinishReason: event.FinishReason(reason)}
	}
	ask := &event.InteractionRequest{Request: interaction.Request{ID: "q", CallID: "c", Tool: "read.file", Arguments: json.RawMessage(`{}`), Action: clienttool.Action, Parameters: json.RawMessage(`{"kind":"mcp_local","mcpServer":"fs"}`)}}
	end := func(why event.Termination) *event.RunFinish {
		return &event.RunFinish{Status: why.Status(), Termination: why}
	}
	for name, tt := range map[string]struct {
		log  []event.Data
		want []string
	}{
		"an answer that is begun anew": {
			[]event.Data{start, step, &event.TextDelta{Delta: "no"}, call("x", "look"), &event.StreamReset{}, &event.TextDelta{Delta: "yes"}, complete("stop")},
			[]string{`started {}`, `assistant_delta {"text":"no"}`, `deltas_reset {"fromSeq":2}`, `assistant_delta {"text":"yes"}`, `assistant_message {"text":"yes","turn":0,"finishReason":"end_turn"}`},
		},
		"a call here and one at the client": {
			[]event.Data{start, step, call("c", "read_file"), call("d", "weather"), complete("tool_calls"), ask, ask,
				&event.ToolCallDone{ID: "d", Name: "weather", Outcome: event.CallSucceeded, Result: toolResult1("sun")},
				&event.ToolCallDone{ID: "c", Name: "read_file", Outcome: event.CallSuspended}},
			[]string{
				`started {}`, `assistant_message {"text":"","turn":0,"finishReason":"tool_use","toolCalls":[{"id":"c","name":"read.file","input":{"a":1}},{"id":"d","name":"weather","input":{"a":1}}]}`,
				`tool_call {"toolUseId":"d","name":"weather","input":{"a":1}}`, `local_tool_call {"toolUseId":"c","name":"read.file","args":{},"kind":"mcp_local","mcpServer":"fs"}`,
				`tool_result {"toolUseId":"d","name":"weather","ok":true,"summary":"sun","result":"sun"}`,
			},
		},
		"the answers of the client": {
			[]event.Data{ask, &event.ToolCallResumed{TargetID: "q", Action: "resume", Result: json.RawMessage(`{"result":"r"}`)}, &event.ToolCallDone{ID: "c", Name: "read_file", Outcome: event.CallSucceeded, Result: toolResult1("r")}},
			[]string{`local_tool_call {"toolUseId":"c","name":"read.file","args":{},"kind":"mcp_local","mcpServer":"fs"}`, `local_tool_result_in {"toolUseId":"c","result":"r","output":"r"}`},
		},
		"an id that is used again": {
			[]event.Data{step, call("c", "look"), complete("tool_calls"), &event.InteractionRequest{Request: interaction.Request{ID: "c", CallID: "c", Tool: "look", Action: clienttool.Action}},
				&event.ToolCallResumed{TargetID: "c", Action: "resume", Result: json.RawMessage(`{"error":""}`)}, &event.ToolCallDone{ID: "c", Name: "look", Outcome: event.CallFailed},
				step, call("c", "look"), complete("tool_calls"), &event.ToolCallDone{ID: "c", Name: "look", Outcome: event.CallFailed, Result: toolResult1("again")}},
			[]string{
				`assistant_message {"text":"","turn":0,"finishReason":"tool_use","toolCalls":[{"id":"c","name":"look","input":{"a":1}}]}`,
				`local_tool_call {"toolUseId":"c","name":"look","args":{},"kind":"local"}`, `local_tool_result_in {"toolUseId":"c","error":""}`,
				`assistant_message {"text":"","turn":1,"finishReason":"tool_use","toolCalls":[{"id":"c","name":"look","input":{"a":1}}]}`,
				`tool_result {"toolUseId":"c","name":"look","ok":false,"summary":"again","result":"again"}`,
			},
		},
		"tool turns that are used up": {
			[]event.Data{end(event.Termination{Type: event.BudgetExceeded, Code: "max_rounds"}), end(event.Termination{Type: event.Stopped, Code: "max_rounds"})},
			[]string{`result {"ok":false,"subtype":"error_max_tool_turns","error":"the run used up its tool turns"`, `result {"ok":false,"subtype":"error_max_tool_turns","error":"the run used up its tool turns"`},
		},
		"a run that goes on elsewhere": {
			[]event.Data{start, step, &event.TextDelta{Delta: "be"}, &event.RunStart{AgentID: "a", Resumed: true}, step, &event.TextDelta{Delta: "all"}, complete("stop")},
			[]string{`started {}`, `assistant_delta {"text":"be"}`, `deltas_reset {"fromSeq":2}`, `assistant_delta {"text":"all"}`, `assistant_message {"text":"all","turn":0,"finishReason":"end_turn"}`},
		},
		"a loop without names": {[]event.Data{&event.LoopDetected{Count: 3}}, []string{`loop_detected {"consecutiveCount":3,"hardCutoff":false,"tools":[]}`}},
		"an end within":        {[]event.Data{end(event.Termination{Type: event.Failed, Code: "panic", Detail: "secret"})}, []string{`error {"error":"The run failed","code":"unknown","errorClass":"unknown","retryable":false`}},
		"time":                 {[]event.Data{end(event.Termination{Type: event.BudgetExceeded, Code: "duration"})}, []string{`error {"error":"The run failed","code":"upstream_deadline","errorClass":"upstream_deadline","retryable":true`}},
		"enough":               {[]event.Data{end(event.Termination{Type: event.Canceled})}, []string{`cancelled {"reason":"user"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := told(t, tt.log); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("it becomes\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

// anyData draws an event of a log.
func anyData(rt *rapid.T) event.Data {
	id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "id")
	name := rapid.SampledFrom([]string{"look", "read_file", "weather"}).Draw(rt, "name")
	text := rapid.String().Draw(rt, "text")
	raw, _ := json.Marshal(map[string]string{"result": text}) // a map of texts encodes
	return rapid.SampledFrom([]event.Data{
		&event.RunStart{AgentID: "a"}, &event.StepStart{Step: 1}, &event.TextDelta{Delta: text}, &event.ReasoningDelta{Delta: text}, &event.StreamReset{},
		&event.ToolCallReady{ID: id, Name: name, Arguments: raw}, &event.ToolCallCancel{ID: id},
		&event.InferenceComplete{FinishReason: "stop", Usage: event.Usage{Input: 1}},
		&event.InteractionRequest{Request: interaction.Request{ID: id, CallID: id, Tool: name, Action: clienttool.Action, Parameters: json.RawMessage(`{"kind":"local"}`)}},
		&event.ToolCallResumed{TargetID: id, Action: "resume", Result: raw}, &event.ToolCallDone{ID: id, Name: name, Outcome: event.CallSucceeded, Result: toolResult1(text)},
		&event.LoopDetected{Tools: []string{name}}, &event.ToolBudgetExceeded{Tool: name}, &event.StepEnd{Step: 1},
		&event.RunFinish{Result: &event.Output{Response: text}, Termination: event.Termination{Type: event.NaturalEnd}},
	}).Draw(rt, "data")
}

// TestWhateverIsReadOfALogIsToldTheSame reads any log up to any place, as another
// replica would for a client that comes back.
func TestWhateverIsReadOfALogIsToldTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		log := rapid.SliceOfN(rapid.Custom(anyData), 0, 20).Draw(rt, "log")
		whole, seq := newTranslator(facts), uint64(0)
		var lines bytes.Buffer
		for i, data := range log {
			r := recordOf(rt, i+1, data)
			frames, err := whole.translateRecord(&r)
			if err != nil {
				rt.Fatal(err)
			}
			for _, f := range frames {
				if seq++; f.Seq != seq {
					rt.Fatalf("event %d follows on %d", f.Seq, seq-1)
				}
				if err := f.writeTo(&lines); err != nil {
					rt.Fatal(err)
				}
			}
		}
		after := rapid.Uint64Range(0, seq+1).Draw(rt, "after")
		again, s := newTranslator(facts), &sender{after: after}
		var behind bytes.Buffer
		for i, data := range log {
			r := recordOf(rt, i+1, data)
			frames, err := again.translateRecord(&r)
			if err == nil {
				err = s.addFrames(&behind, frames)
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		var want strings.Builder
		for i, text := range strings.SplitAfter(lines.String(), "\n\n") {
			ends := strings.Contains(text, "event: result\n") || strings.Contains(text, "event: error\n") || strings.Contains(text, "event: cancelled\n")
			if n := uint64(i + 1); n > after || n < after && ends { // a client that claims to have seen more than the end has not seen it
				want.WriteString(text)
			}
		}
		if got := behind.String(); got != want.String() {
			rt.Fatalf("behind %d comes %s", after, got)
		}
		for _, line := range strings.Split(lines.String(), "\n") {
			text, isData := strings.CutPrefix(line, "data: ")
			var fields map[string]any
			if !isData {
				continue
			}
			if err := json.Unmarshal([]byte(text), &fields); err != nil {
				rt.Fatal(err)
			}
			for name, value := range fields["data"].(map[string]any) {
				if !reflect.DeepEqual(fields[name], value) {
					rt.Fatalf("%s differs in %s", name, text)
				}
			}
		}
	})
}

// TestALineIsNeverTooLong gives the longest results, of the characters that are
// longest in JSON.
func TestALineIsNeverTooLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\x01", maxToolResult)
	raw, err := json.Marshal(map[string]string{"result": long})
	if err != nil {
		t.Fatal(err)
	}
	tr := newTranslator(facts)
	var out bytes.Buffer
	for i, data := range []event.Data{
		&event.InteractionRequest{Request: interaction.Request{ID: "q", CallID: "c", Action: clienttool.Action}},
		&event.ToolCallResumed{TargetID: "q", Action: "resume", Result: raw},
		&event.ToolCallDone{ID: "d", Outcome: event.CallSucceeded, Result: toolResult1(long)},
	} {
		r := recordOf(t, i+1, data)
		frames, err := tr.translateRecord(&r)
		if err != nil || len(frames) != 1 {
			t.Fatal(frames, err)
		}
		out.Reset()
		if err := frames[0].writeTo(&out); err != nil || out.Len() > 1<<20 {
			t.Errorf("%s has %d bytes, %v", frames[0].Type, out.Len(), err)
		}
	}
}

func TestTheEndOfARunWhoseLogIsGone(t *testing.T) {
	t.Parallel()
	tr := newTranslator(facts)
	f := tr.outcomeFrame(&event.Outcome{Termination: event.Termination{Type: event.NaturalEnd}, Response: "done", Steps: 2, Usage: event.Usage{Input: 3}})
	if p, ok := f.Payload.(runResult); !ok || *p.Text != "done" || p.Turns != 2 || p.Tokens.Input != 3 || f.Seq != 1 {
		t.Errorf("it is %+v", f)
	}
}

func BenchmarkTranslate(b *testing.B) {
	r := recordOf(b, 1, &event.TextDelta{Delta: "some words of an answer"})
	var out bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		s := &sender{translator: newTranslator(facts)}
		if err := s.writeRecord(&out, &r); err != nil {
			b.Fatal(err)
		}
	}
}
