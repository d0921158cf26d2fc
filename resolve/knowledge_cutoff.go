package resolve

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins"
)

// KnowledgeCutoffKey is the section that configures whether the model gets its knowledge cutoff and
// the date.
const KnowledgeCutoffKey = "knowledge_cutoff_context"

// knowledgeCutoffSchema is the JSON Schema of the section.
const knowledgeCutoffSchema = `{
  "type": "object",
  "description": "Whether each request tells the model its knowledge cutoff and today's date.",
  "properties": {
    "enabled": {"type": "boolean", "default": true, "description": "Tells the model both when it declares knowledge_cutoff or the catalog has it. Of a pool all members must have the same one."}
  },
  "additionalProperties": false
}`

// cutoffContext is the decoded section.
type cutoffContext struct {
	Enabled bool `json:"enabled"`
}

// decodeCutoffContext decodes the section; without a section it is enabled.
func decodeCutoffContext(raw json.RawMessage) (cutoffContext, diag.List) {
	c := cutoffContext{Enabled: true}
	if raw == nil {
		return c, nil
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, diag.List{diag.New(diag.InvalidPluginConfig, "", "the section does not decode: %v", err)}
	}
	return c, nil
}

func knowledgeCutoffSection() plugins.Section {
	return plugins.NewSection(KnowledgeCutoffKey, "Whether the model is told its knowledge cutoff and the date.",
		json.RawMessage(knowledgeCutoffSchema), decodeCutoffContext)
}
