package agentruns

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const lookRef = `,"tools":[{"kind":"local","name":"look","parameters":{"type":"object"}}]`

func TestARunFromItsBeginToItsEnd(t *testing.T) {
	t.Parallel()
	w := serving(t)
	list := w.events(w.begin("say one two", ""), "")
	if got := kinds(list); got != "started assistant_delta assistant_message result" {
		t.Fatalf("the events are %s", got)
	}
	for i, ev := range list {
		if ev.seq() != i+1 || ev.id != strconv.Itoa(i+1) || ev.event != ev.eventKind() {
			t.Errorf("event %d is %+v", i+1, ev)
		}
		inner, _ := ev.data["data"].(map[string]any)
		for name, value := range inner {
			if !reflect.DeepEqual(ev.data[name], value) {
				t.Errorf("%s: %s is %v at the top and %v below", ev.eventKind(), name, ev.data[name], value)
			}
		}
		if len(inner) != len(ev.data)-3 {
			t.Errorf("%s says %v", ev.eventKind(), ev.data)
		}
	}
	last := list[len(list)-1].data
	if last["ok"] != true || last["subtype"] != "success" || last["text"] != "one two" || last["turns"] != 1.0 {
		t.Errorf("it ends with %v", last)
	}
	want := map[string]any{"inputTokens": 10.0, "cachedTokens": 4.0, "reasoningTokens": 2.0, "outputTokens": 5.0}
	if !reflect.DeepEqual(last["tokens"], want) {
		t.Errorf("it used %v", last["tokens"])
	}
	if model := (map[string]any{"id": "platform:fast", "provider": "openai", "vendorModelId": "gpt-5.5"}); !reflect.DeepEqual(last["model"], model) {
		t.Errorf("it used %v", last["model"])
	}
}

func TestTheClientRunsItsTools(t *testing.T) {
	t.Parallel()
	w := serving(t)
	refs := `,"tools":[{"kind":"local","name":"look"},{"kind":"a2a_local","name":"peer","agentCard":{"name":"P","extra":1}},
		{"kind":"mcp_local","name":"fs","serverInfo":{"name":"files"},"tools":[{"name":"read.file"}]},{"kind":"mantyx","id":"weather"}]`
	calls := map[string]map[string]any{}
	list := w.answered(w.begin("call 4", refs), func(call map[string]any) string {
		name := call["name"].(string)
		calls[name] = call
		switch name {
		case "look":
			return `,"result":"seen"`
		case "peer":
			return `,"error":"no"`
		default:
			return ""
		}
	})
	if c := calls["peer"]; len(calls) != 3 || c["kind"] != "a2a_local" || !reflect.DeepEqual(c["agentCard"], map[string]any{"name": "P", "extra": 1.0}) {
		t.Errorf("it asks %v", calls)
	}
	if c := calls["read.file"]; c["mcpServer"] != "fs" || c["mcpToolName"] != "read.file" || !reflect.DeepEqual(c["mcpServerInfo"], map[string]any{"name": "files"}) {
		t.Errorf("it asks %v", c)
	}
	if c := calls["look"]; c["kind"] != "local" || !reflect.DeepEqual(c["args"], map[string]any{"message": "x"}) {
		t.Errorf("it asks %v", c)
	}
	if last := list[len(list)-1].data; last["text"] != "seen, no, , sunny" || last["turns"] != 2.0 {
		t.Errorf("it ends with %v", last)
	}
	var ins, own []string
	for _, ev := range list {
		switch ev.eventKind() {
		case typeLocalToolResultIn:
			ins = append(ins, ev.data["toolUseId"].(string))
			if ev.data["toolUseId"] == calls["look"]["toolUseId"] && (ev.data["result"] != "seen" || ev.data["output"] != "seen") {
				t.Errorf("it took in %v", ev.data)
			}
		case typeToolCall, typeToolResult:
			own = append(own, ev.eventKind()+" "+ev.data["name"].(string))
		case typeAssistantMessage:
			if n, _ := ev.data["toolCalls"].([]any); ev.data["turn"] == 0.0 && len(n) != 4 {
				t.Errorf("it said %v", ev.data)
			}
		}
	}
	if len(ins) != 3 || !slices.Equal(own, []string{"tool_call weather", "tool_result weather"}) {
		t.Errorf("answers %v, and of its own %v", ins, own)
	}
}

func TestHowRunsEnd(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for name, tt := range map[string]struct {
		order, more string
		kinds       string
		last        map[string]any
		status      string
	}{
		"cut off":        {"cut half a", "", "started assistant_delta assistant_message error", map[string]any{"errorClass": "truncation", "code": "truncation", "finishReason": "max_tokens", "partialText": "half a", "retryable": false, "turns": 1.0}, "failed"},
		"refused":        {"fail unauthorized", "", "started error", map[string]any{"errorClass": "auth", "retryable": false, "turns": 1.0}, "failed"},
		"thoughts":       {"think so", `,"reasoningLevel":"high"`, "started thinking_delta assistant_delta assistant_message result", map[string]any{"text": "so"}, "succeeded"},
		"quiet thoughts": {"think so", "", "started assistant_delta assistant_message result", map[string]any{"text": "so"}, "succeeded"},
		"too many turns": {"again", `,"tools":[{"kind":"mantyx","id":"weather"}],"budgets":{"maxToolTurns":1},"loopDetection":false`, "", map[string]any{"ok": false, "subtype": "error_max_tool_turns"}, "failed"},
		"in circles":     {"again", `,"tools":[{"kind":"mantyx","id":"weather"}]`, "", map[string]any{"ok": true}, "succeeded"},
		"over budget":    {"call 1", `,"tools":[{"kind":"mantyx","id":"weather"}],"toolBudgets":{"weather":{"maxCalls":0}}`, "started assistant_message tool_call tool_result tool_budget_exceeded", nil, "succeeded"},
	} {
		t.Run(name, func(t *testing.T) {
			id := w.begin(tt.order, tt.more)
			list := w.events(id, "")
			last := list[len(list)-1].data
			if got := kinds(list); !strings.HasPrefix(got, tt.kinds) {
				t.Errorf("the events are %s", got)
			}
			for field, want := range tt.last {
				if last[field] != want {
					t.Errorf("%s is %v in %v", field, last[field], last)
				}
			}
			view := w.must(http.StatusOK, http.MethodGet, "/agent-runs/"+id, "")
			if view["status"] != tt.status || !reflect.DeepEqual(view["tokens"], last["tokens"]) || !reflect.DeepEqual(view["model"], last["model"]) || view["turns"] != last["turns"] {
				t.Errorf("it is read as %v", view)
			}
			if name == "in circles" && !strings.Contains(kinds(list), typeLoopDetected) {
				t.Errorf("the events are %s", kinds(list))
			}
		})
	}
}

// TestAStreamIsResumedAtEveryEvent cuts a stream after each event, while the run waits
// and when it has ended.
func TestAStreamIsResumedAtEveryEvent(t *testing.T) {
	t.Parallel()
	w := serving(t)
	id := w.begin("call 1", lookRef)
	var open []wireEvent
	for ev, err := range w.follow(id, "") {
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, ev)
		if ev.eventKind() == typeLocalToolCall {
			break
		}
	}
	for n := range open {
		i := n
		for ev, err := range w.follow(id, "?lastSeq="+strconv.Itoa(n)) {
			if err != nil || !reflect.DeepEqual(ev, open[i]) {
				t.Fatalf("behind %d comes %+v, %v", n, ev, err)
			}
			if i++; i == len(open) {
				break
			}
		}
	}
	w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/tool-results", `{"toolUseId":"`+open[len(open)-1].data["toolUseId"].(string)+`","result":"seen it all"}`)
	all := w.events(id, "")
	if !reflect.DeepEqual(all[:len(open)], open) {
		t.Fatalf("it was told differently: %s", kinds(all))
	}
	for n := range len(all) + 3 {
		want := all[min(n, len(all)):]
		if n > len(all) { // nobody has seen so much: the end is told again
			want = all[len(all)-1:]
		}
		if got := w.events(id, "?lastSeq="+strconv.Itoa(n)); len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("behind %d comes %s", n, kinds(got))
		}
	}
	for query, want := range map[string]int{
		"?lastSeq=x": len(all), "?lastSeq=-1": len(all), "?lastSeq=": len(all), "?lastSeq=1": len(all) - 1,
		"?after=1": len(all) - 1, "?after=x": len(all), "?after=3&lastSeq=1": len(all) - 1, "": len(all) - 2,
	} {
		resp := w.beyond().request(http.MethodGet, "/agent-runs/"+id+"/stream"+query, "", "Last-Event-ID", "2")
		n := 0
		for range eventsOf(resp.Body) {
			n++
		}
		resp.Body.Close()
		if n != want {
			t.Errorf("%s gives %d events", query, n)
		}
	}
	resp := w.request(http.MethodGet, "/agent-runs/"+id+"/stream", "", "Last-Event-ID", "2")
	defer resp.Body.Close()
	for ev := range eventsOf(resp.Body) {
		if ev.seq() != 3 {
			t.Errorf("behind 2 comes %d", ev.seq())
		}
		break
	}
}
