package agentruns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
)

// fields is the body of a request: a JSON object whose fields are read one by
// one. What the protocol does not know is left alone, and null is as if the field
// were absent.
type fields map[string]json.RawMessage

// The fields of a spec.
const (
	fieldAgentID        = "agentId"
	fieldName           = "name"
	fieldSystemPrompt   = "systemPrompt"
	fieldModelID        = "modelId"
	fieldPrompt         = "prompt"
	fieldMessages       = "messages"
	fieldReasoningLevel = "reasoningLevel"
	fieldTools          = "tools"
	fieldBudgets        = "budgets"
	fieldOutputSchema   = "outputSchema"
	fieldLoopDetection  = "loopDetection"
	fieldToolBudgets    = "toolBudgets"
	fieldMetadata       = "metadata"
)

// sessionFields are what a session decides for all of its runs, and runFields
// what a message may decide anew. Both have metadata.
var (
	identityFields = []string{fieldAgentID, fieldName, fieldSystemPrompt, fieldModelID}
	runFields      = []string{fieldReasoningLevel, fieldTools, fieldBudgets, fieldOutputSchema, fieldLoopDetection, fieldToolBudgets}
	inputFields    = []string{fieldPrompt, fieldMessages}
)

// decodeBody reads the body of a request.
func decodeBody(data []byte) (fields, error) {
	if err := server.CheckJSON(data, server.MaxJSONDepth); err != nil {
		return nil, newInvalid("the body cannot be used: %s", clip.Text(err.Error()))
	}
	var body fields
	if err := json.Unmarshal(data, &body); err != nil || body == nil {
		return nil, newInvalid("the body is no JSON object")
	}
	maps.DeleteFunc(body, func(_ string, value json.RawMessage) bool { return isNull(value) })
	return body, nil
}

// selectFields returns the fields with some names.
func (f fields) selectFields(lists ...[]string) fields {
	kept := make(fields)
	for _, names := range lists {
		for _, name := range names {
			if value, has := f[name]; has {
				kept[name] = value
			}
		}
	}
	return kept
}

// specOf returns what a request says of an agent and its runs, without the input:
// what is kept of it.
func specOf(f fields) fields {
	return f.selectFields(identityFields, runFields, []string{fieldMetadata})
}

// withMessage returns what a message of a session asks for: what the message says
// takes the place of what the session says, but metadata, of which it adds to the
// session's. Who the agent is, the session says alone.
func withMessage(session, message fields) (fields, error) {
	merged := session.selectFields(identityFields, runFields)
	maps.Copy(merged, message.selectFields(runFields, inputFields))
	metadata, err := session.readObject(fieldMetadata)
	if err != nil {
		return nil, err
	}
	over, err := message.readObject(fieldMetadata)
	if err != nil {
		return nil, err
	}
	if len(metadata)+len(over) == 0 {
		return merged, nil
	}
	all := make(fields, len(metadata)+len(over))
	maps.Copy(all, metadata)
	maps.Copy(all, over)
	if merged[fieldMetadata], err = json.Marshal(all); err != nil {
		return nil, fmt.Errorf("encode the metadata: %w", err)
	}
	return merged, nil
}

// readField reads a field into a value; want says in words what the field is to be. A
// field that is absent leaves the value as it is.
func (f fields) readField(name string, value any, want string) error {
	raw, has := f[name]
	if !has {
		return nil
	}
	if err := json.Unmarshal(raw, value); err != nil {
		return newInvalid("%s must be %s", name, want)
	}
	return nil
}

// readObject reads a field that is an object; nil when it is absent.
func (f fields) readObject(name string) (fields, error) {
	var inner fields
	if err := f.readField(name, &inner, "an object"); err != nil || inner == nil {
		return nil, err
	}
	maps.DeleteFunc(inner, func(_ string, value json.RawMessage) bool { return isNull(value) })
	return inner, nil
}

// readInteger reads a field that is a whole number from low to high; ok is false when
// it is absent. The path is what errors call the field.
func (f fields) readInteger(name, path string, low, high int) (n int, ok bool, err error) {
	raw, has := f[name]
	if !has {
		return 0, false, nil
	}
	n, whole := integerOf(raw)
	if !whole || n < low || n > high {
		return 0, false, newInvalid("%s must be a whole number from %d to %d", path, low, high)
	}
	return n, true, nil
}

// integerOf returns a JSON number that is whole; 3.0 and 3e0 are.
func integerOf(raw json.RawMessage) (int, bool) {
	text := string(bytes.TrimSpace(raw))
	if n, err := strconv.Atoi(text); err == nil {
		return n, true
	}
	var number float64
	if json.Unmarshal(raw, &number) != nil || number != math.Trunc(number) || math.Abs(number) > 1<<53 {
		return 0, false
	}
	return int(number), true
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

// request is what a run is asked for, checked.
type request struct {
	agentID      string
	name         string
	systemPrompt string
	modelID      string
	// messages are the input, with those before it.
	messages []inputMessage
	// effort is from 0 to 100; nil when it is not given.
	effort *int
	tools  []toolRef
	// maxToolTurns is 0 when it is not given.
	maxToolTurns int
	// finalize is whether the model gives a final answer when these are used up; nil if
	// the request does not set it.
	finalize *bool
	output   *outputSchema
	loop     *loopDetection
	// toolBudgets is nil when it is not given, and empty for none at all.
	toolBudgets map[string]int
	metadata    map[string]string
	// warnings are for what has no effect.
	warnings []warning
}

// inputMessage is a message of a request.
type inputMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// outputSchema is the form of the answer that a request wants.
type outputSchema struct {
	name   string
	schema json.RawMessage
}

// loopDetection is what a request says of loops; off stands for false.
type loopDetection struct {
	off              bool
	consecutive, max int
}
