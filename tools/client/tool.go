// Package client is the tool whose calls somebody outside answers: the
// client that asked for the turn, which has the code. A call waits, as an
// interaction that is kept with the turn, until the client reports its result.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/tools"
)

// Action is what the interactions of such calls ask for.
const Action = "client:call"

// LongRunning is what the description of a tool that takes its time ends with.
const LongRunning = "NOTE: This is a long-running operation. Do not call this tool again if it has already returned an intermediate or pending status."

// Config describes a tool of a client.
type Config struct {
	// Name is what the client calls the tool; empty is the id under which the
	// model knows it.
	Name string
	// Description tells the model what the tool is for; empty is nothing.
	Description string
	// Parameters is the JSON Schema of the arguments. Where that is no object
	// schema the tool has no parameters.
	Parameters json.RawMessage
	// Output is the JSON Schema of the result; where that is no object schema it
	// is left out. What the client answers is not checked against it.
	Output json.RawMessage
	// LongRunning adds the advice of that name to the description.
	LongRunning bool
	// Echo is a JSON object with what the client needs to know to answer a call,
	// besides its tool and arguments. It is shown as the parameters of the
	// interaction.
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
		// A call does nothing but ask, and asks the same thing under the same id
		// whenever it is repeated. Who answers does the work once, however often
		// it was asked.
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

// objectSchema returns a schema whose type is object, and nil for any other: no
// model takes such a one.
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

// answerSchema is what an answer looks like.
var answerSchema = json.RawMessage(`{"type":"object","properties":{"result":{"type":"string"},"error":{"type":"string"}},` +
	`"additionalProperties":false,"minProperties":1,"maxProperties":1}`)

// Answer is what a client says a call came to: exactly one of the two.
type Answer struct {
	Result *string `json:"result,omitempty"`
	Error  *string `json:"error,omitempty"`
}

// MaxArguments bounds the arguments of a call, in bytes of JSON: a client must not
// make a call with a part of them, and an event that has all of them, up to twice, is
// at most 1 MiB.
const MaxArguments = 440 << 10

// Call waits for the client, or returns what it answered. A call that goes on
// without an answer, because its worker died, waits again.
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
	if err := json.Unmarshal(given.Result, &answer); err != nil {
		return tools.Result{}, fmt.Errorf("read the answer of the client: %w", err)
	}
	switch {
	case answer.Error != nil:
		return tools.ErrorResult(*answer.Error), nil
	case answer.Result != nil:
		return tools.TextResult(*answer.Result), nil
	default:
		return tools.ErrorResult("the client answered with neither a result nor an error"), nil
	}
}

// encodedSize returns how many bytes arguments have as they are sent.
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
