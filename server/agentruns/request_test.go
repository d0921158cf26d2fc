package agentruns

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// body decodes the body of a request.
func body(t testing.TB, text string) fields {
	t.Helper()
	f, err := decodeBody([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

// read reads a run that must be right.
func read(t testing.TB, text string) *request {
	t.Helper()
	r, err := readRequest(body(t, text), forRun)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

// refusal reads a run that must not be right.
func refusal(t testing.TB, text string) *requestError {
	t.Helper()
	f, err := decodeBody([]byte(text))
	if err == nil {
		_, err = readRequest(f, forRun)
	}
	return refused(t, err)
}

func refused(t testing.TB, err error) *requestError {
	t.Helper()
	e, ok := errors.AsType[*requestError](err)
	if !ok {
		t.Fatalf("the error is %v", err)
	}
	return e
}

func TestABodyIsAnObjectOfModerateDepth(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "null", "[]", `"x"`, "1", "{", `{"a":1}{}`, "\xff", "{\"a\":\"\xff\"}",
		`{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`,
		`{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
	} {
		_, err := decodeBody([]byte(text))
		if e := refused(t, err); e.Code != codeInvalidRequest || e.Message == "" {
			t.Errorf("%.20s: %+v", text, e)
		}
	}
}

func TestWhatIsNotKnownAndNullAreLeftAlone(t *testing.T) {
	t.Parallel()
	r := read(t, `{"systemPrompt":"s","prompt":"p","colour":"blue","agentId":null,"messages":null,"tools":null,"budgets":null,"outputSchema":null,
		"loopDetection":null,"toolBudgets":null,"metadata":null,"reasoningLevel":null,"modelId":null,"name":null}`)
	if r.SystemPrompt != "s" || len(r.messages) != 1 || r.toolBudgets != nil || r.loop != nil || r.output != nil || r.effort != nil || r.Name != "ephemeral" {
		t.Errorf("it asks for %+v", r)
	}
}

func TestAMessageReplacesWhatTheSessionSays(t *testing.T) {
	t.Parallel()
	session := body(t, `{"systemPrompt":"s","modelId":"m","name":"n","prompt":"not kept","reasoningLevel":"low","tools":[{"kind":"mantyx","id":"a"}],
		"toolBudgets":{"a":{"maxCalls":1}},"budgets":{"maxToolTurns":3},"metadata":{"k":"session","own":"1"}}`)
	message := body(t, `{"systemPrompt":"other","modelId":"other","name":"other","agentId":"other","prompt":"hi","reasoningLevel":80,"tools":[],
		"loopDetection":false,"outputSchema":{"schema":{}},"metadata":{"k":"message","new":"2"}}`)
	before := maps.Clone(session)
	merged, err := withMessage(specOf(session), message)
	if err != nil {
		t.Fatal(err)
	}
	r, err := readRequest(merged, forRun)
	if err != nil {
		t.Fatal(err)
	}
	if r.SystemPrompt != "s" || r.ModelID != "m" || r.Name != "n" || r.AgentID != "" {
		t.Errorf("the agent is %+v", r)
	}
	if *r.effort != 80 || len(r.tools) != 0 || *r.loop.Enabled || r.output == nil || r.MaxToolTurns != 3 || r.toolBudgets["a"] != 1 {
		t.Errorf("the run is %+v", r)
	}
	if want := map[string]string{"k": "message", "own": "1", "new": "2"}; !maps.Equal(r.metadata, want) {
		t.Errorf("the metadata is %v", r.metadata)
	}
	if len(r.messages) != 1 || r.messages[0].Content != "hi" {
		t.Errorf("the input is %v", r.messages)
	}
	if !maps.EqualFunc(before, session, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
		t.Error("the session has changed")
	}
}

func TestMetadataThatTogetherIsTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	entries := func(prefix string, n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = `"` + prefix + string(rune('a'+i)) + `":""`
		}
		return `{"metadata":{` + strings.Join(list, ",") + `},"prompt":"p","systemPrompt":"s"}`
	}
	for n, fits := range map[int]bool{8: true, 9: false} {
		merged, err := withMessage(specOf(body(t, entries("s", 8))), body(t, entries("m", n)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readRequest(merged, forRun); (err == nil) != fits {
			t.Errorf("8 and %d: %v", n, err)
		}
	}
	if _, err := withMessage(body(t, `{"metadata":1}`), fields{}); err == nil {
		t.Error("metadata that is none is taken")
	}
	if _, err := withMessage(fields{}, body(t, `{"metadata":1}`)); err == nil {
		t.Error("metadata that is none is taken")
	}
}

func TestASessionHasNoInput(t *testing.T) {
	t.Parallel()
	f := body(t, `{"systemPrompt":"s","prompt":"p","messages":[{"role":"user","content":"x"}]}`)
	r, err := readRequest(f, forSession)
	if err != nil || len(r.messages) != 0 {
		t.Errorf("it is %+v, %v", r, err)
	}
	if kept := slices.Sorted(maps.Keys(specOf(f))); !slices.Equal(kept, []string{"systemPrompt"}) {
		t.Errorf("%v is kept", kept)
	}
	if merged, err := withMessage(specOf(f), fields{}); err != nil || len(merged) != 1 {
		t.Errorf("it becomes %v, %v", merged, err)
	}
}

func FuzzDecodeBody(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"prompt":"x","systemPrompt":"s"}`, `{"messages":[{"role":"user","content":"x"}],"agentId":"a"}`, `{"loopDetection":{"consecutiveThreshold":8}}`,
		`{"systemPrompt":"s","prompt":"p","tools":[{"kind":"local","name":"a","parameters":{"type":"object"}},{"kind":"mcp","name":"m","url":"http://x","headers":{"A":"b"}},` +
			`{"kind":"mcp_local","name":"f","tools":[{"name":"read-file"}]},{"kind":"a2a_local","name":"p","agentCard":{"name":"P","skills":[{}]}}]}`,
		`{"toolBudgets":{"a":{"maxCalls":1e0}},"metadata":{"a":"b"},"reasoningLevel":50.0,"outputSchema":{"name":"x","schema":{}}}`, `{"tools":[null]}`,
	} {
		f.Add([]byte(text), []byte(text))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		session, err := decodeBody(a)
		if err != nil {
			refused(t, err)
			return
		}
		message, err := decodeBody(b)
		if err != nil {
			refused(t, err)
			return
		}
		merged, err := withMessage(specOf(session), message)
		if err != nil {
			refused(t, err)
			return
		}
		if _, err := readRequest(merged, forRun); err != nil {
			refused(t, err)
			return
		}
		again, err := json.Marshal(redactSpec(merged))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readRequest(body(t, string(again)), forRun); err != nil {
			t.Errorf("what is read back is refused: %v", err)
		}
	})
}
