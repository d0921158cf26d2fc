package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Arguments are a call's arguments by name, as written by the model.
type Arguments map[string]json.RawMessage

// ErrArguments reports that the arguments of a call are not a JSON object. Its text is for
// the model.
var ErrArguments = errors.New("the arguments are not a JSON object")

// DecodeArguments reads the arguments of a call. A call without arguments has an empty map. The
// error is ErrArguments.
func DecodeArguments(raw json.RawMessage) (Arguments, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var args Arguments
	if json.Unmarshal(raw, &args) != nil {
		return nil, ErrArguments
	}
	return args, nil
}

// Has reports whether an argument is present and not null.
func (a Arguments) Has(name string) bool {
	raw := a[name]
	return len(raw) > 0 && string(raw) != "null"
}

// Text returns an argument as text: a string without its quotes, a number or
// boolean as the model wrote it, anything else as compact JSON. An argument that is
// missing or null has no text.
func (a Arguments) Text(name string) (string, error) {
	raw := a[name]
	if !a.Has(name) {
		return "", nil
	}
	switch raw[0] {
	case '"':
		if inside := raw[1 : len(raw)-1]; bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
			return string(inside), nil // most strings need no decoding
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return "", fmt.Errorf("decode argument %s: %w", name, err)
		}
		return text, nil
	case '{', '[':
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			return "", fmt.Errorf("decode argument %s: %w", name, err)
		}
		return compact.String(), nil
	default:
		return string(raw), nil
	}
}
