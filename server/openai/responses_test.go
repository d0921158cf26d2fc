package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/surfacetest"
	"github.com/agentruntime/agentruntime/server/openai/internal/responses"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
	"github.com/agentruntime/agentruntime/service"
)

const weatherFunction = `{"type":"function","name":"get_weather","description":"The weather.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]},"strict":true}`

// ask returns a request of clerk for a response.
func respond(input, fields string) string {
	return fmt.Sprintf(`{"model":"clerk","input":%s%s}`, input, fields)
}

// result is what tests read of a response.
type result struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Previous string `json:"previous_response_id"`
	Output   []struct {
		Type, ID, Name, Arguments, Status, Phase string
		CallID                                   string `json:"call_id"`
		Request                                  string `json:"approval_request_id"`
		Output                                   *string
		Content                                  []struct{ Text string }
	}
	Error *responses.Failure
}

// text returns the texts of the messages, as clients join them.
func (r *result) text() string {
	var b strings.Builder
	for _, i := range r.Output {
		for _, c := range i.Content {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

func TestResponses(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for name, body := range map[string]string{
		"text":         respond(`"hi"`, `,"metadata":{"a":"b"},"user":"u1","include":[],"tools":[]`),
		"instructions": respond(`[{"role":"user","content":[{"type":"input_text","text":"who are you"}]}]`, `,"instructions":"Be ${brief}."`),
		"thoughts":     respond(`"think"`, `,"reasoning":{"effort":"low","summary":"auto"}`),
		"form":         respond(`"json"`, `,"text":{"format":{"type":"json_schema","name":"person","schema":{"type":"object"}}}`),
		"length":       respond(`"long"`, `,"max_output_tokens":3`),
		"tool":         respond(`"look"`, ""),
		"function":     respond(`"weather"`, `,"tools":[`+weatherFunction+`],"tool_choice":"auto"`),
		"approval":     respond(`"pay"`, ""),
		"question":     respond(`"ask"`, ""),
		"failure":      respond(`"break"`, ""),
	} {
		whole := w.Ask("alice", "POST /v1/responses", body, http.StatusOK)
		surfacetest.Golden(t, "response-"+name+".json", whole)
		stream := w.Ask("alice", "POST /v1/responses", strings.Replace(body, `"model"`, `"stream":true,"model"`, 1), http.StatusOK)
		surfacetest.Golden(t, "response-"+name+".sse", stream)
		var r result
		if err := json.Unmarshal(whole, &r); err != nil {
			t.Fatal(err)
		}
		if again := w.Ask("alice", "GET /v1/responses/"+r.ID, "", http.StatusOK); !bytes.Equal(again, whole) {
			t.Errorf("%s is read as %s, and was %s", name, again, whole)
		}
		last := lastEvent(t, stream)
		var end struct{ Response result }
		if err := json.Unmarshal(last, &end); err != nil {
			t.Fatalf("%v: %s", err, last)
		}
		id := end.Response.ID
		if again := w.Ask("alice", "GET /v1/responses/"+id+"?stream=true", "", http.StatusOK); !bytes.Equal(again, stream) {
			t.Errorf("%s is streamed again as %s", name, again)
		}
		events := bytes.SplitAfter(stream, []byte("\n\n"))
		for after := range len(events) - 1 {
			again := w.Ask("alice", fmt.Sprintf("GET /v1/responses/%s?stream=true&starting_after=%d&include[]=x", id, after), "", http.StatusOK)
			if !bytes.Equal(again, bytes.Join(events[after+1:], nil)) {
				t.Errorf("%s after %d is %s", name, after, again)
			}
		}
	}
	if w.Pay.Count() != 0 {
		t.Error("a tool was called that needs approval")
	}
}

// lastEvent returns the data of the last event of a stream.
func lastEvent(t *testing.T, stream []byte) (last []byte) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(stream))
	lines.Buffer(nil, len(stream)+1)
	for lines.Scan() {
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
			last = bytes.Clone(data)
		}
	}
	return last
}

func TestAResponseContinuesAnother(t *testing.T) {
	t.Parallel()
	w := serving(t)
	first := get[result](w, "POST /v1/responses", respond(`"one"`, ""))
	for range 2 { // a fork is legal
		second := get[result](w, "POST /v1/responses", respond(`"history"`, `,"previous_response_id":"`+first.ID+`"`))
		if second.text() != "system:Answer.|user:one|assistant:You said one|user:history" || second.Previous != first.ID {
			t.Errorf("it is %+v", second)
		}
	}
	for name, body := range map[string]string{
		"unknown":                  respond(`"x"`, `,"previous_response_id":"resp_x"`),
		"no response":              respond(`"x"`, `,"previous_response_id":"chatcmpl-x"`),
		"a segment that is not":    respond(`"x"`, `,"previous_response_id":"`+first.ID+`_1"`),
		"another caller's":         respond(`"x"`, `,"previous_response_id":"`+first.ID+`"`),
		"a key for other agents's": strings.Replace(respond(`"x"`, `,"previous_response_id":"`+first.ID+`"`), "clerk", "plain", 1),
	} {
		key := map[string]string{"another caller's": "bob", "a key for other agents's": "ann"}[name]
		if key == "" {
			key = "alice"
		}
		if got := w.failing(key, "POST /v1/responses", body, http.StatusBadRequest); got != "previous_response_not_found previous_response_id" {
			t.Errorf("%s gives %s", name, got)
		}
	}
	both := respond(`"x"`, `,"previous_response_id":"`+first.ID+`","conversation":"conv_x"`)
	if got := w.failing("alice", "POST /v1/responses", both, http.StatusBadRequest); got != "invalid_value previous_response_id" {
		t.Errorf("both give %s", got)
	}
	broken := get[result](w, "POST /v1/responses", respond(`"break"`, ""))
	w.failing("alice", "POST /v1/responses", respond(`"x"`, `,"previous_response_id":"`+broken.ID+`"`), http.StatusBadRequest)
	unstored := get[result](w, "POST /v1/responses", respond(`"x"`, `,"store":false`))
	w.failing("alice", "GET /v1/responses/"+unstored.ID, "", http.StatusNotFound)
	w.failing("alice", "POST /v1/responses", respond(`"x"`, `,"previous_response_id":"`+unstored.ID+`"`), http.StatusBadRequest)
}

func output(id, text string) string {
	return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%q}`, id, text)
}

// TestAResponseWaitsForFunctions: with the previous response, and with the whole history.
func TestAResponseWaitsForFunctions(t *testing.T) {
	t.Parallel()
	w := serving(t)
	const functions = `,"tools":[` + weatherFunction + `]`
	for _, chained := range []bool{true, false} {
		last := get[result](w, "POST /v1/responses", respond(`[`+said("weather again")+`]`, functions))
		history := said("weather again")
		for round := range 2 {
			call := last.Output[len(last.Output)-1]
			if last.Status != "completed" || call.Type != "function_call" || call.Arguments != `{"city":"Bern"}` {
				t.Fatalf("round %d: %+v", round, last)
			}
			given := output(call.CallID, fmt.Sprintf("sunny %d", round))
			history += fmt.Sprintf(`,{"type":"function_call","call_id":%q,"name":"get_weather","arguments":"{}"},%s`, call.CallID, given)
			body := respond(`[`+history+`]`, functions)
			if chained {
				body = respond(`[`+given+`]`, functions+`,"previous_response_id":"`+last.ID+`"`)
			}
			next := get[result](w, "POST /v1/responses", body)
			if again := get[result](w, "POST /v1/responses", body); again.ID != next.ID || again.text() != next.text() {
				t.Errorf("the same again is %+v", again)
			}
			if next.Previous != last.ID {
				t.Errorf("it follows %s", next.Previous)
			}
			if input := string(w.Ask("alice", "GET /v1/responses/"+next.ID+"/input_items", "", http.StatusOK)); !strings.Contains(input, fmt.Sprintf(`"output":"sunny %d"`, round)) {
				t.Errorf("its input is %s", input)
			}
			last = next
		}
		if last.text() != "It is sunny 1." {
			t.Errorf("it ends as %+v", last)
		}
	}
	whole := get[result](w, "POST /v1/responses", respond(`[`+said("weather")+`]`, functions))
	call := whole.Output[0]
	rest := fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":"get_weather","arguments":"{}"},%s`, call.CallID, output(call.CallID, "sunny"))
	first := get[result](w, "POST /v1/responses", respond(`[`+said("weather")+`,`+rest+`]`, functions))
	edited := get[result](w, "POST /v1/responses", respond(`[`+said("hail")+`,`+rest+`]`, functions))
	if first.ID != whole.ID+"_1" || strings.HasPrefix(edited.ID, whole.ID) {
		t.Errorf("%s gives %s, and edited %s", whole.ID, first.ID, edited.ID)
	}
	begun := get[result](w, "POST /v1/responses", respond(`"weather twice"`, functions))
	other := strings.Replace(respond(`[`+output(begun.Output[0].CallID, "sunny")+`]`, `,"previous_response_id":"`+begun.ID+`"`), "clerk", "plain", 1)
	if got := w.failing("alice", "POST /v1/responses", other, http.StatusBadRequest); got != "invalid_value model" {
		t.Errorf("another model gives %s", got)
	}
	one := output(begun.Output[0].CallID, "sunny")
	for name, input := range map[string]string{"one of two": one, "the same twice": one + "," + one, "an unknown one": output("call_x", "?"), "a message": said("never mind")} {
		w.failing("alice", "POST /v1/responses", respond(`[`+input+`]`, `,"previous_response_id":"`+begun.ID+`"`), http.StatusBadRequest)
		_ = name
	}
	both := get[result](w, "POST /v1/responses", respond(`[`+output(begun.Output[1].CallID, "rainy")+","+one+`]`, `,"previous_response_id":"`+begun.ID+`"`))
	if both.text() != "It is sunny and rainy." {
		t.Errorf("it is %+v", both)
	}
	// A response whose calls were answered has no second continuation.
	for _, fields := range []string{"", `,"stream":true`, `,"background":true`} {
		w.failing("alice", "POST /v1/responses", respond(`"branch"`, fields+`,"previous_response_id":"`+begun.ID+`"`), http.StatusBadRequest)
	}
}

func TestDeletingARunningResponseCancelsIt(t *testing.T) {
	t.Parallel()
	w := serving(t)
	r := get[result](w, "POST /v1/responses", respond(`"hang"`, `,"background":true`))
	caller := service.Caller{Tenant: "acme", Subject: "alice"}
	turn := w.turnOf(caller, func(turn *service.Turn) bool { return turn.Status == service.Running && turn.Seq >= 3 })
	if d := get[responses.DeletedView](w, "DELETE /v1/responses/"+r.ID, ""); !d.Deleted {
		t.Errorf("deleted it is %+v", d)
	}
	ended, err := w.Service.WaitTurn(t.Context(), caller, turn.ID)
	if err != nil || ended.Status != service.Canceled {
		t.Errorf("%v: the turn is %+v", err, ended)
	}
	for _, request := range []string{"GET /v1/responses/ID", "GET /v1/responses/ID?stream=true", "POST /v1/responses/ID/cancel", "DELETE /v1/responses/ID", "GET /v1/responses/ID/input_items"} {
		w.failing("alice", strings.Replace(request, "ID", r.ID, 1), "", http.StatusNotFound)
	}
}

// TestACanceledOrDeletedResponseIsNotApproved ends responses that wait for an approval.
func TestACanceledOrDeletedResponseIsNotApproved(t *testing.T) {
	t.Parallel()
	w := serving(t)
	before := w.Pay.Count()
	for _, end := range []string{"POST /v1/responses/%s/cancel", "DELETE /v1/responses/%s"} {
		asked := get[result](w, "POST /v1/responses", respond(`"pay"`, ""))
		w.Ask("alice", fmt.Sprintf(end, asked.ID), "", http.StatusOK)
		approval := fmt.Sprintf(`[{"type":"mcp_approval_response","approval_request_id":%q,"approve":true}]`, asked.Output[0].ID)
		w.failing("alice", "POST /v1/responses", respond(approval, ""), http.StatusBadRequest)
	}
	if n := w.Pay.Count(); n != before {
		t.Errorf("the tool ran %d times", n-before)
	}
}

func TestApprovalsAndQuestionsAreItems(t *testing.T) {
	t.Parallel()
	w := serving(t)
	answer := func(id string, approve bool) string {
		return fmt.Sprintf(`[{"type":"mcp_approval_response","approval_request_id":%q,"approve":%t,"reason":"too much"}]`, id, approve)
	}
	for _, chained := range []bool{true, false} {
		asked := get[result](w, "POST /v1/responses", respond(`"pay"`, ""))
		request := asked.Output[0]
		fields := ""
		if chained {
			fields = `,"previous_response_id":"` + asked.ID + `"`
		}
		if request.Type != "mcp_approval_request" || request.Name != "pay" || asked.Status != "completed" {
			t.Fatalf("it is %+v", asked)
		}
		before := w.Pay.Count()
		done := get[result](w, "POST /v1/responses", respond(answer(request.ID, true), fields))
		if w.Pay.Count() != before+1 || done.Output[0].Type != "mcp_call" || done.Output[0].Request != request.ID || done.text() != "It is pay done." {
			t.Errorf("approved it is %+v", done)
		}
		w.failing("alice", "POST /v1/responses", respond(answer(request.ID, false), fields), http.StatusBadRequest)
		asked = get[result](w, "POST /v1/responses", respond(`"pay"`, ""))
		if chained {
			fields = `,"previous_response_id":"` + asked.ID + `"`
		}
		refused := get[result](w, "POST /v1/responses", respond(answer(asked.Output[0].ID, false), fields))
		if w.Pay.Count() != before+1 || !strings.Contains(refused.text(), "too much") {
			t.Errorf("refused it is %+v", refused)
		}
	}
	asked := get[result](w, "POST /v1/responses", respond(`"ask"`, ""))
	told := get[result](w, "POST /v1/responses", respond(`"Bern"`, `,"previous_response_id":"`+asked.ID+`"`))
	if asked.text() != "Which city?" || told.text() != "It is Bern." {
		t.Errorf("asked %q, and told %q", asked.text(), told.text())
	}
}

func TestBackgroundResponses(t *testing.T) {
	t.Parallel()
	w := serving(t)
	r := get[result](w, "POST /v1/responses", respond(`"hi"`, `,"background":true`))
	for r.Status == "queued" || r.Status == "in_progress" {
		r = get[result](w, "GET /v1/responses/"+r.ID, "")
	}
	if r.Status != "completed" || r.text() != "You said hi" {
		t.Errorf("it is %+v", r)
	}
	if got := w.failing("alice", "POST /v1/responses", respond(`"hi"`, `,"background":true,"store":false`), http.StatusBadRequest); got != "invalid_value background" {
		t.Errorf("unstored gives %s", got)
	}
	long := get[result](w, "POST /v1/responses", respond(`"hang"`, `,"background":true`))
	w.turnOf(service.Caller{Tenant: "acme", Subject: "alice"}, func(turn *service.Turn) bool { return turn.Status == service.Running && turn.Seq >= 3 })
	if got := w.failing("alice", "POST /v1/responses", respond(`"x"`, `,"previous_response_id":"`+long.ID+`"`), http.StatusBadRequest); got != "invalid_value previous_response_id" {
		t.Errorf("one that runs gives %s", got)
	}
	for range 2 {
		if r := get[result](w, "POST /v1/responses/"+long.ID+"/cancel", ""); r.Status != "cancelled" || r.text() != "well" {
			t.Errorf("canceled it is %+v", r)
		}
	}
	stream := w.Ask("alice", "GET /v1/responses/"+long.ID+"?stream=true", "", http.StatusOK)
	if last := string(lastEvent(t, stream)); !strings.Contains(last, `"type":"response.incomplete"`) || !strings.Contains(last, `"status":"cancelled"`) {
		t.Errorf("the stream ends with %s", last)
	}
	if d := get[responses.DeletedView](w, "DELETE /v1/responses/"+long.ID, ""); !d.Deleted || d.ID != long.ID {
		t.Errorf("deleted it is %+v", d)
	}
	w.failing("alice", "GET /v1/responses/"+long.ID, "", http.StatusNotFound)
	w.failing("alice", "POST /v1/responses", respond(`"x"`, `,"previous_response_id":"`+long.ID+`"`), http.StatusBadRequest)
}

func TestTheInputOfAResponseIsAList(t *testing.T) {
	t.Parallel()
	w := serving(t)
	const picture = "data:image/png;base64,iVBORw0KGgo="
	r := get[result](w, "POST /v1/responses", respond(`[{"role":"developer","content":"Be brief."},{"role":"user","content":[{"type":"input_text","text":"see"},`+
		`{"type":"input_image","image_url":"`+picture+`"},{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}]}]`, ""))
	surfacetest.Golden(t, "input.json", w.Ask("alice", "GET /v1/responses/"+r.ID+"/input_items?order=asc", "", http.StatusOK))
	page := get[responses.ItemList](w, "GET /v1/responses/"+r.ID+"/input_items?limit=1", "")
	if len(page.Data) != 1 || !page.HasMore || page.LastID == nil {
		t.Fatalf("the page is %+v", page)
	}
	next := get[responses.ItemList](w, "GET /v1/responses/"+r.ID+"/input_items?limit=1&after="+*page.LastID, "")
	if len(next.Data) != 1 || next.HasMore || responses.IDOf(next.Data[0]) == *page.LastID {
		t.Errorf("the next page is %+v", next)
	}
	// Items that are known are referred to.
	about := get[result](w, "POST /v1/responses", respond(fmt.Sprintf(`[{"type":"item_reference","id":%q},{"type":"item_reference","id":%q},%s]`, *page.LastID, r.Output[0].ID, said("history")), ""))
	if !strings.HasPrefix(about.text(), "system:Answer.|") || !strings.Contains(about.text(), "assistant:You said see|user:history") {
		t.Errorf("it is %q", about.text())
	}
	if got := w.failing("bob", "POST /v1/responses", respond(fmt.Sprintf(`[{"type":"item_reference","id":%q}]`, r.Output[0].ID), ""), http.StatusBadRequest); got != "invalid_value input[0]" {
		t.Errorf("another caller's item gives %s", got)
	}
}

func TestResponsesRefuseWhatTheyCannotHonor(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for body, want := range map[string]string{
		`{"input":"hi"}`:                                               "missing_required_parameter model",
		`{"model":"clerk"}`:                                            "missing_required_parameter input",
		respond(`7`, ""):                                               "invalid_value input",
		respond(`"hi"`, `,"max_tool_calls":1`):                         "unsupported_parameter max_tool_calls",
		respond(`"hi"`, `,"prompt":{"id":"x"}`):                        "unsupported_parameter prompt",
		respond(`"hi"`, `,"truncation":"some"`):                        "unsupported_parameter truncation",
		respond(`"hi"`, `,"tools":[{"type":"web_search"}]`):            "invalid_value tools[0].type",
		respond(`"hi"`, `,"tools":[{"type":"function","name":"a b"}]`): "invalid_value tools[0].name",
		respond(`"hi"`, `,"reasoning":{"summary":"long"}`):             "invalid_value reasoning.summary",
		respond(`"hi"`, `,"text":{"format":{"type":"grammar"}}`):       "invalid_value text.format.type",
		respond(`"hi"`, `,"conversation":7`):                           "invalid_value conversation",
		respond(`[{"type":"computer_call"}]`, ""):                      "invalid_value input[0]",
		respond(`[{"role":"tool","content":"x"}]`, ""):                 "invalid_value input[0].role",
		respond(`"hi"`, `,"text":{"verbosity":"chatty"}`):              "invalid_value text.verbosity",
		respond(`[{"type":"item_reference","id":"msg_x_1"}]`, ""):      "invalid_value input[0]",
		respond(`[{"type":"mcp_approval_response"}]`, ""):              "missing_required_parameter input[0].approve",
		respond(`[{"role":"assistant","content":"x"}]`, ""):            "invalid_value input",
	} {
		if got := w.failing("alice", "POST /v1/responses", body, http.StatusBadRequest); got != want {
			t.Errorf("%s gives %s and should give %s", body, got, want)
		}
	}
}

// TestEveryRouteHidesWhatBelongsToAnotherKey: ids of others look unknown.
func TestEveryRouteHidesWhatBelongsToAnotherKey(t *testing.T) {
	t.Parallel()
	w := serving(t)
	r := get[result](w, "POST /v1/responses", respond(`"hi"`, ""))
	for _, request := range []string{"GET /v1/responses/ID", "GET /v1/responses/ID?stream=true", "POST /v1/responses/ID/cancel", "DELETE /v1/responses/ID", "GET /v1/responses/ID/input_items"} {
		for _, key := range []string{"bob", "ann"} {
			foreign := string(w.Ask(key, strings.Replace(request, "ID", r.ID, 1), "", http.StatusNotFound))
			unknown := string(w.Ask(key, strings.Replace(request, "ID", "resp_x", 1), "", http.StatusNotFound))
			if strings.ReplaceAll(foreign, r.ID, "resp_x") != unknown {
				t.Errorf("%s: %s, and an unknown one %s", request, foreign, unknown)
			}
		}
		w.failing("", strings.Replace(request, "ID", r.ID, 1), "", http.StatusUnauthorized)
		w.failing("joe", strings.Replace(request, "ID", r.ID, 1), "", http.StatusForbidden)
	}
}

// TestAResponseOutlivesItsLog: the outcome of the turn is kept longer.
func TestAResponseOutlivesItsLog(t *testing.T) {
	t.Parallel()
	f := run.NewFold("resp_x", "clerk", run.Record{Echo: new(run.Echo)}, 0)
	f.Finish(&event.RunFinish{Termination: event.Termination{Type: event.NaturalEnd}, Result: &event.Output{Response: "Yes."}})
	if e := f.Over(); e == nil || len(e.Items) != 1 || string(e.Items[0].Text) != "Yes." {
		t.Errorf("it ends as %+v", e)
	}
}
