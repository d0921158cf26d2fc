package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/surfacetest"
	"github.com/agentruntime/agentruntime/server/openai/internal/chat"
	"github.com/agentruntime/agentruntime/server/openai/internal/responses"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
)

// wrongValues checks that the rejection of a wrong value names the parameter.
func (w *world) wrongValues(request, body string) {
	w.t.Helper()
	w.SendWrongValues(request, body, func(path string, r surfacetest.Reply) {
		var got run.ErrorBody
		name, _, _ := strings.Cut(strings.TrimPrefix(path, "."), ".")
		name, _, _ = strings.Cut(name, "[")
		name = strings.TrimSuffix(name, "s") // a wrong name in tools is missing for tool_choice
		if err := json.Unmarshal([]byte(r.Body), &got); err != nil || got.Error.Param == nil || path != "" && !strings.HasPrefix(*got.Error.Param, name) {
			w.t.Errorf("%s with another %s: %v %d %s", request, path, err, r.Status, r.Body)
		}
	})
}

func TestWrongValuesAreNoInternalErrors(t *testing.T) {
	t.Parallel()
	w := serving(t)
	const functions = `"parameters":{"type":"object","properties":{"a":{"type":"string"}}},"strict":true`
	w.wrongValues("POST /v1/chat/completions", `{"model":"clerk","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"s"},`+
		`{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk=","detail":"low"}},`+
		`{"type":"input_audio","input_audio":{"data":"aGk=","format":"wav"}},{"type":"file","file":{"file_data":"aGk=","filename":"f"}}]},`+
		`{"role":"assistant","content":null,"refusal":"no","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"done"},{"role":"user","content":"hi"}],`+
		`"tools":[{"type":"function","function":{"name":"f","description":"d",`+functions+`}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}}]}},`+
		`"response_format":{"type":"text","json_schema":{"name":"n","schema":{"type":"object"}}},"max_completion_tokens":9,"seed":1,"stop":["x"],"reasoning_effort":"low","verbosity":"low","temperature":1,"top_p":1,`+
		`"parallel_tool_calls":true,"metadata":{"a":"b"},"user":"u","safety_identifier":"s"}`)
	w.wrongValues("POST /v1/responses", `{"model":"clerk","stream":true,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_image","image_url":"data:image/png;base64,aGk="},`+
		`{"type":"input_file","file_data":"aGk=","filename":"f"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"o"},`+
		`{"type":"mcp_call","id":"m","name":"f","arguments":"{}","output":"o"},{"type":"mcp_approval_request","id":"r"},{"type":"mcp_approval_response","approval_request_id":"r","approve":true,"reason":"x"},{"role":"user","content":"hi"}],`+
		`"instructions":"i","background":false,"store":true,"tools":[{"type":"function","name":"f","description":"d",`+functions+`}],"tool_choice":"auto","max_output_tokens":9,`+
		`"reasoning":{"effort":"low","summary":"auto"},"text":{"format":{"type":"text","name":"n","schema":{"type":"object"}},"verbosity":"low"},"truncation":"auto","metadata":{"a":"b"},`+
		`"stream_options":{"include_obfuscation":false},"include":["reasoning.encrypted_content"],"service_tier":"auto","prompt_cache_key":"k"}`)
	conversation := `{"metadata":{"a":"b"},"items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"function_call_output","call_id":"c","output":"o"}]}`
	w.wrongValues("POST /v1/conversations", conversation)
	made := get[responses.ConversationView](w, "POST /v1/conversations", `{}`)
	w.wrongValues("POST /v1/conversations/"+made.ID, `{"metadata":{"a":"b"}}`)
	w.wrongValues("POST /v1/responses", `{"model":"clerk","input":"hi","conversation":{"id":"`+made.ID+`"}}`)
}

func TestReferencesToItemsAreLimited(t *testing.T) {
	t.Parallel()
	w := serving(t)
	r := get[result](w, "POST /v1/responses", respond(`"hi"`, ""))
	reference := `{"type":"item_reference","id":"` + r.Output[0].ID + `"},`
	if got := w.failing("alice", "POST /v1/responses", respond("["+strings.Repeat(reference, responses.MaxReferences+1)+said("hi")+"]", ""), http.StatusBadRequest); got != "invalid_value input[2000]" {
		t.Errorf("they give %s", got)
	}
}

// TestAnswersSentAtTheSameTimeContinueOneRun sends the same and different answers to the questions of
// one run.
func TestAnswersSentAtTheSameTimeContinueOneRun(t *testing.T) {
	t.Parallel()
	w := serving(t)
	asked := get[result](w, "POST /v1/responses", respond(`"pay"`, ""))
	decision := func(approve bool) string {
		return respond(fmt.Sprintf(`[{"type":"mcp_approval_response","approval_request_id":%q,"approve":%t}]`, asked.Output[0].ID, approve), `,"previous_response_id":"`+asked.ID+`"`)
	}
	texts := map[string]int{}
	for _, r := range w.SendTogether("POST /v1/responses", []string{decision(true), decision(false), decision(true), decision(false), decision(true), decision(false), decision(true), decision(false)}) {
		var got result
		if r.Status != http.StatusOK {
			continue
		}
		if err := json.Unmarshal([]byte(r.Body), &got); err != nil || got.ID != asked.ID+"_1" {
			t.Errorf("%v: %s", err, r.Body)
		}
		texts[got.text()]++
	}
	if len(texts) != 1 || w.Pay.Count() > 1 {
		t.Errorf("the tool ran %d times, and the answers are %v", w.Pay.Count(), texts)
	}
	const functions = `,"tools":[` + weatherTool + `]`
	first := get[chat.Completion](w, "POST /v1/chat/completions", chatBody(said("weather"), functions))
	message := &first.Choices[0].Message
	history := said("weather") + "," + sentBack(t, message) + "," + toolMessage(message.ToolCalls[0].ID, "sunny")
	for _, r := range w.SendTogether("POST /v1/chat/completions", slices.Repeat([]string{chatBody(history, functions)}, 8)) {
		if r.Status != http.StatusOK || !strings.Contains(r.Body, `"id":"`+first.ID+`_1"`) {
			t.Errorf("a repeated result gives %d %s", r.Status, r.Body)
		}
	}
}

func TestRequestsWithOneKeySentAtTheSameTimeBeginOneRun(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for request, body := range map[string]string{"POST /v1/chat/completions": chatBody(said("look"), ""), "POST /v1/responses": respond(`"look"`, "")} {
		ids := map[string]bool{}
		for _, r := range w.SendTogether(request, slices.Repeat([]string{body}, 8), "Idempotency-Key", "k") {
			id, _, _ := strings.Cut(r.Body, ",")
			ids[id] = true
		}
		if len(ids) != 1 {
			t.Errorf("%s begins %v", request, ids)
		}
	}
	if w.Look.Count() != 2 {
		t.Errorf("the tool ran %d times", w.Look.Count())
	}
}

// TestResponsesOfOneConversationAtTheSameTime: each item that a client added is read once.
func TestResponsesOfOneConversationAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := serving(t)
	v := get[responses.ConversationView](w, "POST /v1/conversations", `{"items":[{"role":"user","content":"one"}]}`)
	in := `,"conversation":"` + v.ID + `"`
	succeeded := 1
	for _, r := range w.SendTogether("POST /v1/responses", slices.Repeat([]string{respond(`"hi"`, in)}, 16)) {
		switch r.Status {
		case http.StatusOK:
			succeeded++
		case http.StatusConflict:
		default:
			t.Errorf("a response is answered %d %s", r.Status, r.Body)
		}
	}
	if last := get[result](w, "POST /v1/responses", respond(`"history"`, in)); strings.Count(last.text(), "user:one") != 1 || strings.Count(last.text(), "user:hi") != succeeded {
		t.Errorf("after %d responses the model reads %s", succeeded, last.text())
	}
	list := get[responses.ItemList](w, "GET /v1/conversations/"+v.ID+"/items?limit=100", "")
	ids := map[string]bool{}
	for _, raw := range list.Data {
		ids[responses.IDOf(raw)] = true
	}
	if len(ids) != len(list.Data) || len(ids) != 1+2*succeeded {
		t.Errorf("%d responses make %d items with %d ids", succeeded, len(list.Data), len(ids))
	}
}

// TestAResponseDoesNotContinueAnOlderConversation ends a response between the moments at which another
// one reads the conversation and begins.
func TestAResponseDoesNotContinueAnOlderConversation(t *testing.T) {
	t.Parallel()
	w := serving(t)
	v := get[responses.ConversationView](w, "POST /v1/conversations", `{"items":[{"role":"user","content":"one"}]}`)
	in := `,"conversation":"` + v.ID + `"`
	between := func() { w.Ask("alice", "POST /v1/responses", respond(`"hi"`, in), http.StatusOK) }
	w.AfterTurns.Store(&between)
	if got := w.failing("alice", "POST /v1/responses", respond(`"hi"`, in), http.StatusConflict); got != "busy -" {
		t.Errorf("it gives %s", got)
	}
	if last := get[result](w, "POST /v1/responses", respond(`"history"`, in)); last.text() != "system:Answer.|user:one|user:hi|assistant:You said hi|user:history" {
		t.Errorf("the model reads %s", last.text())
	}
}

// TestAConversationChangesWhileItIsRead adds an item and a response between the moments at which a
// request reads the items and the responses.
func TestAConversationChangesWhileItIsRead(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for request, body := range map[string]string{"GET /v1/conversations/%s/items": "", "POST /v1/responses": respond(`"hi"`, `,"conversation":"%s"`)} {
		v := get[responses.ConversationView](w, "POST /v1/conversations", `{}`)
		between := func() {
			w.Ask("alice", "POST /v1/conversations/"+v.ID+"/items", `{"items":[{"role":"user","content":"one"}]}`, http.StatusOK)
			w.Ask("alice", "POST /v1/responses", respond(`"look"`, `,"conversation":"`+v.ID+`"`), http.StatusOK)
		}
		w.BeforeTurns.Store(&between)
		w.Ask("alice", strings.Replace(request, "%s", v.ID, 1), strings.Replace(body, "%s", v.ID, 1), http.StatusOK)
	}
}

// TestStreamsIgnoreLastEventID: responses continue with starting_after alone.
func TestStreamsIgnoreLastEventID(t *testing.T) {
	t.Parallel()
	w := serving(t)
	r := get[result](w, "POST /v1/responses", respond(`"look"`, ""))
	path := "GET /v1/responses/" + r.ID + "?stream=true"
	whole := string(w.Ask("alice", path, "", http.StatusOK))
	for _, id := range []string{"nonsense", "-1", "3", "99999999999999999999999", "resp_other:7"} {
		if got := string(w.Ask("alice", path, "", http.StatusOK, "Last-Event-ID", id)); got != whole {
			t.Errorf("with %q it reads %s", id, got)
		}
		if got := string(w.Ask("alice", "POST /v1/chat/completions", chatBody(said("hi"), `,"stream":true`), http.StatusOK, "Last-Event-ID", id)); !strings.Contains(got, "You said hi") {
			t.Errorf("with %q a completion reads %s", id, got)
		}
	}
	events := strings.SplitAfter(whole, "\n\n")
	for after := range events {
		if got := string(w.Ask("alice", fmt.Sprintf("%s&starting_after=%d", path, after), "", http.StatusOK)); got != strings.Join(events[min(after+1, len(events)):], "") {
			t.Errorf("after %d it reads %s", after, got)
		}
	}
	for _, after := range []string{"-1", "nonsense", "99999999999999999999999", "1.5"} {
		if got := w.failing("alice", path+"&starting_after="+after, "", http.StatusBadRequest); got != "invalid_value starting_after" {
			t.Errorf("after %s: %s", after, got)
		}
	}
	if got := w.failing("alice", path+"x", "", http.StatusBadRequest); got != "invalid_value stream" {
		t.Errorf("stream=truex gives %s", got)
	}
}

// TestEveryRouteRefusesForeignKeys: a route that is added later is tested, too.
func TestEveryRouteRefusesForeignKeys(t *testing.T) {
	t.Parallel()
	w := serving(t)
	r := get[result](w, "POST /v1/responses", respond(`"hi"`, ""))
	v := get[responses.ConversationView](w, "POST /v1/conversations", `{"items":[{"role":"user","content":"one"}]}`)
	get[result](w, "POST /v1/responses", respond(`"hi"`, `,"conversation":"`+v.ID+`"`)) // which gives it an agent
	item := responses.IDOf(get[responses.ItemList](w, "GET /v1/conversations/"+v.ID+"/items", "").Data[0])
	for _, route := range (&Surface{}).Routes() {
		if !strings.Contains(route.Pattern, "{id}") {
			continue
		}
		id := r.ID
		if strings.Contains(route.Pattern, "conversations") {
			id = v.ID
		}
		for _, key := range []string{"bob", "ann"} {
			foreign := string(w.Ask(key, strings.NewReplacer("{id}", id, "{item}", item).Replace(route.Pattern), "{}", http.StatusNotFound))
			unknown := string(w.Ask(key, strings.NewReplacer("{id}", "resp_x", "{item}", item).Replace(route.Pattern), "{}", http.StatusNotFound))
			if strings.ReplaceAll(foreign, id, "resp_x") != unknown {
				t.Errorf("%s: %s, and an unknown one %s", route.Pattern, foreign, unknown)
			}
		}
	}
	if got := get[result](w, "GET /v1/responses/"+r.ID, ""); got.text() != "You said hi" {
		t.Errorf("it is %+v", got)
	}
}

func TestABodyThatIsTooLargeIsAnErrorOfTheProtocol(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for _, request := range []string{"POST /v1/chat/completions", "POST /v1/responses", "POST /v1/conversations"} {
		if got := w.failing("alice", request, `{"model":"clerk","input":"`+strings.Repeat("x", 17<<20)+`"}`, http.StatusRequestEntityTooLarge); got != "too_large -" {
			t.Errorf("%s gives %s", request, got)
		}
	}
}
