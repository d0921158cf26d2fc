package agentruns

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/spec"
)

// TestNothingThatWasAskedForIsDroppedSilently sends what has no effect: misspelled
// fields are refused, and the others are named in the answer.
func TestNothingThatWasAskedForIsDroppedSilently(t *testing.T) {
	t.Parallel()
	w := serving(t, func(s *setup) {
		s.more = func(b *builder.AgentRuntimeBuilder) {
			b.WithAgentSpec(spec.Agent{ID: "prompted", Description: "Has a prompt.", ModelID: "fast", SystemPrompt: "stored"})
		}
	})
	session := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", `{"agentId":"clerk"}`)["sessionId"].(string)
	const runs, sessions = "/agent-runs", "/agent-sessions"
	messages := sessions + "/" + session + "/messages"
	for _, tt := range []struct{ path, body, warned, refused string }{
		{runs, `{"agentId":"clerk","prompt":"say hi"}`, "", ""},
		{runs, `{"agentId":"clerk","prompt":"say hi","files":[{}],"supervisor":null,"verbose":null}`, "files", ""},
		{runs, `{"agentId":"clerk","prompt":"say hi","attachments":[]}`, "", "attachments is not supported"},
		{runs, `{"agentId":"clerk","prompt":"say hi","plan":true}`, "", "plan is not supported"},
		{runs, `{"agentId":"clerk","prompt":"say hi","plan": "off" ,"supervisor":false}`, "", ""},
		{messages, `{"prompt":"say hi","plan":false,"supervisor":false}`, "", ""},
		{runs, `{"agentId":"clerk","prompt":"say hi","supervisor":{"agentId":"clerk"}}`, "", "supervisor is not supported"},
		{runs, `{"agentId":"clerk","prompt":"say hi","fallbackModelId":"fast"}`, "", "fallbackModelId is not supported"},
		{sessions, `{"agentId":"clerk","fallbackModelId":"fast"}`, "", "fallbackModelId is not supported"},
		{messages, `{"prompt":"say hi","attachments":[{"url":"https://x.example"}]}`, "", "attachments is not supported"},
		{runs, `{"agentId":"clerk","prompt":"say hi","sistemPrompt":"x"}`, "", `sistemPrompt is not known; did you mean "systemPrompt"?`},
		{runs, `{"agentId":"clerk","message":"x","prompt":"say hi"}`, "", `message is not known; did you mean "messages"?`},
		{runs, `{"agentId":"clerk","prompt":"say hi","budgets":{"maxToolTurn":1}}`, "", `budgets.maxToolTurn is not known; did you mean "maxToolTurns"?`},
		{runs, `{"agentId":"clerk","prompt":"say hi","budgets":{"dollars":1}}`, "budgets.dollars", ""},
		{runs, `{"agentId":"clerk","prompt":"say hi","toolBudgets":{"x":{"maxCall":1,"maxCalls":1}}}`, "", `toolBudgets.x.maxCall is not known; did you mean "maxCalls"?`},
		{runs, `{"agentId":"clerk","prompt":"say hi","loopDetection":{"hardCutofThreshold":9}}`, "", `did you mean "hardCutoffThreshold"?`},
		{runs, `{"agentId":"clerk","prompt":"say hi","outputSchema":{"schema":{},"strict":true}}`, "outputSchema.strict", ""},
		{runs, `{"agentId":"clerk","messages":[{"role":"user","content":"say hi","id":"1"},{"role":"user","content":"say hi","id":"2"}]}`, "messages[].id", ""},
		{runs, `{"agentId":"prompted","systemPrompt":"Mine.","prompt":"say hi"}`, "systemPrompt", ""},
		{runs, `{"agentId":"clerk","prompt":"say hi","agentId":"prompted"}`, "", `the key "agentId" is there twice`},
		{runs, `{"agentId":"clerk","prompt":"say hi","metadata":{"a":"1","\u0061":"2"}}`, "", `the key "a" is there twice`},
		{sessions, `{"agentId":"clerk","prompt":"say hi","colour":1}`, "colour prompt", ""},
		{sessions, `{"agentId":"prompted","systemPrompt":"Mine."}`, "systemPrompt", ""},
		{sessions, `{"agentid":"clerk"}`, "", `agentid is not known; did you mean "agentId"?`},
		{messages, `{"prompt":"say hi","modelId":"fast","colour":1}`, "colour modelId", ""},
		{messages, `{"promt":"say hi"}`, "", `promt is not known; did you mean "prompt"?`},
		{runs, tooled(`{"kind":"local","name":"look","parameter":{}}`), "", `tools[0].parameter is not known; did you mean "parameters"?`},
		{runs, tooled(`{"kind":"local","name":"look","url":"https://x.example","LongRunning":true,"colour":1,"headers":null}`), "tools[0].url tools[0].colour", ""},
		{runs, tooled(`{"kind":"local","name":"look"},{"kind":"mcp","name":"files","url":"https://x.example","toolFilters":["read"]}`), "", `tools[1].toolFilters is not known; did you mean "toolFilter"?`},
		{runs, tooled(`{"kind":"a2a_local","name":"ask","agentCard":{"name":"Peer","colour":1}}`), "", ""},
		{runs, tooled(`{"kind":"mcp_local","name":"m","serverInfo":{"colour":1},"tools":[{"name":"a","annotations":{},"_meta":{},"title":"A"}]}`), "", ""},
		{runs, tooled(`{"kind":"mcp_local","name":"m","tools":[{"name":"a","colour":1}]}`), "tools[0].tools[0].colour", ""},
		{runs, tooled(`{"kind":"mcp_local","name":"m","tools":[{"name":"a"},{"name":"b","inputshema":{}}]}`), "", `tools[0].tools[1].inputshema is not known; did you mean "inputSchema"?`},
		{sessions, `{"agentId":"clerk","tools":[{"kind":"local","name":"look","longRuning":true}]}`, "", `tools[0].longRuning is not known; did you mean "longRunning"?`},
		{runs + "/none/tool-results", `{"toolUseID":"x"}`, "", `run "none" not found`},
	} {
		status, answer := w.do(http.MethodPost, tt.path, tt.body)
		var warned []string
		list, _ := answer["warnings"].([]any)
		for _, one := range list {
			warned = append(warned, fmt.Sprint(one.(map[string]any)["field"]))
		}
		said, _ := answer["message"].(string)
		if strings.Join(warned, " ") != tt.warned || (status >= http.StatusBadRequest) != (tt.refused != "") || !strings.Contains(said, tt.refused) {
			t.Errorf("POST %s %s: %d %v", tt.path, tt.body, status, answer)
		}
	}
}

// tooled returns the body of a run with tools.
func tooled(refs string) string {
	return `{"agentId":"clerk","prompt":"say hi","tools":[` + refs + `]}`
}

// TestTheFieldsOfToolReferencesAreThoseThatAreRead holds the table of fields to the
// struct that references are read into.
func TestTheFieldsOfToolReferencesAreThoseThatAreRead(t *testing.T) {
	t.Parallel()
	listed := make(map[string]bool)
	for kind, names := range refFields {
		for _, name := range names {
			listed[name] = true
		}
		if _, err := readToolRef(fmt.Appendf(nil, `{"kind":%q}`, kind)); err != nil && strings.Contains(err.Error(), "is not known") {
			t.Errorf("there is no kind %s", kind)
		}
	}
	for i, of := 0, reflect.TypeFor[toolRef](); i < of.NumField(); i++ {
		if name := of.Field(i).Tag.Get("json"); name != "" && !listed[name] {
			t.Errorf("%s is read, and a field of no kind", name)
		}
	}
}

// TestAToolResultSaysWhatHadNoEffect answers a call with a misspelled field, and then
// with one that is not known.
func TestAToolResultSaysWhatHadNoEffect(t *testing.T) {
	t.Parallel()
	w := serving(t)
	run, _ := w.must(http.StatusAccepted, http.MethodPost, "/agent-runs",
		`{"agentId":"clerk","prompt":"call look","tools":[{"kind":"local","name":"look"}]}`)["runId"].(string)
	for ev, err := range w.follow(run, "") {
		if err != nil {
			t.Fatal(err)
		}
		if ev.eventKind() != typeLocalToolCall {
			continue
		}
		call, at := ev.data["toolUseId"], "/agent-runs/"+run+"/tool-results"
		if answer := w.must(http.StatusBadRequest, http.MethodPost, at, fmt.Sprintf(`{"toolUseId":%q,"resul":"x"}`, call)); !strings.Contains(fmt.Sprint(answer), `did you mean "result"`) {
			t.Errorf("it is refused with %v", answer)
		}
		if answer := w.must(http.StatusOK, http.MethodPost, at, fmt.Sprintf(`{"toolUseId":%q,"result":"x","colour":1}`, call)); !strings.Contains(fmt.Sprint(answer["warnings"]), "colour") {
			t.Errorf("the answer is %v", answer)
		}
		return
	}
	t.Error("nothing was called")
}
