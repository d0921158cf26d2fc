package agentruns

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// payloadFields are the fields of each event: those that it always has and, after the
// bar, those that it may have.
var payloadFields = map[string]string{
	typeStarted:            "",
	typeAssistantDelta:     "text",
	typeThinkingDelta:      "text",
	typeDeltasReset:        "fromSeq",
	typeAssistantMessage:   "finishReason text turn | toolCalls",
	typeToolCall:           "input name toolUseId",
	typeToolResult:         "name ok result summary toolUseId",
	typeLocalToolCall:      "args kind name toolUseId | agentCard mcpServer mcpServerInfo mcpToolName",
	typeLocalToolResultIn:  "toolUseId | error output result",
	typeInteraction:        "action interactionId message | args name parameters responseSchema toolUseId",
	typeResolved:           "action interactionId | result toolUseId",
	typeLoopDetected:       "consecutiveCount hardCutoff tools",
	typeToolBudgetExceeded: "callIndex maxCalls tool",
	typeResult:             "model ok subtype tokens turns | error text",
	typeError:              "code error errorClass model retryable tokens turns | finishReason partialText subtype",
	typeCanceled:           "reason",
}

// checkPayloads fails the test if an event has other fields than it should, or if a
// turn of the model is not reported exactly once and before its calls.
func checkPayloads(t *testing.T, list []wireEvent) {
	t.Helper()
	turn, open := 0, map[any]bool{}
	for i, ev := range list {
		always, maybe, _ := strings.Cut(payloadFields[ev.eventKind()], "|")
		has := slices.Sorted(maps.Keys(ev.data["data"].(map[string]any)))
		for _, name := range strings.Fields(always) {
			if !slices.Contains(has, name) {
				t.Errorf("%s has no %s", ev.eventKind(), name)
			}
		}
		for _, name := range has {
			if _, known := payloadFields[ev.eventKind()]; !known || !slices.Contains(strings.Fields(always+maybe), name) {
				t.Errorf("%s has %s", ev.eventKind(), name)
			}
		}
		switch d := ev.data; ev.eventKind() {
		case typeAssistantMessage:
			if d["turn"] != float64(turn) {
				t.Errorf("turn %d is told as %v", turn, d["turn"])
			}
			turn++
			calls, _ := d["toolCalls"].([]any)
			if _, has := d["toolCalls"]; has && len(calls) == 0 {
				t.Error("a message without calls lists them")
			}
			for _, c := range calls {
				open[c.(map[string]any)["id"]] = true
			}
		case typeToolCall, typeLocalToolCall, typeToolResult, typeLocalToolResultIn, typeInteraction, typeResolved:
			if !open[d["toolUseId"]] {
				t.Errorf("%s of %v comes ahead of its message", ev.eventKind(), d["toolUseId"])
			}
		}
		terminal := slices.Contains([]string{typeResult, typeError, typeCanceled}, ev.eventKind())
		if terminal != (i == len(list)-1) {
			t.Errorf("event %d of %d is a %s", i+1, len(list), ev.eventKind())
		}
		if text := fmt.Sprint(ev.data); strings.Contains(text, "final_report") || strings.Contains(text, "set_model_response") {
			t.Errorf("it tells %s", text)
		}
	}
}

const (
	weatherRef = `{"kind":"mantyx","id":"weather"}`
	bothRefs   = `,"tools":[{"kind":"local","name":"look"},` + weatherRef + `]`
)

// TestTheEventsOfAllKinds holds which events come in which order.
func TestTheEventsOfAllKinds(t *testing.T) {
	t.Parallel()
	w := serving(t)
	look, server := `,"tools":[{"kind":"local","name":"look"}]`, `,"tools":[`+weatherRef+`]`
	for name, tt := range map[string]struct {
		order, more, answer string
		want                string
	}{
		"thoughts":             {"think so", `,"reasoningLevel":1`, "", "started thinking_delta assistant_delta assistant_message result"},
		"a tool here":          {"call 1", server, "", "started assistant_message tool_call tool_result assistant_delta assistant_message result"},
		"a tool of the client": {"call 1", look, `,"result":"x"`, "started assistant_message local_tool_call local_tool_result_in assistant_delta assistant_message result"},
		"one that fails":       {"call 1", look, `,"error":"down"`, "started assistant_message local_tool_call local_tool_result_in assistant_delta assistant_message result"},
		"a loop that is steered, and cut": {
			"again", look + `,"loopDetection":{"consecutiveThreshold":2,"hardCutoffThreshold":4}`, `,"result":"x"`,
			"started assistant_message local_tool_call local_tool_result_in assistant_message tool_result loop_detected assistant_message tool_result assistant_message tool_result loop_detected assistant_delta assistant_message result",
		},
		"a loop of the server": {
			"again", server + `,"loopDetection":{"consecutiveThreshold":2,"hardCutoffThreshold":3}`, "",
			"started assistant_message tool_call tool_result assistant_message tool_call tool_result loop_detected assistant_message tool_call tool_result loop_detected assistant_delta assistant_message result",
		},
		"a budget that is used up": {
			"again", look + `,"loopDetection":false,"toolBudgets":{"look":{"maxCalls":1}},"budgets":{"maxToolTurns":2}`, `,"result":"x"`,
			"started assistant_message local_tool_call local_tool_result_in assistant_message tool_result tool_budget_exceeded assistant_message tool_result result",
		},
		"no calls at all": {
			"call 1", look + `,"toolBudgets":{"look":{"maxCalls":0}}`, "",
			"started assistant_message tool_result tool_budget_exceeded assistant_delta assistant_message result",
		},
		"tool turns that are used up": {
			"again", server + `,"budgets":{"maxToolTurns":1},"loopDetection":false`, "",
			"started assistant_message tool_call tool_result assistant_message tool_call tool_result result",
		},
		"an answer in place of them": {
			"again", server + `,"budgets":{"maxToolTurns":1,"maxToolTurnsExceeded":"finalize"},"loopDetection":false`, "",
			"started assistant_message tool_call tool_result assistant_delta assistant_message result",
		},
		"a last answer that is cut off": {"cut half a", "", "", "started assistant_delta assistant_message error"},
		"a call that failed":            {"fail overloaded", "", "", "started error"},
		"a form":                        {"say {}", `,"outputSchema":{"schema":{"type":"object"}}`, "", "started assistant_delta assistant_message result"},
	} {
		t.Run(name, func(t *testing.T) {
			list := w.answered(w.begin(tt.order, tt.more), func(map[string]any) string { return tt.answer })
			checkPayloads(t, list)
			if got := deltasAsOne(kinds(list)); got != tt.want {
				t.Errorf("the events are\n%s, not\n%s", got, tt.want)
			}
			for _, ev := range list {
				text := fmt.Sprint(ev.data["text"])
				if ev.eventKind() == typeAssistantDelta && strings.Contains(text, "final answer") {
					t.Errorf("the client reads %q", text)
				}
			}
		})
	}
}

// deltasAsOne counts deltas that follow each other as one.
func deltasAsOne(kinds string) string {
	return strings.Join(slices.Compact(strings.Fields(kinds)), " ")
}

func TestWhatGuardsTell(t *testing.T) {
	t.Parallel()
	w := serving(t)
	list := w.answered(w.begin("again", `,"tools":[{"kind":"mcp_local","name":"fs","tools":[{"name":"read.file"}]}],"loopDetection":{"consecutiveThreshold":2,"hardCutoffThreshold":3}`), func(map[string]any) string { return `,"result":"x"` })
	var loops []string
	for _, ev := range list {
		if ev.eventKind() == typeLoopDetected {
			loops = append(loops, fmt.Sprint(ev.data["consecutiveCount"], ev.data["hardCutoff"], ev.data["tools"]))
		}
	}
	if want := []string{"2 false [read.file]", "3 true [read.file]"}; !slices.Equal(loops, want) {
		t.Errorf("it tells of %q", loops)
	}
	if last := list[len(list)-1].data; last["text"] != "in the end" || last["turns"] != 4.0 {
		t.Errorf("it ends with %v", last)
	}
	list = w.events(w.begin("again", `,"tools":[`+weatherRef+`],"loopDetection":false,"toolBudgets":{"weather":{"maxCalls":1}},"budgets":{"maxToolTurns":3}`), "")
	var budgets []string
	for i, ev := range list {
		if ev.eventKind() == typeToolBudgetExceeded {
			budgets = append(budgets, fmt.Sprint(ev.data["tool"], ev.data["maxCalls"], ev.data["callIndex"], list[i-1].data["ok"]))
		}
	}
	if want := []string{"weather1 2 false", "weather1 3 false"}; !slices.Equal(budgets, want) {
		t.Errorf("it tells of %q", budgets)
	}
}

// TestACanceledRunTellsNothingMore cancels runs that work, wait and are queued.
func TestACanceledRunTellsNothingMore(t *testing.T) {
	t.Parallel()
	w := serving(t)
	id := w.begin("hang", bothRefs)
	for ev, err := range w.follow(id, "") {
		if err != nil {
			t.Fatal(err)
		}
		if ev.eventKind() == typeAssistantDelta {
			w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/cancel", "")
		}
	}
	list := w.events(id, "")
	checkPayloads(t, list)
	if got := kinds(list); got != "started assistant_delta cancelled" || list[2].data["reason"] != "user" {
		t.Errorf("the events are %s", got)
	}
}
