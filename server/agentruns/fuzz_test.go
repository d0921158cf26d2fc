package agentruns

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/service"
)

// The bodies that the fuzzing begins with.
var (
	seedSpecs = []string{
		`{}`, `{"systemPrompt":"s"}`, `{"agentId":"clerk"}`, `{"systemPrompt":"s","modelId":"provider:main:gpt-5.5","reasoningLevel":"high","name":"n"}`,
		`{"systemPrompt":"s","tools":[{"kind":"local","name":"a","parameters":{"type":"object"},"longRunning":true},{"kind":"mantyx","id":"weather"},{"kind":"mantyx_plugin","name":"@jira/search"},` +
			`{"kind":"a2a","name":"p","agentCardUrl":"https://x.example","headers":{"A":"b"}},{"kind":"mcp","name":"m","url":"https://x.example","toolFilter":["x"]},` +
			`{"kind":"mcp_local","name":"f","serverInfo":{"a":1},"tools":[{"name":"read-file","inputSchema":{"type":"object"}}]},{"kind":"a2a_local","name":"q","agentCard":{"name":"P","skills":[{"name":"s"}]}}]}`,
		`{"systemPrompt":"s","outputSchema":{"name":"x","schema":{"type":"object"}},"loopDetection":{"consecutiveThreshold":4,"hardCutoffThreshold":9},"toolBudgets":{"a":{"maxCalls":1e0}},` +
			`"budgets":{"maxToolTurns":3,"maxToolTurnsExceeded":"finalize"},"metadata":{"a.b":"c"},"reasoningLevel":50.0}`,
		`{"systemPrompt":"\u0000\ud800","metadata":{"a\r\nb":"c"},"tools":[null]}`, `{"systemPrompt":"s","loopDetection":true}`, `{"systemPrompt":"s","toolBudgets":{}}`,
	}
	seedInputs = []string{`{"prompt":"p"}`, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"system","content":"c"}]}`, `{"prompt":"p","messages":[]}`}
)

// bothOf writes two objects as one.
func bothOf(a, b string) string {
	if a == "{}" {
		return b
	}
	return strings.TrimSuffix(a, "}") + "," + strings.TrimPrefix(b, "{")
}

// answerable checks that an error becomes an answer in the documented shape, which
// is of a moderate size whatever was sent.
func answerable(t *testing.T, err error) {
	t.Helper()
	e := refused(t, err)
	if statuses[e.Code] < 400 || statuses[e.Code] > 499 || e.Message == "" || !utf8.ValidString(e.Message) || len(e.Message) > 4<<10 {
		t.Errorf("it is refused with %s %q", e.Code, e.Message)
	}
}

// composed returns what a body asks for, and the turn that it becomes.
func composed(k *composer, body fields, why purpose) (*request, *service.CreateTurn, error) {
	asked, err := readRequest(body, why)
	if err != nil {
		return nil, nil, err
	}
	turn, err := k.composeTurn(anybody, asked)
	return asked, turn, err
}

func FuzzRunBody(f *testing.F) {
	for _, spec := range seedSpecs {
		for _, input := range seedInputs {
			f.Add([]byte(bothOf(spec, input)))
		}
	}
	k := composing(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		body, err := decodeBody(data)
		if err != nil {
			answerable(t, err)
			return
		}
		_, turn, err := composed(k, body, forRun)
		if err != nil {
			answerable(t, err)
			return
		}
		if len(turn.Input) == 0 || turn.Ephemeral == nil && turn.AgentID == "" {
			t.Errorf("it becomes %+v", turn)
		}
		if _, err := json.Marshal(turn); err != nil {
			t.Errorf("it cannot be kept: %v", err)
		}
	})
}

func FuzzSessionBody(f *testing.F) {
	for _, spec := range seedSpecs {
		f.Add([]byte(spec))
	}
	k := composing(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		body, err := decodeBody(data)
		if err != nil {
			answerable(t, err)
			return
		}
		if _, _, err := composed(k, body, forSession); err != nil {
			answerable(t, err)
			return
		}
		// What was taken can run whenever a message comes.
		whole, err := withMessage(specOf(body), fields{fieldPrompt: json.RawMessage(`"p"`)})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := composed(k, whole, forRun); err != nil {
			t.Errorf("%s is a session, and no run: %v", data, err)
		}
	})
}

func FuzzMessageBody(f *testing.F) {
	for _, input := range append(seedInputs, seedSpecs...) {
		f.Add([]byte(input))
	}
	k := composing(f)
	session := specOf(body(f, seedSpecs[4]))
	f.Fuzz(func(t *testing.T, data []byte) {
		message, err := decodeBody(data)
		if err != nil {
			answerable(t, err)
			return
		}
		whole, err := withMessage(session, message)
		if err != nil {
			answerable(t, err)
			return
		}
		asked, _, err := composed(k, whole, forRun)
		if err != nil {
			answerable(t, err)
			return
		}
		if asked.SystemPrompt != "s" || asked.AgentID != "" || asked.ModelID != "" {
			t.Errorf("a message makes another agent: %+v", asked)
		}
	})
}

func FuzzToolResultBody(f *testing.F) {
	for _, text := range []string{
		`{"toolUseId":"a","result":"b"}`, `{"toolUseId":"a","error":"b"}`, `{"toolUseId":"a"}`, `{"toolUseId":"a","result":null,"error":null}`, `{"toolUseId":"","result":""}`, `{"toolUseId":"\u0000","result":"\ud800"}`,
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, strict bool) {
		given, err := decodeBody(data)
		var body toolResultBody
		if err == nil {
			err = given.decode("", &body)
		}
		if err != nil {
			answerable(t, err)
			return
		}
		a, err := newToolAnswer(&body, strict)
		if err != nil {
			answerable(t, err)
			return
		}
		if a.toolUseID == "" || (a.Result == nil) == (a.Error == nil) || a.Result != nil && !utf8.ValidString(*a.Result) {
			t.Errorf("%s is %+v", data, a)
		}
	})
}

// FuzzLastEventID says in all ways which event was seen last.
func FuzzLastEventID(f *testing.F) {
	for _, text := range []string{"", "0", "7", "-1", "+1", "1.5", "0x1", "18446744073709551615", "18446744073709551616", " 1", "1\n", "١"} {
		f.Add(text, "3", true)
		f.Add("3", text, true)
		f.Add(text, text, false)
	}
	f.Fuzz(func(t *testing.T, header, query string, asked bool) {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("Last-Event-ID", header)
		said := header
		if asked {
			r.URL.RawQuery = url.Values{"lastSeq": {query}}.Encode()
			said = query
		}
		if got := resumeFrom(r); got != 0 && strings.TrimLeft(said, "0") != strconv.FormatUint(got, 10) {
			t.Errorf("%q is %d", said, got)
		}
	})
}
