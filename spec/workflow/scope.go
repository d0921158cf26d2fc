package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// Scope has the values for the references of a step. Numbers are json.Number.
type Scope struct {
	// Input is the input of the run, and Signal what started it.
	Input, Signal any
	// Outputs are the outputs of completed steps, by step id.
	Outputs map[string]any
	// Inputs are the inputs of the step.
	Inputs map[string]any

	// taken is the total size of the values of references so far, in bytes.
	taken int
}

// maxEvaluated bounds the values of one scope's references, in bytes.
const maxEvaluated = 16 << 20

// take counts the size of a reference's value.
func (s *Scope) take(bytes int) error {
	if s.taken += bytes; s.taken > maxEvaluated {
		return fmt.Errorf("the references stand for more than %d bytes", maxEvaluated)
	}
	return nil
}

// MissingError reports that a reference has no value.
type MissingError struct {
	Ref *Ref
	// At is the part of the reference that is missing.
	At string
}

// Error names the reference.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not there: %s", clip.Text(e.Ref.String()), clip.Text(e.At))
}

// DecodeJSON reads a JSON value in the form used by scopes. Empty input is null.
func DecodeJSON(raw []byte) (v any, err error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil //nolint:nilnil // null
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}

// Resolve returns the value of a reference. The error is a *MissingError.
func (s *Scope) Resolve(r *Ref) (any, error) {
	var v any
	switch r.Root {
	case rootInput:
		v = s.Input
	case rootSignal:
		v = s.Signal
	case rootInputs:
		v = anyMap(s.Inputs)
	case rootSteps:
		outputs, ok := s.Outputs[r.Step]
		if !ok {
			return nil, &MissingError{r, fmt.Sprintf("step %q has no outputs", r.Step)}
		}
		v = outputs
	}
	for i, segment := range r.Path {
		next, ok := segment.find(v)
		if !ok {
			return nil, &MissingError{r, fmt.Sprintf("%s does not exist", r.Path[:i+1])}
		}
		v = next
	}
	return v, nil
}

// anyMap returns a map as a value; nil is an empty one.
func anyMap(m map[string]any) any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// find returns the part of a value named by the segment.
func (s Segment) find(v any) (any, bool) {
	if s.IsIndex {
		list, ok := v.([]any)
		if !ok || s.Index >= len(list) {
			return nil, false
		}
		return list[s.Index], true
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	found, ok := fields[s.Name]
	return found, ok
}

// Evaluate returns the evaluated value. The error is a *MissingError.
func (v *Value) Evaluate(s *Scope) (any, error) {
	switch {
	case v.Ref != nil:
		resolved, err := s.Resolve(v.Ref)
		if err == nil {
			err = s.take(sizeOf(resolved))
		}
		return resolved, err
	case v.Template != nil:
		return v.Template.Evaluate(s)
	case v.Fields != nil:
		fields := make(map[string]any, len(v.Fields))
		for name, field := range v.Fields {
			value, err := field.Evaluate(s)
			if err != nil {
				return nil, err
			}
			fields[name] = value
		}
		return fields, nil
	case v.Items != nil:
		items := make([]any, len(v.Items))
		for i, item := range v.Items {
			value, err := item.Evaluate(s)
			if err != nil {
				return nil, err
			}
			items[i] = value
		}
		return items, nil
	default:
		return v.Constant, nil
	}
}

// sizeOf returns the approximate size of a value as JSON, in bytes.
func sizeOf(v any) int {
	n := len("null,")
	switch v := v.(type) {
	case string:
		n += len(v)
	case json.Number:
		n += len(v)
	case []any:
		for _, element := range v {
			n += sizeOf(element)
		}
	case map[string]any:
		for name, field := range v {
			n += len(name) + sizeOf(field)
		}
	}
	return n
}

// Evaluate returns the text with its references replaced: texts as they are, and other values as
// JSON.
func (t Template) Evaluate(s *Scope) (string, error) {
	var out strings.Builder
	for i := range t.parts {
		if t.parts[i].ref == nil {
			out.WriteString(t.parts[i].text)
			continue
		}
		v, err := s.Resolve(t.parts[i].ref)
		if err != nil {
			return "", err
		}
		text, err := TextOf(v)
		if err != nil {
			return "", err
		}
		if err := s.take(len(text)); err != nil {
			return "", err
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// TextOf returns a value as a text: texts as they are, and anything else as JSON.
func TextOf(v any) (string, error) {
	if text, ok := v.(string); ok {
		return text, nil
	}
	data, err := json.Marshal(v)
	return string(data), err
}

// EvaluateRaw parses and evaluates an encoded value.
func (s *Scope) EvaluateRaw(raw json.RawMessage) (any, error) {
	v, found := ParseValue(raw)
	if len(found) > 0 {
		return nil, found.Err()
	}
	return v.Evaluate(s)
}

// EvaluateFields evaluates named values.
func (s *Scope) EvaluateFields(fields map[string]json.RawMessage) (map[string]any, error) {
	out := make(map[string]any, len(fields))
	for name, raw := range fields {
		v, err := s.EvaluateRaw(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = v
	}
	return out, nil
}

// Holds reports whether the condition holds. A missing value equals null.
func (c *Condition) Holds(s *Scope) (bool, error) {
	v, err := s.EvaluateRaw(c.Value)
	if _, missing := err.(*MissingError); missing { //nolint:errorlint // values of conditions are not wrapped
		v, err = nil, nil
	}
	if err != nil {
		return false, err
	}
	want, err := DecodeJSON(c.Equals)
	if err != nil {
		return false, err
	}
	return equalScalars(v, want), nil
}

// equalScalars reports whether two scalars are equal; numbers are compared by value, not spelling.
func equalScalars(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, both := b.(json.Number)
	if isNumber && both {
		return rawjson.EqualNumbers(x, y)
	}
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}
