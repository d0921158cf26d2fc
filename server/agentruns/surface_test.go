package agentruns

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"go.uber.org/zap"
)

// waiting begins a run and returns it and its call, once it waits for the client.
func (w *world) waiting(more string) (id, call string) {
	w.t.Helper()
	id = w.begin("call 1", more)
	for ev, err := range w.follow(id, "") {
		if err != nil {
			w.t.Fatal(err)
		}
		if ev.eventKind() == typeLocalToolCall {
			return id, ev.data["toolUseId"].(string)
		}
	}
	w.t.Fatal("the run asks for nothing")
	return "", ""
}

func TestFilesOfAResultReachTheModel(t *testing.T) {
	t.Parallel()
	w := serving(t)
	id, call := w.waiting(lookRef)
	w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/tool-results", `{"toolUseId":"`+call+`","result":"seen","files":[{"filename":"a.pdf","mimeType":"application/pdf","data":"aGk="}]}`)
	list := w.events(id, "")
	if text := list[len(list)-1].data["text"]; text != "seen [a.pdf application/pdf hi]" {
		t.Errorf("the model is told %q", text)
	}
}

func TestTheResultsOfTools(t *testing.T) {
	t.Parallel()
	w := serving(t)
	id, call := w.waiting(lookRef)
	at := "/agent-runs/" + id + "/tool-results"
	for _, tt := range []struct {
		path, body, code string
		status           int
	}{
		{"/agent-runs/none/tool-results", `no JSON`, "not_found", http.StatusNotFound},
		{at, `no JSON`, "invalid_request", http.StatusBadRequest},
		{at, `{}`, "invalid_request", http.StatusBadRequest},
		{at, `{"toolUseId":"none","result":1}`, "invalid_request", http.StatusBadRequest},
		{at, `{"toolUseId":"` + call + `","result":"a","error":"b"}`, "invalid_request", http.StatusBadRequest},
		{at, `{"toolUseId":"` + call + `","result":"` + strings.Repeat("x", maxToolResult+1) + `"}`, "invalid_request", http.StatusBadRequest},
		{at, `{"toolUseId":"` + call + `","error":"` + strings.Repeat("x", maxToolError+1) + `"}`, "invalid_request", http.StatusBadRequest},
		{at, `{"toolUseId":"` + call + `","error":"a","files":[{"mimeType":"a/b","data":"eA=="}]}`, "invalid_request", http.StatusBadRequest},
		{at, `{"toolUseId":"` + call + `","files":[{"data":"eA=="}]}`, "invalid_request", http.StatusBadRequest},
		{at, `{"toolUseId":"` + call + `","files":[{"mimeType":"a/b","data":"?"}]}`, "invalid_request", http.StatusBadRequest},
		{at, `{"toolUseId":"` + call + `","files":[{"mimeType":"a/b","data":""}]}`, "invalid_request", http.StatusBadRequest},
		{at, `{"toolUseId":"` + call + `","files":[{"mimeType":"a/b","data":"` + base64.StdEncoding.EncodeToString(make([]byte, maxToolResult+1)) + `"}]}`, "invalid_request", http.StatusBadRequest},
		{at, `{"toolUseId":"none","result":""}`, "unknown_tool_use", http.StatusNotFound},
	} {
		status, answer := w.do(http.MethodPost, tt.path, tt.body)
		if status != tt.status || answer["code"] != tt.code || answer["error"] != tt.code || answer["message"] == "" {
			t.Errorf("%.60s: %d %v", tt.body, status, answer)
		}
	}
	// The largest one that is allowed, each character written as long as can be.
	w.must(http.StatusOK, http.MethodPost, at, `{"toolUseId":"`+call+`","result":"`+strings.Repeat(`\u0078`, maxToolResult)+`"}`)
	for _, ev := range w.events(id, "") {
		if text, _ := ev.data["output"].(string); ev.eventKind() == typeLocalToolResultIn && (len(text) < echoSize || len(text) > echoSize+8) {
			t.Errorf("it repeats %d bytes", len(text))
		}
	}
	if status, answer := w.do(http.MethodPost, at, `{"toolUseId":"`+call+`","result":"again"}`); status != http.StatusConflict || answer["code"] != "run_terminal" {
		t.Errorf("%d %v", status, answer)
	}
}

func TestAnAnswerIsTakenOnce(t *testing.T) {
	t.Parallel()
	w := serving(t)
	id := w.begin("call 2", `,"tools":[{"kind":"local","name":"a"},{"kind":"local","name":"b"}]`)
	var calls []string
	for ev, err := range w.follow(id, "") {
		if err != nil {
			t.Fatal(err)
		}
		if ev.eventKind() == typeLocalToolCall {
			if calls = append(calls, ev.data["toolUseId"].(string)); len(calls) == 2 {
				break
			}
		}
	}
	at := "/agent-runs/" + id + "/tool-results"
	w.must(http.StatusOK, http.MethodPost, at, `{"toolUseId":"`+calls[1]+`","result":"second"}`)
	w.must(http.StatusNotFound, http.MethodPost, at, `{"toolUseId":"`+calls[1]+`","result":"second"}`)
	w.must(http.StatusOK, http.MethodPost, at, `{"toolUseId":"`+calls[0]+`","error":"first"}`)
	list := w.events(id, "")
	if last := list[len(list)-1].data; last["text"] != "first, second" && last["text"] != "second, first" { // they are called at once
		t.Errorf("it ends with %v", last)
	}
}

func TestAStrictServerWantsAResultOrAnError(t *testing.T) {
	t.Parallel()
	w := serving(t, func(s *setup) { s.settings.StrictToolResults = true })
	id, call := w.waiting(lookRef)
	w.must(http.StatusBadRequest, http.MethodPost, "/agent-runs/"+id+"/tool-results", `{"toolUseId":"`+call+`"}`)
	w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/cancel", "")
}

func TestACanceledRun(t *testing.T) {
	t.Parallel()
	w := serving(t)
	id, call := w.waiting(lookRef)
	for range 2 {
		if answer := w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/cancel", ""); !reflect.DeepEqual(answer, map[string]any{"ok": true, "status": "cancelled"}) {
			t.Errorf("it says %v", answer)
		}
	}
	if got := kinds(w.events(id, "")); got != "started assistant_message local_tool_call cancelled" {
		t.Errorf("the events are %s", got)
	}
	at := "/agent-runs/" + id + "/tool-results"
	w.must(http.StatusOK, http.MethodPost, at, `{"toolUseId":"`+call+`","result":"late"}`)
	w.must(http.StatusConflict, http.MethodPost, at, `{"toolUseId":"other","result":"late"}`)
	if view := w.must(http.StatusOK, http.MethodGet, "/agent-runs/"+id, ""); view["status"] != "cancelled" {
		t.Errorf("it is read as %v", view)
	}
	over := w.begin("say done", "")
	w.events(over, "")
	if answer := w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+over+"/cancel", ""); answer["status"] != "succeeded" {
		t.Errorf("it says %v", answer)
	}
}

func TestARunWhoseClientDoesNotAnswerFails(t *testing.T) {
	t.Parallel()
	w := serving(t, func(s *setup) { s.settings.LocalToolTimeout = 20 * time.Millisecond })
	id, call := w.waiting(lookRef)
	list := w.events(id, "")
	last := list[len(list)-1].data
	if last["type"] != "error" || last["errorClass"] != "local_timeout" || last["subtype"] != "error_local_tool_timeout" || last["error"] != "Timed out waiting for local tool result" || last["turns"] != 1.0 {
		t.Errorf("it ends with %v", last)
	}
	if used := last["tokens"].(map[string]any); used["inputTokens"] != 10.0 {
		t.Errorf("it used %v", used)
	}
	if status, answer := w.do(http.MethodPost, "/agent-runs/"+id+"/tool-results", `{"toolUseId":"`+call+`","result":"late"}`); status != http.StatusConflict {
		t.Errorf("%d %v", status, answer)
	}
}

func TestASession(t *testing.T) {
	t.Parallel()
	w := serving(t)
	made := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", `{"systemPrompt":"Obey.","metadata":{"a":"1","b":"1"},
		"tools":[{"kind":"mcp","name":"x","url":"https://x.example","headers":{"Authorization":"hush"}}]}`)
	id := made["sessionId"].(string)
	if made["name"] != "ephemeral" || made["createdAt"] == "" {
		t.Errorf("it is %v", made)
	}
	say := func(body string) string {
		return w.must(http.StatusAccepted, http.MethodPost, "/agent-sessions/"+id+"/messages", body)["runId"].(string)
	}
	first := say(`{"prompt":"say one","tools":[],"metadata":{"b":"2"}}`)
	failed := say(`{"prompt":"fail overloaded","tools":[]}`)
	third := say(`{"prompt":"recall","tools":[]}`)
	list := w.events(third, "")
	if last := list[len(list)-1].data; last["text"] != "system: Obey. | user: say one | assistant: one | user: recall" {
		t.Errorf("it ends with %v", last)
	}
	if got := kinds(w.events(failed, "")); !strings.HasSuffix(got, "error") {
		t.Errorf("the events are %s", got)
	}
	view := w.must(http.StatusOK, http.MethodGet, "/agent-runs/"+first, "")
	if view["sessionId"] != id || !reflect.DeepEqual(view["metadata"], map[string]any{"a": "1", "b": "2"}) {
		t.Errorf("the run is %v", view)
	}
	read := w.must(http.StatusOK, http.MethodGet, "/agent-sessions/"+id, "")
	if read["status"] != "active" || read["endedAt"] != nil || len(read["messages"].([]any)) != 4 || strings.Contains(fmt.Sprint(read), "hush") {
		t.Errorf("the session is %v", read)
	}
	open := say(`{"prompt":"hang","tools":[]}`)
	queued := say(`{"prompt":"say never","tools":[]}`)
	for range 2 {
		w.must(http.StatusOK, http.MethodDelete, "/agent-sessions/"+id, "")
	}
	if got := kinds(w.events(queued, "")); got != "cancelled" {
		t.Errorf("the events are %s", got)
	}
	if got := kinds(w.events(open, "")); !strings.HasSuffix(got, "cancelled") {
		t.Errorf("the events are %s", got)
	}
	if read := w.must(http.StatusOK, http.MethodGet, "/agent-sessions/"+id, ""); read["status"] != "ended" || read["endedAt"] == nil {
		t.Errorf("the session is %v", read)
	}
	if answer := w.must(http.StatusConflict, http.MethodPost, "/agent-sessions/"+id+"/messages", `{"prompt":"say more"}`); answer["code"] != "session_ended" {
		t.Errorf("it says %v", answer)
	}
}

func TestWhatWasSaidBeforeARun(t *testing.T) {
	t.Parallel()
	w := serving(t)
	answer := w.must(http.StatusAccepted, http.MethodPost, "/agent-runs", `{"systemPrompt":"Obey.","messages":[
		{"role":"user","content":"hello"},{"role":"assistant","content":"hi"},{"role":"user","content":"recall"}]}`)
	list := w.events(answer["runId"].(string), "")
	if last := list[len(list)-1].data; last["text"] != "system: Obey. | user: hello | assistant: hi | user: recall" {
		t.Errorf("it ends with %v", last)
	}
}

// TestARunSurvivesItsServer ends the server while a run waits for its client.
func TestARunSurvivesItsServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "runs.db")
	kept := func(s *setup) {
		st, err := sqlite.Open(t.Context(), store.Settings{DSN: file})
		if err != nil {
			t.Fatal(err)
		}
		s.service.Store = st
	}
	var first, second store.Store
	w := serving(t, kept, func(s *setup) { first = s.service.Store })
	id, call := w.waiting(lookRef)
	before := w.begin("call 1", lookRef)
	w.stop()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	w = serving(t, kept, func(s *setup) { second = s.service.Store })
	t.Cleanup(func() {
		w.stop()
		_ = second.Close()
	})
	w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/tool-results", `{"toolUseId":"`+call+`","result":"after all"}`)
	list := w.events(id, "")
	if got := kinds(list); got != "started assistant_message local_tool_call local_tool_result_in assistant_delta assistant_message result" {
		t.Errorf("the events are %s", got)
	}
	if last := list[len(list)-1].data; last["text"] != "after all" {
		t.Errorf("it ends with %v", last)
	}
	w.answered(before, func(map[string]any) string { return `,"result":"x"` })
}

func TestAServerThatEndsCutsItsStreamsOff(t *testing.T) {
	t.Parallel()
	w := serving(t, func(s *setup) { s.settings.KeepAlive = time.Millisecond })
	id, _ := w.waiting(lookRef)
	resp := w.request(http.MethodGet, "/agent-runs/"+id+"/stream", "")
	defer resp.Body.Close()
	text := make([]byte, 1<<10)
	for seen := ""; !strings.Contains(seen, "\n: keep-alive\n\n"); {
		n, err := resp.Body.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		seen += string(text[:n])
	}
	if err := w.drain(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the stream ends with %v", err)
	}
}

func TestWhatIsRefusedBeforeThereIsARun(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for body, want := range map[string][2]any{
		``:                                  {400, "invalid_request"},
		`[]`:                                {400, "invalid_request"},
		`{"systemPrompt":"s"}`:              {400, "invalid_request"},
		`{"prompt":"p"}`:                    {400, "invalid_request"},
		`{"agentId":"nobody","prompt":"p"}`: {403, "forbidden"},
		`{"systemPrompt":"s","prompt":"p","modelId":"gpt"}`:                                {400, "invalid_model"},
		`{"systemPrompt":"` + strings.Repeat("x", service.MaxMetadata) + `","prompt":"p"}`: {400, "invalid_request"},
	} {
		status, answer := w.do(http.MethodPost, "/agent-runs", body)
		if status != want[0] || answer["code"] != want[1] || answer["error"] != want[1] {
			t.Errorf("%.60s: %d %v", body, status, answer)
		}
	}
	resp := w.request(http.MethodPost, "/agent-runs", `{"prompt":"`+strings.Repeat("x", 17<<20)+`"}`)
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("too much is answered with %s", resp.Status)
	}
}

func TestWhatErrorsOfTheRouterLookLike(t *testing.T) {
	t.Parallel()
	surface := new(Surface)
	for _, e := range []server.Error{{Status: 429, Code: "rate_limited", Message: "m"}, {Status: 503, Code: "unavailable", Message: "m"}} {
		w := httptest.NewRecorder()
		surface.WriteError(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody), &e)
		if want := fmt.Sprintf(`{"error":%q,"code":%q,"message":"m","hint":"m"}`+"\n", e.Code, e.Code); w.Code != e.Status || w.Body.String() != want {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// What a server that ends, or has no store now, does not answer is no failure, and
// is asked again.
func TestAServerThatCannotAnswerNowIsAskedAgain(t *testing.T) {
	t.Parallel()
	ending, end := context.WithCancelCause(t.Context())
	end(server.ErrDraining)
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{ending, context.Canceled, "the server is shutting down"},
		{t.Context(), fmt.Errorf("read turn t: %w: dial tcp 10.0.0.1:5432", store.ErrUnavailable), "the store cannot be reached"},
	} {
		w := httptest.NewRecorder()
		refused := &call{Surface: &Surface{settings: Settings{Logger: zap.NewNop()}}, w: w, r: httptest.NewRequestWithContext(c.ctx, http.MethodGet, "/", http.NoBody)}
		refused.writeError(c.err)
		want := fmt.Sprintf(`{"error":"unavailable","code":"unavailable","message":%q,"hint":%q}`+"\n", c.want, c.want)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || w.Body.String() != want {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
	}
}

// An agent that went away with the configuration looks as one that was never
// there: what is near to it may be another credential's.
func TestAnAgentThatIsGoneHasNoNeighbours(t *testing.T) {
	t.Parallel()
	gone := &resolve.AgentNotFoundError{Reference: resolve.Reference{ID: "clerk", Nearest: "clerks-of-others"}}
	c := &call{Surface: &Surface{settings: Settings{Logger: zap.NewNop()}}, r: httptest.NewRequest(http.MethodGet, "/", http.NoBody)}
	e := c.requestErrorOf(fmt.Errorf("begin: %w", gone))
	if e.Code != codeForbidden || e.Message != `agent "clerk" is not available with this credential` || e.Hint != "" {
		t.Errorf("%+v", e)
	}
}

func TestModelsAndWhoAsks(t *testing.T) {
	t.Parallel()
	w := serving(t)
	if answer := w.must(http.StatusOK, http.MethodGet, "/models", ""); answer["defaultModelId"] != "platform:fast" || len(answer["models"].([]any)) != 1 {
		t.Errorf("the models are %v", answer)
	}
	answer := w.must(http.StatusOK, http.MethodGet, "/api/oauth/userinfo", "")
	if want := (map[string]any{"sub": "alice", "email": nil, "workspace": map[string]any{"id": "alices", "slug": "alices", "name": "alices"}}); !reflect.DeepEqual(answer, want) {
		t.Errorf("alice is %v", answer)
	}
}

// TestUnknownFieldsOverA2AAreNamed sends fields that have no effect: the answer is the
// same, and names them.
func TestUnknownFieldsOverA2AAreNamed(t *testing.T) {
	t.Parallel()
	w := serving(t)
	const quiet = `"metadata":{"a":1},"configuration":{"acceptedOutputModes":["text/plain"],"blocking":true,"historyLength":1},`
	for name, c := range map[string]struct{ more, params, message, part, warned string }{
		"known ones":        {params: quiet, message: `"metadata":{"a":1},"extensions":["e"],"kind":"message",`, part: `"metadata":{"a":1},`},
		"in another case":   {message: `"contextID":"",`},
		"null":              {message: `"taskId":null,"referenceTaskIds":null,`},
		"of the request":    {more: `"colour":1,`, warned: "colour: unknown field"},
		"of the parameters": {params: `"colour":1,`, warned: "params.colour: unknown field"},
		"of the message":    {message: `"contextld":"x",`, warned: `params.message.contextld: unknown field; did you mean \"contextId\"?`},
		"of a part":         {part: `"mood":"x",`, warned: "params.message.parts[0].mood: unknown field"},
		"no waiting":        {params: `"configuration":{"blocking":false},`, warned: "params.configuration.blocking: the answer is sent when"},
		"of its own":        {params: `"configuration":{"color":1},`, warned: "params.configuration.color: unknown field"},
	} {
		body := `{` + c.more + `"jsonrpc":"2.0","id":7,"method":"message/send","params":{` + c.params + `"message":{` + c.message + `"role":"user","messageId":"m","parts":[{` + c.part + `"kind":"text","text":"say hello"}]}}}`
		resp := w.request(http.MethodPost, "/api/a2a/alices/agents/clerk", body)
		answer, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(resp.Header.Values("Warning"), ", "); resp.StatusCode != http.StatusOK || !strings.Contains(string(answer), `"hello"`) || got == "" != (c.warned == "") || !strings.Contains(got, c.warned) {
			t.Errorf("%s: %s, warned of %q: %s", name, resp.Status, got, answer)
		}
	}
}

func TestAgentsAnswerOverA2A(t *testing.T) {
	t.Parallel()
	w := serving(t)
	const at = "/api/a2a/alices/agents/clerk"
	send := func(text, more string) map[string]any {
		return w.must(http.StatusOK, http.MethodPost, at, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"message/send","params":{"message":{"role":"user","messageId":"m","parts":[{"kind":"text","text":%q}]%s}}}`, text, more))
	}
	answer := send("say hello", "")
	message, _ := answer["result"].(map[string]any)
	if answer["id"] != 7.0 || message["role"] != "agent" || message["kind"] != "message" || !strings.Contains(fmt.Sprint(message["parts"]), "text:hello") || !strings.Contains(fmt.Sprint(message["metadata"]), "turns:1") {
		t.Fatalf("it says %v", answer)
	}
	again := send("recall", fmt.Sprintf(`,"contextId":%q`, message["contextId"]))
	if !strings.Contains(fmt.Sprint(again["result"]), "assistant: hello") {
		t.Errorf("it says %v", again)
	}
	if failed := send("fail unauthorized", ""); !strings.Contains(fmt.Sprint(failed["error"]), "auth") {
		t.Errorf("it says %v", failed)
	}
	for body, code := range map[string]float64{
		`{`: rpcParse, `[]`: rpcRequest, `{"jsonrpc":"2.0","id":1,"method":"x"}`: rpcMethod, `{"jsonrpc":"2.0","id":1,"method":"message/send"}`: rpcParams,
	} {
		if e, _ := w.must(http.StatusOK, http.MethodPost, at, body)["error"].(map[string]any); e["code"] != code {
			t.Errorf("%s: %v", body, e)
		}
	}
	for body, want := range map[string]string{
		`{"id"`:           "the body is not valid JSON: unexpected end of JSON input at byte 5",
		`{"id":1,"id":2}`: `the body: the key "id" is there twice`,
	} {
		if e, _ := w.must(http.StatusOK, http.MethodPost, at, body)["error"].(map[string]any); e["message"] != want {
			t.Errorf("%s: %v", body, e)
		}
	}
	card := w.must(http.StatusOK, http.MethodGet, at+"/.well-known/agent-card.json", "")
	if card["name"] != "clerk" || card["url"] != at {
		t.Errorf("the card is %v", card)
	}
	if found := w.must(http.StatusOK, http.MethodGet, "/api/a2a/alices/discovery", ""); len(found["agents"].([]any)) != 1 {
		t.Errorf("there are %v", found)
	}
}
