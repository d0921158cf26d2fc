package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/surfacetest"
	"github.com/agentruntime/agentruntime/server/openai/internal/chat"
	"github.com/agentruntime/agentruntime/server/openai/internal/responses"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
	"github.com/agentruntime/agentruntime/service"
)

const weatherTool = `{"type":"function","function":{"name":"get_weather","description":"The weather.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]},"strict":true}}`

// chatBody returns a request of clerk with messages and other fields.
func chatBody(messages, fields string) string {
	return `{"model":"clerk","messages":[` + messages + `]` + fields + `}`
}

func said(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }

func TestModelsAreTheAgentsOfTheKey(t *testing.T) {
	t.Parallel()
	w := serving(t)
	surfacetest.Golden(t, "models.json", w.Ask("alice", "GET /v1/models", "", http.StatusOK))
	if list := string(w.Ask("ann", "GET /v1/models", "", http.StatusOK)); strings.Contains(list, "clerk") || !strings.Contains(list, "plain") {
		t.Errorf("ann sees %s", list)
	}
	if one := get[modelView](w, "GET /v1/models/clerk", ""); one.ID != "clerk" || one.Object != "model" || time.Since(time.Unix(one.Created, 0)) > time.Hour {
		t.Errorf("the model is %+v", one)
	}
	for _, request := range []string{"GET /v1/models/nope", "GET /v1/models/a%2Fb"} {
		if got := w.failing("alice", request, "", http.StatusNotFound); got != "model_not_found model" {
			t.Errorf("%s: %s", request, got)
		}
	}
	w.failing("ann", "GET /v1/models/clerk", "", http.StatusNotFound)
	w.failing("ann", "POST /v1/chat/completions", chatBody(said("hi"), ""), http.StatusNotFound)
}

func TestChatCompletions(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for name, body := range map[string]string{
		"text":      chatBody(said("hi"), ""),
		"history":   chatBody(`{"role":"developer","content":"Be brief."},`+said("one")+`,{"role":"assistant","content":"two"},`+said("history"), ""),
		"thoughts":  chatBody(said("think"), ""),
		"form":      chatBody(said("json"), `,"response_format":{"type":"json_schema","json_schema":{"name":"person","strict":true,"schema":{"type":"object"}}}`),
		"length":    chatBody(said("long"), `,"max_tokens":3`),
		"tool":      chatBody(said("look"), ""),
		"function":  chatBody(said("weather"), `,"tools":[`+weatherTool+`],"tool_choice":"auto"`),
		"mixed":     chatBody(said("mixed"), `,"tools":[`+weatherTool+`]`),
		"refused":   chatBody(said("pay"), ""),
		"librechat": chatBody(said("hi"), `,"temperature":1,"top_p":1,"presence_penalty":0,"frequency_penalty":0,"user":"u1","stream":false,"chat_id":"x"`),
	} {
		surfacetest.Golden(t, "chat-"+name+".json", w.Ask("alice", "POST /v1/chat/completions", body, http.StatusOK))
		stream := strings.Replace(strings.Replace(body, `,"stream":false`, "", 1), `"model"`, `"stream":true,"stream_options":{"include_usage":true},"model"`, 1)
		surfacetest.Golden(t, "chat-"+name+".sse", w.Ask("alice", "POST /v1/chat/completions", stream, http.StatusOK))
	}
	if w.Pay.Count() != 0 {
		t.Error("a tool that needs approval was called")
	}
	if plain := string(w.Ask("alice", "POST /v1/chat/completions", chatBody(said("hi"), `,"stream":true`), http.StatusOK)); strings.Contains(plain, "usage") || strings.Contains(plain, `"choices":[]`) {
		t.Errorf("nobody asked for the usage: %s", plain)
	}
}

// sentBack returns the message of a completion as clients send it back.
func sentBack(t *testing.T, m *chat.Answer) string {
	t.Helper()
	data, err := json.Marshal(struct {
		Role      string      `json:"role"`
		Content   *string     `json:"content"`
		ToolCalls []chat.Call `json:"tool_calls,omitempty"`
	}{m.Role, m.Content, m.ToolCalls})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func toolMessage(id, output string) string {
	return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, id, output)
}

func TestARunWaitsForTheFunctionsOfItsClient(t *testing.T) {
	t.Parallel()
	w := serving(t)
	const functions = `,"tools":[` + weatherTool + `]`
	history := said("weather again")
	var turns []string
	for round := range 2 {
		got := get[chat.Completion](w, "POST /v1/chat/completions", chatBody(history, functions))
		message := &got.Choices[0].Message
		if got.Choices[0].FinishReason != "tool_calls" || len(message.ToolCalls) != 1 || message.ToolCalls[0].Function.Arguments != `{"city":"Bern"}` {
			t.Fatalf("round %d: %+v", round, got)
		}
		history += "," + sentBack(t, message) + "," + toolMessage(message.ToolCalls[0].ID, fmt.Sprintf("sunny %d", round))
		turns = append(turns, got.ID)
	}
	var last string
	for range 2 { // the second is a repetition after a lost answer
		got := get[chat.Completion](w, "POST /v1/chat/completions", chatBody(history, functions))
		if text := got.Choices[0].Message.Content; got.Choices[0].FinishReason != "stop" || text == nil || *text != "It is sunny 1." || last != "" && got.ID != last {
			t.Fatalf("the answer is %+v", got)
		}
		last = got.ID
	}
	if turns[1] != turns[0]+"_1" || last != turns[0]+"_2" {
		t.Errorf("it was another run: %v, then %s", turns, last)
	}
	list, err := w.Service.ListTurns(t.Context(), service.Caller{Tenant: "acme", Subject: "alice"}, service.TurnQuery{})
	if err != nil || len(list.Turns) != 1 || list.Turns[0].ID != turns[0] || list.Turns[0].Status != service.Succeeded {
		t.Errorf("%v: the turns are %+v", err, list.Turns)
	}
	for name, changed := range map[string]string{
		"another result": strings.Replace(history, "sunny 1", "rainy", 1), "an earlier result": strings.Replace(history, "sunny 0", "rainy", 1),
		"another beginning": said("one") + `,{"role":"assistant","content":"two"},` + history,
	} {
		got := get[chat.Completion](w, "POST /v1/chat/completions", chatBody(changed, functions))
		if core, _ := run.SplitItemID("x_" + run.CoreOf(got.ID)); core == run.CoreOf(turns[0]) {
			t.Errorf("%s gives the run %s again", name, got.ID)
		}
	}
}

func TestParallelCallsHaveOneAnswer(t *testing.T) {
	t.Parallel()
	w := serving(t)
	const functions = `,"tools":[` + weatherTool + `]`
	got := get[chat.Completion](w, "POST /v1/chat/completions", chatBody(said("weather twice"), functions))
	message := &got.Choices[0].Message
	if len(message.ToolCalls) != 2 {
		t.Fatalf("%+v", got)
	}
	first, second := toolMessage(message.ToolCalls[0].ID, "sunny"), toolMessage(message.ToolCalls[1].ID, "rainy")
	begun := said("weather twice") + "," + sentBack(t, message) + ","
	if got := w.failing("alice", "POST /v1/chat/completions", chatBody(begun+first, functions), http.StatusBadRequest); got != "invalid_value messages" {
		t.Errorf("a missing result gives %s", got)
	}
	if got := w.failing("alice", "POST /v1/chat/completions", chatBody(begun+first+","+toolMessage("call_x", "?"), functions), http.StatusBadRequest); got != "invalid_value messages[3].tool_call_id" {
		t.Errorf("an unknown call gives %s", got)
	}
	again := get[chat.Completion](w, "POST /v1/chat/completions", chatBody(begun+second+","+first, functions))
	if text := again.Choices[0].Message.Content; text == nil || *text != "It is sunny and rainy." {
		t.Errorf("the answer is %q", *text)
	}
	single := get[chat.Completion](w, "POST /v1/chat/completions", chatBody(said("weather twice"), functions+`,"parallel_tool_calls":false`))
	if calls := single.Choices[0].Message.ToolCalls; len(calls) != 1 {
		t.Errorf("the model may make one call, and makes %+v", calls)
	}
	// For another key the run looks unknown: it begins one with the history.
	var other chat.Completion
	if err := json.Unmarshal(w.Ask("bob", "POST /v1/chat/completions", chatBody(begun+second+","+first, functions), http.StatusOK), &other); err != nil || run.CoreOf(other.ID) == run.CoreOf(got.ID) {
		t.Errorf("%v: bob's run is %s", err, other.ID)
	}
}

func TestChatRefusesWhatItCannotHonor(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for body, want := range map[string]string{
		`{"messages":[` + said("hi") + `]}`:            "missing_required_parameter model",
		`{"model":"clerk"}`:                            "missing_required_parameter messages",
		`{"model":"clerk","messages":7}`:               "invalid_request messages",
		`{`:                                            "invalid_request body",
		chatBody(said("hi"), `,"n":2`):                 "unsupported_parameter n",
		chatBody(said("hi"), `,"logprobs":true`):       "unsupported_parameter logprobs",
		chatBody(said("hi"), `,"functions":[]`):        "unsupported_parameter functions",
		chatBody(said("hi"), `,"tool_choice":"maybe"`): "unsupported_parameter tool_choice",
		chatBody(said("hi"), `,"tool_choice":{"type":"function","function":{"name":"x"}}`):         "invalid_value tool_choice",
		chatBody(said("hi"), `,"tools":[{"type":"custom","custom":{"name":"x"}}]`):                 "invalid_value tools[0].type",
		chatBody(said("hi"), `,"tools":[{"type":"function","function":{"name":"look"}}]`):          "invalid_value tools",
		chatBody(said("hi"), `,"tools":[`+weatherTool+`,`+weatherTool+`]`):                         "invalid_value tools[1].function.name",
		chatBody(said("hi"), `,"stream_options":{"include_usage":true}`):                           "invalid_value stream_options",
		chatBody(said("hi"), `,"response_format":{"type":"json_schema"}`):                          "invalid_value response_format",
		chatBody(said("hi"), `,"max_tokens":0`):                                                    "invalid_value max_tokens",
		chatBody(said("hi"), `,"reasoning_effort":"huge"`):                                         "invalid_value reasoning_effort",
		chatBody(said("hi")+`,{"role":"assistant","content":"x"}`, ""):                             "invalid_value messages",
		chatBody(said("hi"), `,"max_completion_tokens":0,"max_tokens":5`):                          "invalid_value max_completion_tokens",
		chatBody(said("hi"), `,"verbosity":"chatty"`):                                              "invalid_value verbosity",
		chatBody(said("hi"), `,"temperature":2.5`):                                                 "invalid_value temperature",
		chatBody(said("hi"), `,"top_p":-0.1`):                                                      "invalid_value top_p",
		chatBody(said("hi"), `,"stop":5`):                                                          "invalid_value stop",
		chatBody(said("hi"), `,"tool_choice":{"type":"allowed_tools"}`):                            "invalid_value tool_choice",
		chatBody(said("hi"), `,"tools":[{"type":"function"}]`):                                     "invalid_value tools[0].function.name",
		chatBody(said("hi"), functionWith(`{"type":"string"}`)):                                    "invalid_value tools[0].function.parameters",
		chatBody(said("hi"), functionWith(`[]`)):                                                   "invalid_value tools[0].function.parameters",
		chatBody(said("hi"), functionWith(`{"properties":{"a":{"$ref":"http://x/y"}}}`)):           "invalid_value tools[0].function.parameters",
		chatBody(said("hi"), formatWith(`null`)):                                                   "invalid_value response_format",
		chatBody(said("hi"), formatWith(`[]`)):                                                     "invalid_value response_format",
		chatBody(said("hi"), formatWith(`{"$ref":"http://x/y"}`)):                                  "invalid_value response_format",
		chatBody(said("hi")+`,{"role":"assistant","tool_calls":[{"id":"c","type":"custom"}]}`, ""): "invalid_value messages[1].tool_calls[0].type",
		chatBody(`{"role":"wizard","content":"x"}`, ""):                                            "invalid_value messages[0].role",
		chatBody(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}`, ""):   "invalid_value messages[0].content[0]",
		chatBody(`{"role":"user","content":[{"type":"video"}]}`, ""):                               "invalid_value messages[0].content[0]",
	} {
		if got := w.failing("alice", "POST /v1/chat/completions", body, http.StatusBadRequest); got != want {
			t.Errorf("%s gives %s and should give %s", body, got, want)
		}
	}
	w.failing("", "POST /v1/chat/completions", chatBody(said("hi"), ""), http.StatusUnauthorized)
	w.failing("joe", "POST /v1/chat/completions", chatBody(said("hi"), ""), http.StatusForbidden)
	if got := w.failing("alice", "POST /v1/chat/completions", strings.Replace(chatBody(said("hi"), ""), "clerk", "nope", 1), http.StatusNotFound); got != "model_not_found model" {
		t.Errorf("an unknown agent gives %s", got)
	}
}

func functionWith(parameters string) string {
	return `,"tools":[{"type":"function","function":{"name":"f","parameters":` + parameters + `}}]`
}

func formatWith(schema string) string {
	return `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":` + schema + `}}`
}

func TestAFailedRunIsAnErrorThatIsNotRepeated(t *testing.T) {
	t.Parallel()
	w := serving(t)
	resp, err := w.Send(t.Context(), "alice", "POST /v1/chat/completions", chatBody(said("break"), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest || resp.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("it is %d %v", resp.StatusCode, resp.Header)
	}
	stream := string(w.Ask("alice", "POST /v1/chat/completions", chatBody(said("break"), `,"stream":true`), http.StatusOK))
	if !strings.Contains(stream, `data: {"error":{"message":`) || strings.Contains(stream, "[DONE]") || strings.Contains(stream, `"finish_reason":"`) {
		t.Errorf("the stream is %s", stream)
	}
}

func TestARunEndsWithItsClient(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for _, stream := range []string{"", `,"stream":true`} {
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			resp, err := w.Send(ctx, "alice", "POST /v1/chat/completions", chatBody(said("hang"), stream))
			if err == nil {
				<-ctx.Done()
				resp.Body.Close()
			}
			done <- err
		}()
		caller := service.Caller{Tenant: "acme", Subject: "alice"}
		turn := w.turnOf(caller, func(turn *service.Turn) bool { return turn.Status == service.Running && turn.Seq >= 3 })
		leave()
		<-done
		ended, err := w.Service.WaitTurn(t.Context(), caller, turn.ID)
		if err != nil || ended.Status != service.Canceled {
			t.Errorf("%v: the turn is %+v", err, ended)
		}
	}
}

// TestAServerThatShutsDownDoesNotMakeClientsBeginAgain: the run goes on elsewhere.
func TestAServerThatShutsDownDoesNotMakeClientsBeginAgain(t *testing.T) {
	t.Parallel()
	caller := service.Caller{Tenant: "acme", Subject: "alice"}
	for request, body := range map[string]string{
		"POST /v1/chat/completions": chatBody(said("hang"), ""), "POST /v1/responses": respond(`"hang"`, ""),
	} {
		w := serving(t)
		answered := make(chan string, 1)
		go func() {
			defer close(answered)
			resp, err := w.Send(t.Context(), "alice", request, body)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			said, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Error(err)
			}
			answered <- fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("X-Should-Retry"), " ", string(said))
		}()
		w.turnOf(caller, func(turn *service.Turn) bool { return turn.Status == service.Running && turn.Seq >= 3 })
		if err := w.Drain(); err != nil {
			t.Error(err)
		}
		got := <-answered
		want := "200  "
		if strings.Contains(request, "chat") {
			want = "503 false "
		}
		if !strings.HasPrefix(got, want) || want == "200  " && !strings.Contains(got, `"status":"in_progress"`) {
			t.Errorf("%s: %s", request, got)
		}
		if turn := w.turnOf(caller, func(*service.Turn) bool { return true }); turn.Status != service.Running {
			t.Errorf("the turn is %s", turn.Status)
		}
	}
}

// turnOf returns the latest turn of a caller once it is as wanted.
func (w *world) turnOf(caller service.Caller, wanted func(*service.Turn) bool) *service.Turn {
	w.t.Helper()
	for {
		list, err := w.Service.ListTurns(w.t.Context(), caller, service.TurnQuery{})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(list.Turns) > 0 && wanted(list.Turns[0]) {
			return list.Turns[0]
		}
	}
}

func TestAnIdempotencyKeyBeginsOneRun(t *testing.T) {
	t.Parallel()
	w := serving(t)
	var ids [2]chat.Completion
	for i := range ids {
		if err := json.Unmarshal(w.Ask("alice", "POST /v1/chat/completions", chatBody(said("hi"), ""), http.StatusOK, "Idempotency-Key", "k"), &ids[i]); err != nil {
			t.Fatal(err)
		}
	}
	if ids[0].ID != ids[1].ID {
		t.Errorf("they are %s and %s", ids[0].ID, ids[1].ID)
	}
	w.Ask("alice", "POST /v1/chat/completions", chatBody(said("ho"), ""), http.StatusBadRequest, "Idempotency-Key", "k")
}

func TestAnIdempotencyKeyBeginsOneResponse(t *testing.T) {
	t.Parallel()
	w := serving(t)
	first, conversation := get[result](w, "POST /v1/responses", respond(`"hi"`, "")), get[responses.ConversationView](w, "POST /v1/conversations", `{}`)
	for name, more := range map[string]string{"new": "", "continued": `,"previous_response_id":"` + first.ID + `"`, "conversation": `,"conversation":"` + conversation.ID + `"`} {
		ids := map[string]bool{}
		for range 3 {
			var made result
			if err := json.Unmarshal(w.Ask("alice", "POST /v1/responses", respond(`"weather"`, more+`,"tools":[`+weatherFunction+`]`), http.StatusOK, "Idempotency-Key", name), &made); err != nil {
				t.Fatal(err)
			}
			ids[made.ID] = true
		}
		if len(ids) != 1 {
			t.Errorf("%s: they are %v", name, ids)
		}
		got := w.Ask("alice", "POST /v1/responses", respond(`"ho"`, more), http.StatusBadRequest, "Idempotency-Key", name)
		if !strings.Contains(string(got), `"param":"Idempotency-Key"`) {
			t.Errorf("%s: another request with the key is answered %s", name, got)
		}
	}
}

func TestToolChoice(t *testing.T) {
	t.Parallel()
	w := serving(t)
	const other = `{"type":"function","function":{"name":"other"}}`
	for choice, want := range map[string]string{
		`"auto"`:     "  of [ask get_weather look other pay]",
		`"none"`:     "  of [ask look pay]",
		`"required"`: "required  of [ask get_weather look other pay]",
		`{"type":"function","function":{"name":"other"}}`:                                      "named other of [ask get_weather look other pay]",
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[` + other + `]}}`: "required  of [ask look other pay]",
		`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[` + other + `]}}`:     "  of [ask look other pay]",
	} {
		got := get[chat.Completion](w, "POST /v1/chat/completions", chatBody(said("choice"), `,"tools":[`+weatherTool+`,`+other+`],"tool_choice":`+choice))
		if text := got.Choices[0].Message.Content; text == nil || *text != want {
			t.Errorf("%s gives %q", choice, *text)
		}
	}
	r := get[result](w, "POST /v1/responses", respond(`"choice"`, `,"tools":[{"type":"function","name":"other"}],"tool_choice":{"type":"function","name":"other"}`))
	if r.text() != "named other of [ask look other pay]" {
		t.Errorf("a response gives %q", r.text())
	}
}

// TestChatWindowsAreServed replays what Open WebUI and LibreChat send.
func TestChatWindowsAreServed(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for name, fields := range map[string]string{
		"Open WebUI": `,"stream":true,"stream_options":{"include_usage":true},"params":{},"tool_ids":null,"features":{"web_search":false},"session_id":"s","chat_id":"c","id":"m",` +
			`"background_tasks":{"title_generation":true},"reasoning":{"effort":"low"},"max_tokens":null,"temperature":null`,
		"LibreChat": `,"stream":true,"temperature":1,"top_p":1,"presence_penalty":0,"frequency_penalty":0,"user":"65f"`,
	} {
		body := chatBody(`{"role":"system","content":"Be brief."},`+said("hi"), fields)
		stream := string(w.Ask("alice", "POST /v1/chat/completions", body, http.StatusOK, "X-OpenWebUI-User-Name", "Ann"))
		if !strings.Contains(stream, `"content":"You said hi"`) || !strings.HasSuffix(stream, "data: [DONE]\n\n") {
			t.Errorf("%s reads %s", name, stream)
		}
	}
	title := chatBody(said("hi"), `,"stream":false,"max_completion_tokens":1000`)
	if got := get[chat.Completion](w, "POST /v1/chat/completions", title); got.Choices[0].FinishReason != "stop" {
		t.Errorf("a title is %+v", got)
	}
}
