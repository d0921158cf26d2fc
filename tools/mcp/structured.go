package mcp

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// structuredContent returns the structured content of a result as JSON. The library decodes its
// numbers as floats, which cannot distinguish large integers. The protocol asks servers to repeat
// the content as text; if a server has, the digits are taken from the text.
func structuredContent(r *mcp.CallToolResult) (json.RawMessage, error) {
	if isInexact(r.StructuredContent) {
		for _, c := range r.Content {
			var value any
			if text, ok := c.(*mcp.TextContent); ok && json.Unmarshal([]byte(text.Text), &value) == nil && reflect.DeepEqual(value, r.StructuredContent) {
				var exact bytes.Buffer
				err := json.Compact(&exact, []byte(text.Text))
				return exact.Bytes(), err
			}
		}
	}
	return json.Marshal(r.StructuredContent)
}

// maxExact is the largest integer up to which floats represent all integers exactly.
const maxExact = 1<<53 - 1

// isInexact reports whether a decoded value contains a number that may have lost digits.
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
