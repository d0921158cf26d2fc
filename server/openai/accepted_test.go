package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/server/openai/internal/chat"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
)

func TestChatAcceptsWhatChangesNothing(t *testing.T) {
	t.Parallel()
	w := serving(t)
	long := strings.Repeat("ä", run.MaxPairName)
	for _, fields := range []string{
		`,"stop":""`, `,"stop":["",null]`, `,"stop":null,"tools":null,"tool_choice":null,"metadata":null`, functionWith(`null`), functionWith(`{}`),
		`,"metadata":{"` + long + `":"` + strings.Repeat("ü", run.MaxPairValue) + `"}`,
	} {
		if got := get[chat.Completion](w, "POST /v1/chat/completions", chatBody(said("hi"), fields)); *got.Choices[0].Message.Content != "You said hi" {
			t.Errorf("%s: %+v", fields, got.Choices[0].Message)
		}
	}
}

func TestAnImageInAResultOfAFunctionIsNamed(t *testing.T) {
	t.Parallel()
	w := serving(t)
	const part = `[{"type":"input_text","text":"seen"},{"type":"input_image","image_url":"data:image/png;base64,aGk="}]`
	asked := get[result](w, "POST /v1/responses", respond(`"weather"`, `,"tools":[`+weatherFunction+`]`))
	answer := fmt.Sprintf(`[{"type":"function_call_output","call_id":%q,"output":%s}]`, asked.Output[0].CallID, part)
	got := get[result](w, "POST /v1/responses", respond(answer, `,"previous_response_id":"`+asked.ID+`"`))
	if got.text() != "It is seen[image/png left out: results of functions are text]." {
		t.Errorf("the model reads %s", got.text())
	}
}

func TestAResponseShowsTheDefaultsOfNulls(t *testing.T) {
	t.Parallel()
	w := serving(t)
	names := map[string]any{}
	for _, p := range ResponseParameters() {
		if p.Name != "model" && p.Name != "input" {
			names[p.Name] = nil
		}
	}
	fields, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	shown := func(fields string) (r map[string]any) {
		r = get[map[string]any](w, "POST /v1/responses", respond(`"hi"`, fields))
		for _, own := range []string{"id", "created_at", "completed_at", "output", "usage"} {
			delete(r, own)
		}
		return r
	}
	if got, want := shown(","+string(fields[1:len(fields)-1])), shown(""); !reflect.DeepEqual(got, want) {
		t.Errorf("nulls give %v and should give %v", got, want)
	}
}

func TestOutputsOfCallsInTheInputAreHistory(t *testing.T) {
	t.Parallel()
	w := serving(t)
	get[result](w, "POST /v1/responses", respond(`[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}]`, ""))
	get[result](w, "POST /v1/responses", respond(`[{"type":"mcp_approval_request","id":"r"},{"type":"mcp_approval_response","approval_request_id":"r","approve":true}]`, ""))
}

func TestCallsAndOutputsNeedEachOther(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for _, input := range []string{
		`[{"type":"function_call_output","call_id":"c","output":"x"}]`,
		`[{"type":"mcp_approval_response","approval_request_id":"x","approve":true}]`,
		`[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"role":"user","content":"x"}]`,
	} {
		if got := w.failing("alice", "POST /v1/responses", respond(input, ""), http.StatusBadRequest); got != "invalid_value input" {
			t.Errorf("%s gives %s", input, got)
		}
	}
}

func TestInstructionsMayLookLikeTemplates(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for _, text := range []string{"{{name}}", "${turn.name}", "$${x} {{ y }}"} {
		got := get[result](w, "POST /v1/responses", respond(`"who are you"`, fmt.Sprintf(`,"instructions":%q`, text)))
		if !strings.Contains(got.text(), text) {
			t.Errorf("%s reads %s", text, got.text())
		}
	}
}
