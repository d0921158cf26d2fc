package vendorhttp

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// Number is a count or position. Servers also send it as a float or a string; any other form counts
// as 0.
type Number int

// UnmarshalJSON reads the number. It never fails.
func (n *Number) UnmarshalJSON(data []byte) error {
	value, err := strconv.ParseFloat(string(bytes.Trim(data, `"`)), 64)
	if err != nil || math.IsNaN(value) || math.Abs(value) > math.MaxInt32 {
		value = 0
	}
	*n = Number(value)
	return nil
}

// Detail is an optional value of an answer. A value of an unexpected form is ignored.
type Detail[T any] struct{ Value T }

// UnmarshalJSON reads the value. It never fails.
func (d *Detail[T]) UnmarshalJSON(data []byte) error {
	var value T
	if json.Unmarshal(data, &value) == nil {
		d.Value = value
	}
	return nil
}

// Text is a string or number, because servers encode codes and ids differently. Any other value
// counts as missing: an answer must not be lost over a detail.
type Text string

// UnmarshalJSON reads the text.
func (t *Text) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		if bytes.IndexByte(data, '\\') < 0 && utf8.Valid(data) {
			*t = Text(data[1 : len(data)-1]) // common case, without decoding twice
			return nil
		}
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*t = Text(text)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		*t = Text(data)
	default:
		*t = ""
	}
	return nil
}

// Content is the text of an answer. Some servers send a list of texts, or of parts with one text
// each. A value that may hold text in an unknown form is an error.
type Content string

// UnmarshalJSON reads the text.
func (c *Content) UnmarshalJSON(data []byte) error {
	if data[0] != '[' && data[0] != '{' {
		return (*Text)(c).UnmarshalJSON(data)
	}
	if data[0] == '{' {
		return (*contentPart)(c).UnmarshalJSON(data)
	}
	var parts []contentPart
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for i := range parts {
		*c += Content(parts[i])
	}
	return nil
}

// contentPart is a text, or the text of an object.
type contentPart Text

// UnmarshalJSON reads the text.
func (p *contentPart) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return (*Text)(p).UnmarshalJSON(data)
	}
	var part struct {
		Type Text  `json:"type"`
		Text *Text `json:"text"`
	}
	if err := json.Unmarshal(data, &part); err != nil {
		return err
	}
	switch {
	case part.Text != nil:
		*p = contentPart(*part.Text)
	case part.Type == "" && string(data) != "{}":
		return &json.UnmarshalTypeError{Value: "object", Field: "content", Type: reflect.TypeFor[string]()}
	}
	return nil
}

// Arguments are the arguments of a call: a string with JSON, or the JSON itself. An empty list
// counts as missing, because PHP encodes empty objects as lists.
type Arguments string

// UnmarshalJSON reads the arguments.
func (a *Arguments) UnmarshalJSON(data []byte) error {
	switch {
	case data[0] == '"':
		return (*Text)(a).UnmarshalJSON(data)
	case IsNothing(data):
		*a = ""
	default:
		*a = Arguments(data)
	}
	return nil
}

// HasArguments reports whether the JSON value of a call has arguments. An empty object counts, other
// empty values do not.
func HasArguments(data json.RawMessage) bool { return !IsNothing(data) || string(data) == "{}" }

// IsNothing reports whether a JSON value is missing, null, false, or an empty text, list or object.
func IsNothing(data json.RawMessage) bool {
	switch string(bytes.TrimSpace(data)) {
	case "", "null", "false", `""`, "[]", "{}":
		return true
	}
	return false
}
