package anthropic

import (
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
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
		return nil, vendorhttp.InvalidRequest("the output schema is not a JSON object", err)
	}
	r := &report{name: vendorhttp.UnusedName(reportName, req.Tools), wrapped: wrapped}
	description := "Gives the final answer. Call it once, by itself, when the answer is complete."
	if req.Output.Name != "" {
		description += fmt.Sprintf(" The form of the answer is called %s.", req.Output.Name)
	}
	r.declaration, err = vendorhttp.EncodeRequest([]declaration{{Name: r.name, Description: description, InputSchema: schema}})
	return r, err
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
