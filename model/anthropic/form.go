package anthropic

import (
	"encoding/json"
	"regexp"
	"strconv"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/claude"
)

// formParam is the form of the answer's text.
type formParam struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// generationPattern finds the generation in a model's name, such as claude-sonnet-4-5,
// claude-opus-5 and us.anthropic.claude-haiku-4-5@20251001, without matching a date.
var generationPattern = regexp.MustCompile(`claude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?(?:[-@:]|$)`)

// hasForms reports whether a model's answers can be constrained to a JSON Schema, as Claude's can
// since generation 4.5. Other names reveal nothing, so the report is used.
func hasForms(name string) bool {
	found := generationPattern.FindStringSubmatch(name)
	if found == nil {
		return false
	}
	major, _ := strconv.Atoi(found[1]) // digits, by the pattern
	minor, _ := strconv.Atoi(found[2]) // 0 without one
	return major > 4 || major == 4 && minor >= 5
}

// newForm returns the form to request, or nil if the report is used: for other models and schemas,
// and to continue an answer, which the API rejects with a form.
func newForm(req *model.Request, c concessions) *formParam {
	if c.noForm || req.Output == nil || !hasForms(req.Model) {
		return nil
	}
	if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == model.RoleAssistant {
		return nil
	}
	schema, ok := claude.OutputSchema(req.Output.Schema)
	if !ok {
		return nil
	}
	return &formParam{Type: "json_schema", Schema: schema}
}
