// Package client is the tool whose calls the client of the turn executes. A call waits, as an
// interaction stored with the turn, until the client reports its result.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// Action is the action of the calls' interactions.
const Action = "client:call"

// LongRunning is the suffix of a slow tool's description.
const LongRunning = "NOTE: This is a long-running operation. Do not call this tool again if it has already returned an intermediate or pending status."

// Config describes a tool of a client.
type Config struct {
	// Name is the client's name for the tool; empty means the id that the model sees.
	Name string
	// Description describes the tool's purpose for the model; may be empty.
	Description string
	// Parameters is the JSON Schema of the arguments. If it is not an object schema, the tool has
	// no parameters.
	Parameters json.RawMessage
	// Output is the JSON Schema of the result, ignored unless it is an object schema. Results are
	// not checked against it.
	Output json.RawMessage
	// LongRunning appends the constant LongRunning to the description.
	LongRunning bool
	// Echo is a JSON object with data that the client needs for its answer, in addition to the tool
	// and arguments. It is shown as the interaction's parameters.
	Echo json.RawMessage
}

// tool is a tool of a client.
type tool struct {
	config     Config
	descriptor tools.Descriptor
}

var _ tools.Tool = (*tool)(nil)

// New returns the tool that a client describes.
func New(c Config) tools.Tool {
	d := tools.Descriptor{
		Description: c.Description,
		Parameters:  objectSchema(c.Parameters),
		Output:      objectSchema(c.Output),
		// A call only sends a request, and repeats it under the same id. The client does the work
		// once, however often the request is repeated.
		Effect: tools.Idempotent,
	}
	if c.LongRunning {
		if d.Description != "" {
			d.Description += "\n\n"
		}
		d.Description += LongRunning
	}
	return &tool{config: c, descriptor: d}
}

// objectSchema returns a schema of type object, or nil for any other, because no model accepts
// others.
func objectSchema(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return nil
	}
	if typ, has := fields["type"]; has && !bytes.Equal(bytes.TrimSpace(typ), []byte(`"object"`)) {
		return nil
	}
	return raw
}

// Descriptor describes the tool as its client does.
func (t *tool) Descriptor() tools.Descriptor { return t.descriptor }

// answerSchema is the schema of an answer.
var answerSchema = json.RawMessage(`{"type":"object","properties":{"result":{"type":"string"},"error":{"type":"string"},` +
	`"files":{"type":"array","items":{"type":"object","properties":{"mimeType":{"type":"string"},"filename":{"type":"string"},` +
	`"data":{"type":"string","contentEncoding":"base64"}},"required":["mimeType","data"],"additionalProperties":false}}},` +
	`"additionalProperties":false,"oneOf":[{"required":["result"]},{"required":["error"]}],"dependentRequired":{"files":["result"]}}`)

// Answer is a client's result of a call: either Error, or Result and Files.
type Answer struct {
	Result *string `json:"result,omitempty"`
	Files  []File  `json:"files,omitempty"`
	Error  *string `json:"error,omitempty"`
}

// File is a file of a result, for the model.
type File struct {
	MediaType string `json:"mimeType"`
	Name      string `json:"filename,omitempty"`
	Data      []byte `json:"data"`
}

// MaxArguments bounds the arguments of a call, in bytes of JSON. A client must not execute a call
// with only part of them, and an event with all of them, up to twice, is at most 1 MiB.
const MaxArguments = 440 << 10

// Call waits for the client, or returns its answer. A call resumed without an answer, because its
// worker died, waits again.
func (t *tool) Call(_ context.Context, call *tools.Call) (tools.Result, error) {
	if call.Resumed == nil || len(call.Resumed.Answers) == 0 {
		if n := encodedSize(call.Arguments); n > MaxArguments {
			return tools.ErrorResult(fmt.Sprintf("the arguments have %d bytes of JSON; a client is sent at most %d", n, MaxArguments)), nil
		}
		return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{
			Tool: cmp.Or(t.config.Name, call.Tool), Arguments: call.Arguments, Action: Action, Parameters: t.config.Echo, ResponseSchema: answerSchema,
			Message: fmt.Sprintf("The client is to run %s.", call.Tool),
		}}}}, nil
	}
	given := &call.Resumed.Answers[0]
	if given.Action == interaction.Cancel {
		return tools.ErrorResult(canceledText(given.Reason)), nil
	}
	var answer Answer
	if err := json.Unmarshal(given.Result, &answer); errors.As(err, new(base64.CorruptInputError)) {
		return tools.ErrorResult("the client answered with a file that is not base64"), nil
	} else if err != nil {
		return tools.Result{}, fmt.Errorf("read the answer of the client: %w", err)
	}
	switch {
	case answer.Error != nil:
		return tools.ErrorResult(*answer.Error), nil
	case answer.Result != nil:
		result := tools.TextResult(*answer.Result)
		for _, f := range answer.Files {
			result.Content = append(result.Content, model.File(&model.Blob{MediaType: f.MediaType, Name: f.Name, Data: f.Data}))
		}
		return result, nil
	default:
		return tools.ErrorResult("the client answered with neither a result nor an error"), nil
	}
}

// encodedSize returns the encoded size of arguments in bytes.
func encodedSize(arguments json.RawMessage) int {
	encoded, err := json.Marshal(arguments)
	if err != nil {
		return len(arguments)
	}
	return len(encoded)
}

func canceledText(reason string) string {
	if reason == "" {
		return "the client refused the call"
	}
	return "the client refused the call: " + reason
}
