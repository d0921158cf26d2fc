package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"go.uber.org/zap"
)

// vendorWorld is a configuration with an agent on a model of each vendor. %s is the vendors'
// address.
const vendorWorld = `version: 1
providers:
  openai: {type: openai, api: chat_completions, base_url: "%[1]s/openai", api_key: "${VENDOR_KEY:-k}"}
  responses: {type: openai, api: responses, base_url: "%[1]s/responses", api_key: "${VENDOR_KEY:-k}"}
  anthropic: {type: anthropic, base_url: "%[1]s/anthropic", api_key: "${VENDOR_KEY:-k}"}
  google: {type: google, base_url: "%[1]s/google", api_key: "${VENDOR_KEY:-k}"}
models:
  openai: {provider_id: openai, upstream_model: gpt-x}
  responses: {provider_id: responses, upstream_model: gpt-x}
  anthropic: {provider_id: anthropic, upstream_model: claude-x, max_output_tokens: 100}
  google: {provider_id: google, upstream_model: gemini-x}
tools: {refund: {type: command, description: Refunds., command: [cat]}}
agents:
  openai: &agent {model_id: openai, plugin_ids: [permission], sections: {retry: {max_retries: 0}, permission: {rules: [{tool: refund, behavior: ask}]}}}
  responses: {<<: *agent, model_id: responses}
  anthropic: {<<: *agent, model_id: anthropic}
  google: {<<: *agent, model_id: google}
store: {driver: memory}
server:
  listen: 127.0.0.1:0
  keys: [{id: ann, key: ` + annKey + `, tenant: acme, subject: ann}]
  a2a: {v0_3: true, grpc_listen: "127.0.0.1:0", default_agent: openai}
`

// vendorStub serves as all vendors: it answers the first request with bytes and rejects the others,
// so that the turn ends.
type vendorStub struct {
	mu    sync.Mutex
	bytes []byte
	asked int
	// faults are defects in the requests.
	faults []string
}

func (m *vendorStub) says(b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes, m.asked, m.faults = b, 0, nil
}

func (m *vendorStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil || !json.Valid(body) || bytes.IndexByte(body, 0) >= 0 {
		m.faults = append(m.faults, fmt.Sprintf("request %d of %s: %.200q, %v", m.asked, r.URL.Path, body, err))
	}
	m.asked++
	if m.asked > 1 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(m.bytes)
}

// badArguments are texts that a model may write instead of call arguments.
var badArguments = []string{
	`{"v":`, ``, `null`, `7`, `"{}"`, `[]`, "\x00", "{\"v\":\"\xff\"}", `{"v":"\ud800"}`, `{"v":1e999999}`, `{"a":1,"a":2}`, `{}{}`,
	strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000), `{"v":"` + strings.Repeat("x", 1<<20) + `"}`,
}

// callOf is a vendor's answer that calls a tool.
func callOf(vendor, id, name, arguments string) []byte {
	quoted := func(text string) string {
		encoded, _ := json.Marshal(text) // a text always encodes
		return string(encoded)
	}
	switch vendor {
	case "openai":
		return []byte(`data: {"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":` + quoted(id) + `,"function":{"name":` + quoted(name) + `,"arguments":` + quoted(arguments) + `}}]}}]}` +
			"\n\n" + `data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n")
	case "responses":
		item := `"type":"function_call","id":"fc_1","call_id":` + quoted(id) + `,"name":` + quoted(name)
		return []byte("event: response.output_item.added\n" + `data: {"type":"response.output_item.added","output_index":0,"item":{` + item + `,"arguments":""}}` + "\n\n" +
			"event: response.function_call_arguments.delta\n" + `data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":` + quoted(arguments) + `}` + "\n\n" +
			"event: response.output_item.done\n" + `data: {"type":"response.output_item.done","output_index":0,"item":{` + item + `,"arguments":` + quoted(arguments) + `}}` + "\n\n" +
			"event: response.completed\n" + `data: {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\n")
	case "anthropic":
		return []byte("event: message_start\n" + `data: {"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\n" +
			"event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":` + quoted(id) + `,"name":` + quoted(name) + `,"input":{}}}` + "\n\n" +
			"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":` + quoted(arguments) + `}}` + "\n\n" +
			"event: content_block_stop\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n" +
			"event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}` + "\n\n" +
			"event: message_stop\n" + `data: {"type":"message_stop"}` + "\n\n")
	default:
		if !json.Valid([]byte(arguments)) {
			arguments = `{"v":` + quoted(arguments) + `}`
		}
		return []byte(`data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":` + quoted(id) + `,"name":` + quoted(name) + `,"args":` + arguments + `}}]},"finishReason":"STOP"}]}` + "\n\n")
	}
}

var vendorNames = []string{"openai", "anthropic", "google", "responses"}

// FuzzEverySurfaceShowsWhatAModelSends feeds the bytes of a vendor's answer to a server: for any
// bytes, the run can be read to its end on every surface, and the next request to the vendor is
// valid JSON.
func FuzzEverySurfaceShowsWhatAModelSends(f *testing.F) {
	for n, vendor := range vendorNames {
		for _, arguments := range badArguments {
			f.Add(uint8(n), callOf(vendor, "call_1", "refund", arguments))
			f.Add(uint8(n), callOf(vendor, "call_1", "lookup", arguments))
		}
		f.Add(uint8(n), callOf(vendor, "a\x00b", "ref\x00und", `{"v":"\u0000"}`))
	}
	m := new(vendorStub)
	w := speaking(f, m)
	conn, methods := w.dialGRPC(f, "openai"), grpcMethods()
	f.Fuzz(func(t *testing.T, n uint8, said []byte) {
		m.says(said)
		agent := vendorNames[int(n)%len(vendorNames)]
		id := checkShown(t, w, agent)
		asked := map[string]string{newGRPC + "GetTask": `{"tenant":"` + agent + `","id":"` + id + `"}`}
		if agent == "openai" { // reached by 0.3 over gRPC
			asked[oldGRPC+"GetTask"] = `{"name":"tasks/` + id + `"}`
		}
		for method, body := range asked {
			if got, err := invoke(t, conn, methods[method], body, bearer(annKey)); err != nil || !strings.Contains(got, id) {
				t.Errorf("%s: %.200s, %v", method, got, err)
			}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, fault := range m.faults {
			t.Error(fault)
		}
	})
}

func speaking(f *testing.F, m *vendorStub) *town {
	f.Helper()
	vendors := httptest.NewServer(m)
	f.Cleanup(vendors.Close)
	return &town{served: serveLogged(f, fmt.Sprintf(vendorWorld, vendors.URL), oneReply, zap.NewNop())}
}

// checkShown runs an agent, reads the run on every HTTP surface, and returns its id.
func checkShown(t *testing.T, w *town, agent string) (id string) {
	t.Helper()
	run := w.readable(t, http.MethodPost, annPath+"/agent-runs", `{"agentId":"`+agent+`","prompt":"go"}`)
	id, _ = run["runId"].(string)
	turn := "/runtime/v1/turns/" + id
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for status := ""; status != "succeeded" && status != "failed" && status != "canceled"; <-tick.C {
		got := w.readable(t, http.MethodGet, turn, "")
		if status, _ = got["status"].(string); status == "waiting" {
			w.readable(t, http.MethodGet, "/a2a/"+agent+"/tasks/"+id, "")
			w.readable(t, http.MethodGet, turn+"/interactions", "")
			w.readable(t, http.MethodPost, turn+"/cancel", `{}`)
		}
	}
	w.readable(t, http.MethodGet, turn+"/events?limit=1000", "")
	w.readable(t, http.MethodGet, "/a2a/"+agent+"/tasks/"+id, "")
	w.readable(t, http.MethodPost, "/a2a/"+agent, `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"`+id+`"}}`)
	w.readable(t, http.MethodGet, annPath+"/agent-runs/"+id, "")
	last := map[string]any{}
	for _, data := range w.frames(t, turn+"/events") {
		ev, err := event.Decode([]byte(data))
		if err != nil {
			t.Errorf("native: %.200s: %v", data, err)
		}
		if again, err := json.Marshal(ev); err != nil { // as in the command line
			t.Errorf("written again: %.200s: %v", again, err)
		}
		if last, err = decodeNumbers(data); err != nil {
			t.Errorf("native: %.200s: %v", data, err)
		}
	}
	if last["event_type"] != string(event.TypeRunFinish) {
		t.Errorf("the events end with %v", last)
	}
	last = map[string]any{}
	for _, data := range w.frames(t, annPath+"/agent-runs/"+id+"/stream") {
		var err error
		if last, err = decodeNumbers(data); err != nil {
			t.Errorf("agent-runs: %.200s: %v", data, err)
		}
		if input, ok := last["input"]; ok && fmt.Sprintf("%T", input) != "map[string]interface {}" {
			t.Errorf("the input of a call is %v", input)
		}
	}
	if kind := last["type"]; kind != "result" && kind != "error" && kind != "cancelled" {
		t.Errorf("the run ends with %v", last)
	}
	return id
}

// readable sends a request as ann and returns the answer. Its numbers may exceed the range of
// float64.
func (w *town) readable(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	got := w.ask(t, method, path, body, bearer(annKey))
	answer, err := decodeNumbers(got.body)
	if err != nil || got.status >= http.StatusBadRequest || answer["error"] != nil && path[:4] == "/a2a" {
		t.Fatalf("%s %s: %d %.400s, %v", method, path, got.status, got.body, err)
	}
	return answer
}

func decodeNumbers(text string) (fields map[string]any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err = d.Decode(&fields)
	return fields, err
}

// frames returns the data of a stream, which must end properly.
func (w *town) frames(t *testing.T, path string) (data []string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.LocalURL()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = bearer(annKey)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", path, resp.StatusCode, err)
	}
	for lines := bufio.NewReader(bytes.NewReader(body)); ; {
		line, err := lines.ReadString('\n')
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			data = append(data, text)
		}
		if err != nil {
			return data
		}
	}
}
