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
			if text, ok := c.(*mcp.TextContent); ok && decodesTo([]byte(text.Text), r.StructuredContent) {
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

// decodesTo reports whether a text is JSON of a value, to the precision of floats.
func decodesTo(text []byte, value any) bool {
	var decoded any
	return json.Unmarshal(text, &decoded) == nil && reflect.DeepEqual(decoded, value)
}
