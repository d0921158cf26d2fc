package clip

import (
	"bytes"
	"encoding/json"
)

const (
	// Marker is the field that marks a truncated object. A truncated text ends with an ellipsis.
	Marker = "truncated"
	// longest is the initial limit for texts, in bytes, and most that for lists, in elements. Both
	// are halved until everything fits.
	longest = 256 << 10
	most    = 64 << 10
)

// Object shortens a JSON object of more than size bytes: it cuts texts, lists and objects, and
// adds the Marker. Smaller objects and invalid ones are returned unchanged.
func Object(raw []byte, size int) []byte {
	if len(raw) <= size {
		return raw
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var whole map[string]any
	if decoder.Decode(&whole) != nil || whole == nil {
		return raw
	}
	for text, items := longest, most; ; text, items = text/2, items/2 {
		fit := cutter{text, max(items, len(whole))}.cutObject(whole)
		fit[Marker] = true
		out, err := json.Marshal(fit)
		if err != nil {
			return raw // not reached: it was decoded from JSON
		}
		if len(out) <= size || text == 0 {
			return out
		}
	}
}

// cutter truncates texts to a number of bytes, and lists and objects to a number of elements.
type cutter struct{ text, items int }

func (c cutter) cutValue(v any) any {
	switch v := v.(type) {
	case string:
		return c.cutString(v)
	case json.Number:
		if len(v) > max(c.text, 32) {
			return json.Number("0")
		}
		return v
	case []any:
		inner := cutter{c.text, c.items / 2}
		list := make([]any, min(len(v), c.items))
		for i := range list {
			list[i] = inner.cutValue(v[i])
		}
		return list
	case map[string]any:
		if len(v) > c.items {
			return map[string]any{}
		}
		return cutter{c.text, c.items / 2}.cutObject(v)
	default:
		return v
	}
}

func (c cutter) cutObject(v map[string]any) map[string]any {
	fit := make(map[string]any, len(v)+1)
	for name, value := range v {
		if len(name) <= max(c.text, 64) {
			fit[name] = c.cutValue(value)
		}
	}
	return fit
}

func (c cutter) cutString(s string) string {
	if len(s) <= max(c.text, 64) { // ids and such stay whole
		return s
	}
	return At(max(c.text, 64), s)
}
