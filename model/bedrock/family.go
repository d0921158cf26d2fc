package bedrock

import (
	"strings"

	"github.com/agentruntime/agentruntime/model/internal/toolschema"
)

// family is a model's vendor, if it makes a difference.
type family uint8

const (
	familyOther family = iota
	// familyUnknown is the family of an inference profile whose name reveals nothing.
	familyUnknown
	familyClaude
	familyNova
	familyOpenAI
)

// familyOf returns the family of a model from its ID, profile or ARN.
func familyOf(id string) family {
	id = strings.ToLower(id)
	switch {
	case strings.Contains(id, "anthropic.") || strings.Contains(id, "claude"):
		return familyClaude
	case strings.Contains(id, "amazon.nova"):
		return familyNova
	case strings.Contains(id, "openai."):
		return familyOpenAI
	case strings.Contains(id, "application-inference-profile") || strings.Contains(id, "provisioned-model"):
		return familyUnknown
	default:
		return familyOther
	}
}

// schemasOf returns the tool schemas that a family of models accepts.
func schemasOf(f family) *toolschema.Dialect {
	if f == familyNova {
		return toolschema.Nova
	}
	return toolschema.Bedrock
}
