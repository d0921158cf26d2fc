package google

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/spec"
)

// form is the way to request an answer's form. Gemini up to its second generation supports either a
// form or tools: the model then calls an internal function with its answer, which is not visible
// outside.
type form struct {
	// native requests the form directly.
	native bool
	// function is the name of our function, if it is needed.
	function string
	// wrapped is set if the answer is one of the function's arguments rather than all of them.
	wrapped bool
	// withoutTools omits the tools, which may not be called anyway.
	withoutTools bool
}

// outputFunction is the function's default name, unless a tool has it.
const outputFunction = "set_model_response"

func formOf(req *model.Request) form {
	switch {
	case req.Output == nil:
		return form{}
	case len(req.Tools) == 0 || generationOf(req.Model).hasLevels():
		return form{native: true}
	}
	switch req.ToolChoice.Mode {
	case model.ToolsNone:
		return form{native: true, withoutTools: true}
	case model.ToolsRequired, model.ToolsNamed:
		return form{} // the request forces a call, not the answer
	default:
		return form{function: vendorhttp.UnusedName(outputFunction, req.Tools), wrapped: !isObjectSchema(req.Output.Schema)}
	}
}

// modelInstruction tells the model about the function.
func (f *form) modelInstruction() string {
	return "When you have the final answer, call the function " + f.function +
		" with it, once and by itself. Do not write the answer as text. " +
		"Call other functions first if you need them."
}

// answerField holds a non-object answer, because the arguments of a function must be an object.
const answerField = "answer"

// declareFunction returns the declaration of the function.
func (f *form) declareFunction(output *spec.OutputSchema) ([]byte, error) {
	parameters := output.Schema
	if f.wrapped {
		var err error
		if parameters, err = wrapSchema(parameters); err != nil {
			return nil, vendorhttp.InvalidRequest("the output schema cannot be encoded", err)
		}
	}
	return vendorhttp.EncodeRequest(&declarationParam{
		Name:                 f.function,
		Description:          "Gives the final answer (" + output.DisplayName() + ") and ends the work.",
		ParametersJSONSchema: parameters,
	})
}

// isObjectSchema reports whether a schema describes an object, which is assumed unless it states
// another type.
func isObjectSchema(schema json.RawMessage) bool {
	var fields struct {
		Type any `json:"type"`
	}
	_ = json.Unmarshal(schema, &fields) // a schema without fields is ignored
	return fields.Type == nil || fields.Type == "object"
}

// wrapSchema returns the schema of an object that holds an answer. Definitions stay at the top
// level, where references find them.
func wrapSchema(schema json.RawMessage) (json.RawMessage, error) {
	var inner map[string]json.RawMessage
	if err := json.Unmarshal(schema, &inner); err != nil {
		return nil, err
	}
	outer := map[string]any{"type": "object", "required": []string{answerField}}
	for _, name := range []string{"$defs", "definitions"} {
		if definitions, ok := inner[name]; ok {
			outer[name] = definitions
			delete(inner, name)
		}
	}
	outer["properties"] = map[string]any{answerField: inner}
	return rawjson.Marshal(outer)
}

// answerText returns the answer in the arguments of the function call.
func (f *form) answerText(arguments json.RawMessage) string {
	if len(arguments) == 0 || string(arguments) == "null" {
		return "{}"
	}
	if f.wrapped {
		var outer map[string]json.RawMessage
		if json.Unmarshal(arguments, &outer) == nil && outer[answerField] != nil {
			return string(outer[answerField])
		}
	}
	return string(arguments)
}
