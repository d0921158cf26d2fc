package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/jsonschema-go/jsonschema"
)

// actionInterrupt is the action of an InterruptTool's questions. Their parameters are the
// interrupt's payload, which clients read as metadata.interrupt.
const actionInterrupt = "agents:interrupt"

// keyRespond is the only key of an answer that replaces the output of an InterruptTool.
const keyRespond = "$respond"

// InterruptTool returns a tool that may interrupt its turn: run returns Interrupt, and runs again
// with the same arguments and the answer. The first run gets a nil answer. A client that responds
// instead of the tool sends an Out, and run does not run again.
func InterruptTool[In, Out, Resume any](description string, run func(ctx context.Context, in In, answer *Resume) (Out, error)) tools.Tool {
	t := &interruptTool[In, Out, Resume]{run: run}
	t.described = tools.Func[In, Out]{Description: description, Run: func(ctx context.Context, in In) (Out, error) { return run(ctx, in, nil) }}
	t.answers, t.err = answerSchema[Out, Resume]()
	return t
}

type interruptTool[In, Out, Resume any] struct {
	run       func(ctx context.Context, in In, answer *Resume) (Out, error)
	described tools.Func[In, Out]
	answers   json.RawMessage
	err       error
}

// interruption is the error that Interrupt returns.
type interruption struct {
	message string
	payload json.RawMessage
}

// Error describes the interruption.
func (e *interruption) Error() string { return "the tool interrupts its turn: " + e.message }

// Interrupt returns the error by which an InterruptTool interrupts its turn. The message is
// for people, and the payload, which may be nil, for programs.
func Interrupt(message string, payload any) error {
	e := &interruption{message: message}
	if payload == nil {
		return e
	}
	encoded, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encode the payload of an interrupt: %w", err)
	}
	e.payload = encoded
	return e
}

// answerSchema returns the JSON Schema of the answers to an interrupt.
func answerSchema[Out, Resume any]() (json.RawMessage, error) {
	resume, err := jsonschema.For[Resume](nil)
	out, err2 := jsonschema.For[Out](nil)
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("its output or answer has no JSON Schema: %w", err)
	}
	return json.Marshal(map[string]any{"anyOf": []any{resume, map[string]any{
		"type": "object", "required": []string{keyRespond}, "additionalProperties": false, "properties": map[string]any{keyRespond: out},
	}}})
}

// Check reports a missing function and types without a JSON Schema.
func (t *interruptTool[In, Out, Resume]) Check() error {
	if t.run == nil {
		return errors.New("its function is nil")
	}
	return errors.Join(t.described.Check(), t.err)
}

// Descriptor describes the tool.
func (t *interruptTool[In, Out, Resume]) Descriptor() tools.Descriptor {
	return t.described.Descriptor()
}

// Call runs the tool, or returns a client's response as its result.
func (t *interruptTool[In, Out, Resume]) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	var answer *Resume
	if call.Resumed != nil && len(call.Resumed.Answers) > 0 {
		raw := call.Resumed.Answers[0].Result
		var given map[string]json.RawMessage
		if json.Unmarshal(raw, &given) == nil && len(given) == 1 && given[keyRespond] != nil {
			return t.resultOf(ctx, call, given[keyRespond])
		}
		answer = new(Resume)
		if err := json.Unmarshal(raw, answer); err != nil {
			return tools.Result{}, fmt.Errorf("decode the answer of an interrupt: %w", err)
		}
	}
	f := tools.Func[In, Out]{Run: func(ctx context.Context, in In) (Out, error) { return t.run(ctx, in, answer) }}
	result, err := f.Call(ctx, call)
	if asked, ok := errors.AsType[*interruption](err); ok {
		return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{
			Action: actionInterrupt, Message: asked.message, Parameters: asked.payload, ResponseSchema: t.answers,
		}}}}, nil
	}
	return result, err
}

// resultOf returns a client's response as the result of the call.
func (*interruptTool[In, Out, Resume]) resultOf(ctx context.Context, call *tools.Call, output json.RawMessage) (tools.Result, error) {
	f := tools.Func[In, Out]{Run: func(context.Context, In) (out Out, err error) {
		err = json.Unmarshal(output, &out)
		return out, err
	}}
	return f.Call(ctx, call)
}

// responseTo returns the answer to a request that supplies its tool's output.
func responseTo(asked *interaction.Request, output json.RawMessage) json.RawMessage {
	if asked.Action != actionInterrupt {
		return output
	}
	if len(output) == 0 {
		output = json.RawMessage("null")
	}
	wrapped, _ := json.Marshal(map[string]json.RawMessage{keyRespond: output}) // JSON that was decoded
	return wrapped
}

// InterruptOf decodes the payload of an open tool request of an InterruptTool.
func InterruptOf[T any](request *wire.Part) (payload T, err error) {
	err = json.Unmarshal(request.Metadata[metaInterrupt], &payload)
	return payload, err
}
