package mcp

import (
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/spec"
)

// messageSchema is the input of an agent without variables.
var messageSchema = json.RawMessage(`{"type":"object","properties":{` + messageProperties + `},"required":["message"],"additionalProperties":false}`)

const messageProperties = `"message":{"type":"string","minLength":1,"description":"What to ask the agent."},` +
	`"session_id":{"type":"string","description":"Continues an earlier conversation: the session_id in its result. Without it a new one begins."}`

// inputSchema returns the arguments of an agent: a message, and the variables that it
// declares.
func inputSchema(agent *spec.Agent) json.RawMessage {
	if len(agent.Variables) == 0 {
		return messageSchema
	}
	variables := agent.Variables
	if hasReferences(variables) { // they would point elsewhere inside another schema
		variables = json.RawMessage(`{"type":"object"}`)
	}
	return json.RawMessage(`{"type":"object","properties":{` + messageProperties + `,"variables":` + string(variables) + `},"required":["message"],"additionalProperties":false}`)
}

func hasReferences(schema json.RawMessage) bool {
	return strings.Contains(string(schema), `"$ref"`) || strings.Contains(string(schema), `"$dynamicRef"`)
}

// outputSchema returns the schema of structured results, which are objects. It returns nil if a
// result may not fit, because clients reject such a result.
func outputSchema(agent *spec.Agent) json.RawMessage {
	if !hasForm(agent) {
		return nil
	}
	if isObjectSchema(agent.OutputSchema.Schema) {
		return agent.OutputSchema.Schema
	}
	inner := agent.OutputSchema.Schema
	if hasReferences(inner) {
		inner = json.RawMessage(`{}`)
	}
	return json.RawMessage(`{"type":"object","properties":{"result":` + string(inner) + `},"required":["result"]}`)
}

// hasForm reports whether every answer of an agent fits its output schema.
func hasForm(agent *spec.Agent) bool {
	return agent.OutputSchema != nil && agent.OutputSchema.OnMismatch != spec.MismatchAccepted && len(agent.Handoffs) == 0
}

// isObjectSchema reports whether a schema allows only objects.
func isObjectSchema(schema json.RawMessage) bool {
	var root struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(schema, &root) == nil && root.Type == "object"
}
