package httptool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// arguments are those of a call, as the model wrote them.
type arguments map[string]json.RawMessage

func decodeArguments(raw json.RawMessage) (arguments, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var args arguments
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, inputErrorf("the arguments are no JSON object")
	}
	return args, nil
}

// has reports whether an argument is there; null is as good as missing.
func (a arguments) has(name string) bool {
	raw, ok := a[name]
	return ok && string(raw) != "null"
}

// text returns an argument as text: a string without its quotes, a number or
// boolean as the model wrote it, anything else as compact JSON. An argument
// that is missing or null has no text.
func (a arguments) text(name string) (string, error) {
	raw := a[name]
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	switch raw[0] {
	case '"':
		if inside := raw[1 : len(raw)-1]; bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
			return string(inside), nil // as most strings are: nothing to decode
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

// without returns the arguments whose names are not in a set.
func (a arguments) without(names map[string]bool) arguments {
	rest := make(arguments, len(a))
	for name, raw := range a {
		if !names[name] {
			rest[name] = raw
		}
	}
	return rest
}

// inputError is a mistake in the arguments that the model can correct.
type inputError struct{ text string }

// Error says what is wrong with the arguments.
func (e *inputError) Error() string { return "tool_input_invalid: " + e.text }

func inputErrorf(format string, args ...any) error {
	return &inputError{fmt.Sprintf(format, args...)}
}
