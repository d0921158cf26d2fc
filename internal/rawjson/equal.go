package rawjson

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Equal reports whether two JSON values are equal. Numbers are compared by EqualNumbers. Text that
// is not JSON equals nothing.
func Equal(a, b []byte) bool {
	return Valid(a) && Valid(b) && equalValues(decodeNumbers(a), decodeNumbers(b))
}

func decodeNumbers(raw []byte) (value any) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	_ = decoder.Decode(&value) // raw is valid
	return value
}

func equalValues(x, y any) bool {
	switch x := x.(type) {
	case json.Number:
		y, ok := y.(json.Number)
		return ok && EqualNumbers(x, y)
	case []any:
		y, ok := y.([]any)
		return ok && slices.EqualFunc(x, y, equalValues)
	case map[string]any:
		y, ok := y.(map[string]any)
		return ok && maps.EqualFunc(x, y, equalValues)
	default:
		return x == y
	}
}
