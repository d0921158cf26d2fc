package agentruns

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// The fields of a spec.
const (
	fieldAgentID        = "agentId"
	fieldName           = "name"
	fieldSystemPrompt   = "systemPrompt"
	fieldModelID        = "modelId"
	fieldPrompt         = "prompt"
	fieldMessages       = "messages"
	fieldReasoningLevel = "reasoningLevel"
	fieldTools          = "tools"
	fieldBudgets        = "budgets"
	fieldOutputSchema   = "outputSchema"
	fieldLoopDetection  = "loopDetection"
	fieldToolBudgets    = "toolBudgets"
	fieldMetadata       = "metadata"
)

// identityFields apply to all runs of a session, and runFields may be overridden by a message.
// Both have metadata.
var (
	identityFields = namesOf(identityBody{})
	runFields      = namesOf(turnBody{})
	inputFields    = namesOf(inputBody{})
)

// selectFields returns the fields with the given names.
func (f fields) selectFields(lists ...[]string) fields {
	kept := make(fields)
	for _, names := range lists {
		for _, name := range names {
			if value, has := f[name]; has {
				kept[name] = value
			}
		}
	}
	return kept
}

// specOf returns the stored part of a request: its agent and run settings, without the input.
func specOf(f fields) fields {
	return f.selectFields(identityFields, runFields, []string{fieldMetadata})
}

// metadataOf returns the metadata of a spec for responses: an empty object by default.
func metadataOf(spec fields) (fields, error) {
	metadata, err := spec.readObject(fieldMetadata)
	if metadata == nil {
		metadata = fields{}
	}
	return metadata, err
}

// withMessage merges a message into its session's spec: fields of the message override the
// session's, and metadata is merged. Only the session chooses the agent.
func withMessage(session, message fields) (fields, error) {
	merged := session.selectFields(identityFields, runFields)
	maps.Copy(merged, message.selectFields(runFields, inputFields))
	metadata, err := session.readObject(fieldMetadata)
	if err != nil {
		return nil, err
	}
	over, err := message.readObject(fieldMetadata)
	if err != nil {
		return nil, err
	}
	if len(metadata)+len(over) == 0 {
		return merged, nil
	}
	all := make(fields, len(metadata)+len(over))
	maps.Copy(all, metadata)
	maps.Copy(all, over)
	if merged[fieldMetadata], err = json.Marshal(all); err != nil {
		return nil, fmt.Errorf("encode the metadata: %w", err)
	}
	return merged, nil
}

// request is a validated request for a run.
type request struct {
	identityBody
	budgetsBody
	// messages are the input and the messages before it.
	messages []inputMessage
	// effort is from 0 to 100; nil if absent.
	effort *int
	tools  []toolRef
	output *outputBody
	loop   *spec.LoopDetection
	// toolBudgets is nil if absent, and empty for no budgets.
	toolBudgets map[string]int
	metadata    map[string]string
	// warnings are about ineffective fields.
	warnings []warning
}

// inputMessage is a message of a request.
type inputMessage struct {
	Role        string       `json:"role" enum:"user,assistant,system"`
	Content     string       `json:"content"`
	Attachments []attachment `json:"attachments,omitempty" jsonschema:"Files of a message of the user."`

	// files are the checked attachments as parts.
	files []model.Part
}
