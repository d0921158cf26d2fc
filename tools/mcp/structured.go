package mcp

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// structuredContent returns the structured content of a result as JSON. The library
// has decoded its numbers as floats, which do not tell large integers apart.
// The protocol asks servers to repeat the content as text, and where a server
// has, the digits are taken from there.
func structuredContent(r *mcp.CallToolResult) (json.RawMessage, error) {
	if isInexact(r.StructuredContent) {
		for _, c := range r.Content {
			if text, ok := c.(*mcp.TextContent); ok && decodesTo([]byte(text.Text), r.StructuredContent) {
				var exact bytes.Buffer
				err := json.Compact(&exact, []byte(text.Text))
				return exact.Bytes(), err
			}
		}
	}
	return json.Marshal(r.StructuredContent)
}

// maxExact is the largest integer up to which floats tell all integers apart.
const maxExact = 1<<53 - 1

// isInexact reports whether a decoded value has a number that may have lost
// digits.
func isInexact(value any) bool {
	switch value := value.(type) {
	case float64:
		return math.Abs(value) > maxExact
	case []any:
		for _, v := range value {
			if isInexact(v) {
				return true
			}
		}
	case map[string]any:
		for _, v := range value {
			if isInexact(v) {
				return true
			}
		}
	}
	return false
}

// decodesTo reports whether a text is JSON of a value, as far as floats tell.
func decodesTo(text []byte, value any) bool {
	var decoded any
	return json.Unmarshal(text, &decoded) == nil && reflect.DeepEqual(decoded, value)
}
