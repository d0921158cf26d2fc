package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/model"
)

// report is the tool through which the model gives an answer in a required form: the arguments of
// its call are the answer. The rest of the runtime does not know it, and it appears in no event.
type report struct {
	name string
	// wrapped is set if the answer is the property reportProperty of the arguments, because
	// arguments must be an object.
	wrapped bool
	// declaration is a JSON array with only the tool.
	declaration []byte
}

const (
	reportName     = "final_report"
	reportProperty = "value"
)

// wantsAnswer reports whether a request requires an answer in a form. A request that forces a call
// of one of its tools does not.
func wantsAnswer(req *model.Request) bool {
	return req.Output != nil && req.ToolChoice.Mode != model.ToolsRequired && req.ToolChoice.Mode != model.ToolsNamed
}

// newReport returns the report to offer with a request.
func newReport(req *model.Request) (*report, error) {
	schema, wrapped, err := reportSchema(req.Output.Schema)
	if err != nil {
		return nil, &model.Error{Class: model.InvalidRequest, Message: "the output schema is not a JSON object", Err: err}
	}
	r := &report{name: unusedName(req.Tools), wrapped: wrapped}
	description := "Gives the final answer. Call it once, by itself, when the answer is complete."
	if req.Output.Name != "" {
		description += fmt.Sprintf(" The form of the answer is called %s.", req.Output.Name)
	}
	r.declaration, err = encodeDeclarations([]declaration{{Name: r.name, Description: description, InputSchema: schema}})
	return r, err
}

// unusedName returns a name for the report that no tool uses.
func unusedName(tools []model.Tool) string {
	name := reportName
	for n := 2; slices.ContainsFunc(tools, func(t model.Tool) bool { return t.Name == name }); n++ {
		name = fmt.Sprintf("%s_%d", reportName, n)
	}
	return name
}

// modelInstruction tells the model to use the report if it is not forced to.
func (r *report) modelInstruction() string {
	return fmt.Sprintf("When you are done, give your final answer by calling the tool %s, and in no other way.", r.name)
}

// reportSchema returns the schema of the report's arguments. The API accepts only object schemas
// without alternatives; other schemas are wrapped.
func reportSchema(schema json.RawMessage) (_ json.RawMessage, wrapped bool, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(schema, &fields); err != nil {
		return nil, false, err
	}
	if isObjectSchema(fields) {
		return schema, false, nil
	}
	outer := map[string]any{
		"type":       "object",
		"properties": map[string]json.RawMessage{reportProperty: schema},
		"required":   []string{reportProperty},
	}
	for _, definitions := range []string{"$defs", "definitions"} { // references start at the root
		if fields[definitions] != nil {
			outer[definitions] = fields[definitions]
		}
	}
	encoded, err := json.Marshal(outer)
	return encoded, true, err
}

func isObjectSchema(fields map[string]json.RawMessage) bool {
	for _, choice := range []string{"oneOf", "anyOf", "allOf", "$ref"} {
		if fields[choice] != nil {
			return false
		}
	}
	return textOf(fields["type"]) == "object"
}

// unwrapAnswer returns the answer in complete arguments. Incomplete arguments are returned
// unchanged.
func unwrapAnswer(arguments []byte) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(arguments, &fields) == nil && fields[reportProperty] != nil {
		return string(fields[reportProperty])
	}
	return string(arguments)
}

// reporting tracks the report through one answer.
type reporting struct {
	*report
	// call is the report's call; nil until it starts. Further calls are ignored.
	call *block
	// held is text that may or may not be the answer.
	held []byte
	// arguments are the arguments of a wrapped report.
	arguments []byte
}

func (r *reporting) beginCall(call *block) {
	if r.call == nil {
		r.call = call
	}
}

// holdText holds back a piece of text.
func (r *reporting) holdText(piece string) { r.held = append(r.held, piece...) }

// releaseText emits the held text: an answer that calls tools is not the final one.
func (r *reporting) releaseText(a *answer) {
	if r.call == nil {
		a.out.AddDelta(model.EventText, string(r.held))
		r.held = nil
	}
}

func (r *reporting) addArguments(a *answer, call *block, piece string) {
	switch {
	case call != r.call:
	case r.wrapped:
		r.arguments = append(r.arguments, piece...)
	default:
		a.out.AddDelta(model.EventText, piece)
	}
}

// finishAnswer adds the held text. If the model did not use the report, its answer is the text.
// Text beside the report is not part of the answer and becomes reasoning; it comes last, so that it
// is not mistaken for part of a thought signed by the vendor.
func (r *reporting) finishAnswer(a *answer) {
	if r.call == nil {
		r.releaseText(a)
		return
	}
	if r.wrapped {
		a.out.AddDelta(model.EventText, unwrapAnswer(r.arguments))
	}
	a.out.AddDelta(model.EventReasoning, string(r.held))
}
