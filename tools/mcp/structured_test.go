package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// decoded returns JSON as the library decodes it.
func decoded(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestDigitsAreTakenFromTheTextThatRepeatsTheContent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ content, text, want string }{
		{`{"a":1}`, `{"a": 1.0}`, `{"a":1}`}, // floats tell it
		{`{"a":9007199254740991}`, `{"a": 9007199254740991}`, `{"a":9007199254740991}`},
		{`{"a":9007199254740993}`, `{"a": 9007199254740993}`, `{"a":9007199254740993}`},
		{`{"a":-9007199254740993}`, `{"a": -9007199254740993}`, `{"a":-9007199254740993}`},
		{`{"a":[{"b":18446744073709551615}],"c":"x"}`, "{\n  \"c\": \"x\",\n  \"a\": [{\"b\": 18446744073709551615}]\n}", `{"c":"x","a":[{"b":18446744073709551615}]}`},
		{`9007199254740993`, ` 9007199254740993 `, `9007199254740993`},
		{`{"a":9007199254740993}`, `{"a": 9007199254740993, "b": 1}`, `{"a":9007199254740992}`}, // it says something else
		{`{"a":9007199254740993}`, `{"a": 7}`, `{"a":9007199254740992}`},
		{`{"a":9007199254740993}`, `{"a": 9007199254740993} {}`, `{"a":9007199254740992}`},
		{`{"a":9007199254740993}`, `It is 9007199254740993.`, `{"a":9007199254740992}`},
		{`{"a":9007199254740993}`, ``, `{"a":9007199254740992}`},
	} {
		got, err := structuredContent(&mcp.CallToolResult{
			StructuredContent: decoded(t, tt.content),
			Content:           []mcp.Content{&mcp.ImageContent{}, &mcp.TextContent{Text: "See:"}, &mcp.TextContent{Text: tt.text}},
		})
		if err != nil || string(got) != tt.want {
			t.Errorf("%s with the text %q is %s (%v), want %s", tt.content, tt.text, got, err, tt.want)
		}
	}
}

func TestLargeIntegersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(*testing.T) config{
		"a program": func(t *testing.T) config { return local(t, "fake") },
		"over HTTP": func(t *testing.T) config { return newPeer(t, nil).config(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := call(t.Context(), t, ready(t, config(t)), "ticket", `{}`)
			if string(r.Data) != `{"number":9223372036854775807}` || r.IsError {
				t.Errorf("the request is %s (error: %t)", r.Data, r.IsError)
			}
		})
	}
}

// Schemas of a server that would take long are rejected, and so are results that would
// take long to compare with one.
func TestSchemasOfAServerAreBounded(t *testing.T) {
	t.Parallel()
	var doubling strings.Builder
	for i := range 26 {
		fmt.Fprintf(&doubling, `"l%d":{"anyOf":[{"$ref":"#/$defs/l%[2]d"},{"$ref":"#/$defs/l%[2]d"}]},`, i, i+1)
	}
	bomb := json.RawMessage(`{"type":"object","properties":{"v":{"$ref":"#/$defs/l0"}},"$defs":{` + doubling.String() + `"l26":{"type":"null"}}}`)
	recursive := json.RawMessage(`{"type":"object","properties":{"v":{"$ref":"#/$defs/n"}},"$defs":{"n":{"anyOf":[{"items":{"$ref":"#/$defs/n"},"maxItems":0},{"items":{"$ref":"#/$defs/n"},"maxItems":0},{"type":"string"}]}}}`)
	s := known(t, config{}, info("a"), toolInfo{Name: "b", InputSchema: bomb}, toolInfo{Name: "c", InputSchema: object, OutputSchema: bomb},
		toolInfo{Name: "d", InputSchema: object, OutputSchema: recursive})
	members, found := s.Members()
	if ids := memberIDs(s); ids != "mcp__fake__a mcp__fake__d" || len(found) != 2 {
		t.Errorf("the tools are %s with %v", ids, found)
	}
	for _, d := range found {
		if !strings.Contains(d.Message, "alternatives for one value") {
			t.Errorf("%v", d)
		}
	}
	nested := `{"v":` + strings.Repeat("[", 90) + "1" + strings.Repeat("]", 90) + `}`
	result := members[1].Tool.(*tool).convertResult(t.Context(), &mcp.CallToolResult{StructuredContent: decoded(t, nested)})
	if !result.IsError || !strings.Contains(model.PartsText(result.Content), "too many steps") {
		t.Errorf("%+v", result)
	}
}
