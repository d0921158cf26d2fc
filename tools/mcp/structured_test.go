package mcp

import (
	"encoding/json"
	"testing"

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
	for name, config := range map[string]func(*testing.T) Config{
		"a program": func(t *testing.T) Config { return local(t, "fake") },
		"over HTTP": func(t *testing.T) Config { return newPeer(t, nil).config(t) },
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
