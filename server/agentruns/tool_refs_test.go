package agentruns

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/tools"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

func TestToolsThatAreRefused(t *testing.T) {
	t.Parallel()
	for refs, want := range map[string]string{
		`null`:                          "tools[0]: not a JSON object",
		`1`:                             "tools[0]: not a JSON object",
		`{}`:                            "tools[0]: kind is required",
		`{"kind":"magic"}`:              `tools[0]: the kind "magic" is not known; there are mantyx, mantyx_plugin, local, a2a, a2a_local, mcp and mcp_local`,
		`{"kind":1}`:                    "tools[0]: kind must not be a JSON number",
		`{"kind":"mantyx"}`:             "tools[0]: id is required",
		`{"kind":"mantyx_plugin"}`:      "tools[0]: name is required",
		`{"kind":"local"}`:              `tools[0]: name "" is not allowed: 1 to 64 letters, digits or '_'`,
		`{"kind":"local","name":"a-b"}`: `tools[0]: name "a-b" is not allowed: 1 to 64 letters, digits or '_'`,
		`{"kind":"mcp_local","name":"a-b","tools":[{"name":"x"}]}`:                                                `tools[0]: name "a-b" is not allowed: 1 to 64 letters, digits or '_'`,
		`{"kind":"local","name":"a","description":5}`:                                                             "tools[0]: description must not be a JSON number",
		`{"kind":"local","name":"a","parameters":{"type":"object","properties":5}}`:                               "tools[0]: the parameters of tool",
		`{"kind":"local","name":"a","parameters":{"$ref":"https://x.example/schema"}}`:                            "tools[0]: the parameters of tool",
		`{"kind":"local","name":"a"},{"kind":"a2a","name":"a","agentCardUrl":"https://x.example"}`:                `tools[1]: the name "a" is taken by tools[0]`,
		`{"kind":"mantyx","id":"a"},{"kind":"local","name":"a"}`:                                                  `tools[1]: the name "a" is taken by tools[0]`,
		`{"kind":"mcp","name":"a","url":"https://x.example"},{"kind":"mcp","name":"a","url":"https://y.example"}`: `tools[1]: the name "a" is taken by tools[0]`,
		`{"kind":"mcp_local","name":"m","tools":[{"name":"a.b"},{"name":"a_b"}]}`:                                 `tools[0]: the name "a_b" is taken by tools[0]`,
		`{"kind":"mcp_local","name":"m","tools":[{"name":"a b"}]}`:                                                `tools[0]: tools[0].name "a b" is not allowed: 1 to 64 letters, digits, '_', '.' or '-'`,
		`{"kind":"mcp_local","name":"m","tools":[{"name":"a"}],"serverInfo":"x"}`:                                 "tools[0]: serverInfo must be an object",
		`{"kind":"mcp_local","name":"m"}`:                                                                         "tools[0]: tools has 0 elements; 1 to 64 are allowed",
		`{"kind":"a2a_local","name":"p"}`:                                                                         "tools[0]: agentCard must be the card of an agent, with name, description and skills",
		`{"kind":"a2a_local","name":"p","agentCard":null}`:                                                        "tools[0]: agentCard must be the card of an agent, with name, description and skills",
		`{"kind":"a2a_local","name":"p","agentCard":{}}`:                                                          "tools[0]: agentCard.name is required",
		`{"kind":"a2a","name":"p"}`:                                                                               "tools[0]: agentCardUrl is required",
		`{"kind":"a2a","name":"p","agentCardUrl":"file:///etc/passwd"}`:                                           "tools[0]: agentCardUrl must be an http or https URL",
		`{"kind":"mcp","name":"p","url":"https://"}`:                                                              "tools[0]: url must be an http or https URL",
		`{"kind":"mcp","name":"p","url":"https://u:secret@x.example"}`:                                            "tools[0]: url must not have credentials; use headers",
		`{"kind":"mcp","name":"p","url":"https://x.example","headers":{"A":1}}`:                                   "tools[0]: headers must not be a JSON number",
		`{"kind":"mcp","name":"p","url":"https://x.example","headers":{"A b":"secret"}}`:                          `tools[0]: headers: "A b" is not a valid header name`,
		`{"kind":"mcp","name":"p","url":"https://x.example","headers":{"A":"x\r\nB: secret"}}`:                    "tools[0]: headers.A has a character that headers cannot have",
		`{"kind":"mcp","name":"p","url":"https://x.example","headers":{"hOst":"secret"}}`:                         "tools[0]: headers.hOst is set by the server itself",
		`{"kind":"mcp","name":"p","url":"https://x.example","toolFilter":"x"}`:                                    "tools[0]: toolFilter must not be a JSON string",
	} {
		e := refusal(t, tool(refs))
		if e.Code != codeInvalidRequest || !strings.HasPrefix(e.Message, want) || strings.Contains(e.Message, "secret") {
			t.Errorf("%s\n got %s\nwant %s", refs, e.Message, want)
		}
	}
}

// entries compiles the tools that the client runs of a reference.
func entries(t *testing.T, ref string) []*toolset.Entry {
	t.Helper()
	r := read(t, tool(ref))
	var list []*toolset.Entry
	for _, c := range r.tools[0].clientTools() {
		e, found := toolset.Compile(c.id, clienttool.New(c.config), toolset.Source{Kind: toolset.SourceTurn})
		if e == nil {
			t.Fatalf("%s: %v", ref, found)
		}
		list = append(list, e)
	}
	return list
}

// echo returns what a call of a tool repeats.
func echo(t *testing.T, e *toolset.Entry) interaction.Request {
	t.Helper()
	result, err := e.Tool.Call(t.Context(), &tools.Call{Tool: e.ID})
	if err != nil || result.Wait == nil {
		t.Fatalf("the call comes to %+v, %v", result, err)
	}
	return result.Wait.Questions[0]
}

func TestALocalTool(t *testing.T) {
	t.Parallel()
	parameters := `{"type":"object","properties":{"a":{"type":"string"}},"x-own":1}`
	e := entries(t, `{"kind":"local","name":"look","description":"Looks.","parameters":`+parameters+`,"outputSchema":{"type":"array"},"longRunning":true}`)[0]
	if e.ID != "look" || string(e.Descriptor.Parameters) != parameters || e.Descriptor.Output != nil || e.Descriptor.Description != "Looks.\n\n"+clienttool.LongRunning {
		t.Errorf("it is %+v", e.Descriptor)
	}
	if q := echo(t, e); string(q.Parameters) != `{"kind":"local"}` || q.Action != clienttool.Action {
		t.Errorf("it asks %+v", q)
	}
	for _, schema := range []string{`{"type":"string"}`, `true`, `[]`, `"x"`, `null`} {
		if e := entries(t, `{"kind":"local","name":"look","parameters":`+schema+`}`)[0]; e.CheckArguments(t.Context(), []byte(`{"any":1}`)) != "" {
			t.Errorf("with %s it takes no arguments", schema)
		}
	}
}

func TestAnAgentThatTheClientCalls(t *testing.T) {
	t.Parallel()
	skills := make([]string, maxSkills+1)
	for i := range skills {
		skills[i] = `{"name":"skill` + string(rune('A'+i)) + `","description":"d"}`
	}
	card := `{"name":"Clerk","description":"Writes.","skills":[` + strings.Join(skills, ",") + `],"vendor":{"x":[1]}}`
	e := entries(t, `{"kind":"a2a_local","name":"clerk","agentCard":`+card+`}`)[0]
	d := e.Descriptor.Description
	if !strings.HasPrefix(d, "Delegate a task to Clerk: Writes.\n\nSkills:\n- skillA: d\n") || !strings.HasSuffix(d, "- skillL: d") {
		t.Errorf("it is described as %s", d)
	}
	if e.CheckArguments(t.Context(), []byte(`{"message":"x"}`)) != "" || e.CheckArguments(t.Context(), []byte(`{}`)) == "" {
		t.Errorf("its parameters are %s", e.Descriptor.Parameters)
	}
	if q := echo(t, e); string(q.Parameters) != `{"kind":"a2a_local","agentCard":`+card+`}` {
		t.Errorf("it repeats %s", q.Parameters)
	}
	e = entries(t, `{"kind":"a2a_local","name":"clerk","description":"Mine.","agentCard":{"name":"Clerk"}}`)[0]
	if e.Descriptor.Description != "Mine." {
		t.Errorf("it is described as %s", e.Descriptor.Description)
	}
}

func TestToolsOfAServerOfTheClient(t *testing.T) {
	t.Parallel()
	list := entries(t, `{"kind":"mcp_local","name":"fs","serverInfo":{"name":"files","x":1},"tools":[
		{"name":"read-file","description":"Reads.","inputSchema":{"type":"object","required":["path"]},"annotations":{"readOnlyHint":true}},{"name":"dir.list"}]}`)
	ids := []string{list[0].ID, list[1].ID}
	if !slices.Equal(ids, []string{"read-file", "dir_list"}) {
		t.Errorf("the model knows them as %v", ids)
	}
	if list[0].CheckArguments(t.Context(), []byte(`{}`)) == "" || list[0].CheckArguments(t.Context(), []byte(`{"path":"x","more":1}`)) != "" || list[1].CheckArguments(t.Context(), []byte(`{"any":1}`)) != "" {
		t.Error("the arguments are checked against something else")
	}
	q := echo(t, list[1])
	if want := `{"kind":"mcp_local","mcpServer":"fs","mcpToolName":"dir.list","mcpServerInfo":{"name":"files","x":1}}`; q.Tool != "dir.list" || string(q.Parameters) != want {
		t.Errorf("it asks for %s with %s", q.Tool, q.Parameters)
	}
	bare := entries(t, `{"kind":"mcp_local","name":"fs","tools":[{"name":"a"}]}`)[0]
	if q := echo(t, bare); string(q.Parameters) != `{"kind":"mcp_local","mcpServer":"fs","mcpToolName":"a"}` {
		t.Errorf("it repeats %s", q.Parameters)
	}
}

func TestSecretsOfToolsAreNeverReadBack(t *testing.T) {
	t.Parallel()
	spec := body(t, tool(`{"kind":"mcp","name":"m","url":"https://x.example","headers":{"Authorization":"secret","X":"secret"},"own":{"a":[1]}},
		{"kind":"a2a","name":"p","agentCardUrl":"https://x.example","Headers":{"A":"secret"}},
		{"kind":"a2a","name":"q","agentCardURL":"https://x.example/card?key=secret#secret=secret"},{"kind":"mcp","name":"n","URL":"https://x.example/?secret"},{"kind":"local","name":"l","headers":"secret"},7`))
	before := jsonOf(spec)
	text := jsonOf(redactSpec(spec))
	if strings.Contains(strings.ReplaceAll(text, "secret=", ""), "secret") {
		t.Errorf("%s", text)
	}
	merged, err := secretsOf(spec).mergeInto(body(t, text))
	if err != nil || strings.Count(jsonOf(merged), "secret") != strings.Count(before, "secret") {
		t.Errorf("with its secrets it is %s, %v", jsonOf(merged), err)
	}
	for i, raw := range toolsOf(body(t, text)) {
		if isRedacted(raw) != (i < 4) || isRedacted(toolsOf(spec)[i]) {
			t.Errorf("tool %d is redacted: %v", i, isRedacted(raw))
		}
	}
	for _, kept := range []string{`"Authorization":"***"`, `"X":"***"`, `"own":{"a":[1]}`, `"url":"https://x.example"`, `"Headers":{"A":"***"}`, `"headers":"***"`, `card?key=***#secret=***`, `"systemPrompt":"s"`} {
		if !strings.Contains(text, kept) {
			t.Errorf("%s misses %s", text, kept)
		}
	}
	if jsonOf(spec) != before {
		t.Error("the spec itself has changed")
	}
	for _, text := range []string{`{"a":1}`, `{"tools":"x"}`, `{"tools":[]}`} {
		if got := jsonOf(redactSpec(body(t, text))); got != text {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
}
