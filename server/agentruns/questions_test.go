package agentruns

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/ask"
)

func TestAQuestionOfAnAgentIsACallOfTheClient(t *testing.T) {
	made, err := ask.Kind().Create(tools.Settings{ID: "choose"}, &ask.Config{Question: "Which way?", Choices: []string{"Left", "Right"}})
	if err != nil {
		t.Fatal(err)
	}
	w := serving(t, func(s *setup) {
		s.more = func(b *builder.AgentRuntimeBuilder) {
			b.WithTool("choose", made).WithAgentSpec(spec.Agent{ID: "guide", Description: "Guides.", ModelID: "fast"})
		}
	})
	for _, tt := range []struct{ answer, said string }{
		{`"result":"left"`, "Left"}, {`"error":"no idea"`, "the call was refused: no idea"},
	} {
		id, _ := w.must(http.StatusAccepted, http.MethodPost, "/agent-runs", `{"agentId":"guide","prompt":"use choose"}`)["runId"].(string)
		list := w.answered(id, func(call map[string]any) string {
			args, _ := call["args"].(map[string]any)
			if call["name"] != "choose" || args["question"] != "Which way?\nChoices: Left | Right" {
				t.Errorf("the client is asked for %v", call)
			}
			use, _ := call["toolUseId"].(string)
			w.must(http.StatusBadRequest, http.MethodPost, "/agent-runs/"+id+"/tool-results", `{"toolUseId":"`+use+`","result":"up"}`)
			return "," + tt.answer
		})
		if got, err := json.Marshal(list[len(list)-1].data); err != nil || !strings.Contains(string(got), tt.said) {
			t.Errorf("with %s the run ends with %s, want %q", tt.answer, got, tt.said)
		}
	}
}
