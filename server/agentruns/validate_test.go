package agentruns

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// with is a run with one more field.
func with(field, value string) string {
	return `{"systemPrompt":"s","prompt":"p",` + jsonOf(field) + `:` + value + `}`
}

func jsonOf(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func TestARunNeedsAnAgentAndAnInput(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"prompt":"p"}`:                     "systemPrompt is required unless agentId or a system message is given",
		`{"systemPrompt":"","prompt":"p"}`:   "systemPrompt is required unless agentId or a system message is given",
		`{"systemPrompt":"s"}`:               "either prompt or messages is required",
		`{"systemPrompt":"s","prompt":""}`:   "either prompt or messages is required",
		`{"systemPrompt":"s","messages":[]}`: "either prompt or messages is required",
		`{"systemPrompt":"s","prompt":"p","messages":[{"role":"user","content":"x"}]}`:                       "prompt and messages exclude each other",
		`{"systemPrompt":"s","messages":[{"role":"tool","content":"x"}]}`:                                    `messages[0].role is "tool"; it must be user, assistant or system`,
		`{"systemPrompt":"s","messages":[{"content":"x"}]}`:                                                  `messages[0].role is ""; it must be user, assistant or system`,
		`{"systemPrompt":"s","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}`: "messages must not end with a message of the assistant",
		`{"systemPrompt":"s","messages":[{"role":"user","content":1}]}`:                                      "messages must be a list of {role, content, attachments}",
		`{"systemPrompt":"s","messages":{}}`:                                                                 "messages must be a list of {role, content, attachments}",
		`{"systemPrompt":1,"prompt":"p"}`:                                                                    "systemPrompt must be a string",
		`{"systemPrompt":"s","prompt":["p"]}`:                                                                "prompt must be a string",
		`{"agentId":5,"prompt":"p"}`:                                                                         "agentId must be a string",
		`{"agentId":"a b","prompt":"p"}`:                                                                     `agentId "a b" is not a valid agent ID`,
		`{"agentId":"../x","prompt":"p"}`:                                                                    `agentId "../x" is not a valid agent ID`,
		`{"agentId":"` + strings.Repeat("a", 129) + `","prompt":"p"}`:                                        `agentId "` + strings.Repeat("a", 80) + `…" is not a valid agent ID`,
		with("modelId", "1"):                                                                                 "modelId must be a string",
		with("name", "{}"):                                                                                   "name must be a string",
		with("budgets", "[]"):                                                                                "budgets must be an object",
		with("budgets", `{"maxToolTurnsExceeded":"x"}`):                                                      `budgets.maxToolTurnsExceeded is "x"; it must be error or finalize`,
		with("loopDetection", "true"):                                                                        "loopDetection must be false or an object; leave it out for the defaults",
		with("loopDetection", "1"):                                                                           "loopDetection must be false or an object",
		with("loopDetection", `{"consecutiveThreshold":8}`):                                                  "loopDetection.hardCutoffThreshold (6) must be more than consecutiveThreshold (8); they are 6 and 3 when not given",
		with("loopDetection", `{"hardCutoffThreshold":3}`):                                                   "loopDetection.hardCutoffThreshold (3) must be more than consecutiveThreshold (3); they are 6 and 3 when not given",
		with("loopDetection", `{"consecutiveThreshold":2.5}`):                                                "loopDetection.consecutiveThreshold must be a whole number from 2 to 100",
		with("toolBudgets", `{"a":1}`):                                                                       "toolBudgets.a must be an object",
		with("toolBudgets", `{"a":{}}`):                                                                      "toolBudgets.a.maxCalls is required",
		with("toolBudgets", `[]`):                                                                            "toolBudgets must be an object",
		with("metadata", `{"a":1}`):                                                                          "metadata.a must be a string",
		with("metadata", `{"a b":"x"}`):                                                                      `the metadata key "a b" is not allowed: 1 to 64 letters, digits, '.', '_' or '-'`,
		with("metadata", `{"":"x"}`):                                                                         `the metadata key "" is not allowed: 1 to 64 letters, digits, '.', '_' or '-'`,
		with("metadata", `["a"]`):                                                                            "metadata must be an object",
		with("outputSchema", `{}`):                                                                           "outputSchema.schema must be an object",
		with("outputSchema", `{"schema":null}`):                                                              "outputSchema.schema must be an object",
		with("outputSchema", `{"schema":[]}`):                                                                "outputSchema.schema must be an object",
		with("outputSchema", `{"schema":true}`):                                                              "outputSchema.schema must be an object",
		with("outputSchema", `{"schema":{},"name":""}`):                                                      "outputSchema.name must be 1 to 64 letters, digits, '_' or '-'",
		with("outputSchema", `{"schema":{},"name":"a b"}`):                                                   "outputSchema.name must be 1 to 64 letters, digits, '_' or '-'",
		with("outputSchema", `"x"`):                                                                          "outputSchema must be an object",
		with("reasoningLevel", `"max"`):                                                                      "reasoningLevel must be off, low, medium, high, or a whole number from 0 to 100",
		with("reasoningLevel", `1.5`):                                                                        "reasoningLevel must be off, low, medium, high, or a whole number from 0 to 100",
		with("reasoningLevel", `{}`):                                                                         "reasoningLevel must be off, low, medium, high, or a whole number from 0 to 100",
		with("reasoningLevel", `1e400`):                                                                      "reasoningLevel must be off, low, medium, high, or a whole number from 0 to 100",
		with("tools", `{}`):                                                                                  "tools must be a list",
	} {
		if e := refusal(t, text); e.Code != codeInvalidRequest || e.Message != want {
			t.Errorf("%s\n got %s: %s\nwant %s", text, e.Code, e.Message, want)
		}
	}
}

func TestWhatARunMayAskFor(t *testing.T) {
	t.Parallel()
	r := read(t, `{"agentId":"src/agent-1","messages":[{"role":"system","content":"a"},{"role":"user","content":"b","id":1},{"role":"assistant","content":"c"},{"role":"user","content":""}],
		"budgets":{"maxToolTurns":7,"maxToolTurnsExceeded":"finalize","other":1},"loopDetection":{},"toolBudgets":{},"outputSchema":{"schema":{"type":"nonsense"},"name":"a-b_1"}}`)
	if r.AgentID != "src/agent-1" || len(r.messages) != 4 || r.MaxToolTurns != 7 || r.MaxToolTurnsExceeded != finalizes || *r.loop.ConsecutiveThreshold != 3 || *r.loop.HardCutoffThreshold != 6 {
		t.Errorf("it is %+v", r)
	}
	if r.toolBudgets == nil || len(r.toolBudgets) != 0 || r.output.Name != "a-b_1" || string(r.output.Schema) != `{"type":"nonsense"}` {
		t.Errorf("it is %+v", r)
	}
	for level, want := range map[string]int{`"off"`: 0, `"low"`: 30, `"medium"`: 50, `"high"`: 80, `0`: 0, `100`: 100, `37`: 37, `5e1`: 50, `50.0`: 50} {
		if r := read(t, with("reasoningLevel", level)); r.effort == nil || *r.effort != want {
			t.Errorf("%s counts for %v", level, r.effort)
		}
	}
	if r := read(t, with("loopDetection", "false")); *r.loop.Enabled {
		t.Errorf("loops are looked for: %+v", r.loop)
	}
}

// limit is a limit of a spec: how it is written with a number of something, and
// which numbers are allowed.
type limit struct {
	name      string
	write     func(n int) string
	low, high int
}

func repeated(n int, element func(i int) string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = element(i)
	}
	return strings.Join(list, ",")
}

func tool(t string) string { return with("tools", "["+t+"]") }

func limits() []limit {
	long := func(n int) string { return jsonOf(strings.Repeat("é", n)) }
	ascii := func(n int) string { return jsonOf(strings.Repeat("a", n)) }
	return []limit{
		{"maxToolTurns", func(n int) string { return with("budgets", fmt.Sprintf(`{"maxToolTurns":%d}`, n)) }, 1, 100},
		{"reasoningLevel", func(n int) string { return with("reasoningLevel", fmt.Sprint(n)) }, 0, 100},
		{"consecutiveThreshold", func(n int) string {
			return with("loopDetection", fmt.Sprintf(`{"consecutiveThreshold":%d,"hardCutoffThreshold":100}`, n))
		}, 2, 99},
		{"hardCutoffThreshold", func(n int) string {
			return with("loopDetection", fmt.Sprintf(`{"consecutiveThreshold":2,"hardCutoffThreshold":%d}`, n))
		}, 3, 100},
		{"tool budgets", func(n int) string {
			return with("toolBudgets", "{"+repeated(n, func(i int) string { return fmt.Sprintf(`"t%d":{"maxCalls":1}`, i) })+"}")
		}, 0, 32},
		{"key of a tool budget", func(n int) string { return with("toolBudgets", "{"+long(n)+`:{"maxCalls":1}}`) }, 1, 120},
		{"maxCalls", func(n int) string { return with("toolBudgets", fmt.Sprintf(`{"a":{"maxCalls":%d}}`, n)) }, 0, 1000},
		{"metadata entries", func(n int) string {
			return with("metadata", "{"+repeated(n, func(i int) string { return fmt.Sprintf(`"k%d":"v"`, i) })+"}")
		}, 0, 16},
		{"metadata key", func(n int) string { return with("metadata", "{"+ascii(n)+`:"v"}`) }, 1, 64},
		{"metadata value", func(n int) string { return with("metadata", `{"k":`+long(n)+"}") }, 0, 256},
		{"metadata size", func(n int) string { // 15 entries of 2 × 130 bytes, and what is left
			text := repeated(15, func(i int) string { return fmt.Sprintf(`"k%02d":%s`, i, ascii(250)) })
			// {…} with 15 × (5+1+252) + 15 commas, then "k":"…"
			rest := n - (2 + 15*258 + 15 + 6)
			if rest < 0 {
				rest = 0
			}
			return with("metadata", "{"+text+`,"k":`+ascii(rest)+"}")
		}, 3893, 4096},
		{"outputSchema.name", func(n int) string { return with("outputSchema", `{"schema":{},"name":`+ascii(n)+"}") }, 1, 64},
		{"outputSchema size", func(n int) string {
			return with("outputSchema", `{ "schema": {"a":`+ascii(n-len(`{"schema":{"a":""}}`))+"} }")
		}, 20, 32768},
		{"tool name", func(n int) string { return tool(`{"kind":"local","name":` + ascii(n) + `}`) }, 1, 64},
		{"header", func(n int) string {
			return tool(`{"kind":"mcp","name":"m","url":"https://x.example","headers":{"A":` + ascii(n) + `}}`)
		}, 0, 8192},
		{"header of a2a", func(n int) string {
			return tool(`{"kind":"a2a","name":"m","agentCardUrl":"https://x.example","headers":{"A":` + ascii(n) + `}}`)
		}, 0, 8192},
		{"tools of mcp_local", func(n int) string {
			return tool(`{"kind":"mcp_local","name":"m","tools":[` + repeated(n, func(i int) string { return fmt.Sprintf(`{"name":"t%d"}`, i) }) + `]}`)
		}, 1, 64},
		{"name of a tool of mcp_local", func(n int) string { return tool(`{"kind":"mcp_local","name":"m","tools":[{"name":` + ascii(n) + `}]}`) }, 1, 64},
	}
}

func TestEachLimitIsExact(t *testing.T) {
	t.Parallel()
	for _, l := range limits() {
		for n, fits := range map[int]bool{l.low: true, l.high: true, l.high + 1: false} {
			checkLimit(t, &l, n, fits)
		}
		if l.low > 0 && l.name != "metadata size" && l.name != "outputSchema size" {
			checkLimit(t, &l, l.low-1, false)
		}
	}
}

type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

func checkLimit(t failer, l *limit, n int, fits bool) {
	t.Helper()
	f, err := decodeBody([]byte(l.write(n)))
	if err == nil {
		_, err = readRequest(f, forRun)
	}
	if (err == nil) != fits {
		t.Errorf("%s of %d: %v", l.name, n, err)
	}
	if e, ok := err.(*requestError); err != nil && (!ok || e.Code != codeInvalidRequest || e.Message == "") { //nolint:errorlint // it is not wrapped
		t.Errorf("%s of %d: the error is %#v", l.name, n, err)
	}
}

func TestWithinItsLimitsEverythingIsTaken(t *testing.T) {
	t.Parallel()
	all := limits()
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(all).Draw(t, "limit")
		n := rapid.IntRange(l.low, l.high+20).Draw(t, "n")
		checkLimit(t, &l, n, n <= l.high)
	})
}
