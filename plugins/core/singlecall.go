package core

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// approvalAction is the action of interactions that request approval of a call.
const approvalAction = "tool:PermissionConfirm"

// codeToolFailed is the code of a turn whose only call failed.
const codeToolFailed = "tool_failed"

// SingleCall is the plugin of a turn that makes one call: it requests a person's approval first, if
// required, and fails the turn if the call fails.
type SingleCall struct {
	// Approval makes the call wait for a person's approval.
	Approval bool
	// Asking names the caller in the question to the person.
	Asking string
}

var _ plugins.Plugin = SingleCall{}

// Descriptor describes the plugin.
func (SingleCall) Descriptor() plugins.Descriptor {
	return noSections("Makes one call, after a person approved it if required.")
}

// Register adds the gate and the hook.
func (s SingleCall) Register(r *plugins.Registrar) error {
	if s.Approval {
		r.ToolGate(plugins.GateFunc(s.checkApproval))
	}
	r.Hook(plugins.StepEnd, failWithCall)
	r.Hook(plugins.AfterInference, failWithCall) // for a rejected call
	return nil
}

// approvalSchema is the JSON Schema of an answer.
var approvalSchema = json.RawMessage(`{"type":"object","required":["approved"],"additionalProperties":false,"properties":{` +
	`"approved":{"type":"boolean","description":"Whether the call may be made."},` +
	`"scope":{"enum":["once"],"default":"once","description":"What is approved: this call."},` +
	`"reason":{"type":"string","description":"Why not."}}}`)

// checkApproval makes the call wait for a person's decision.
func (s SingleCall) checkApproval(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
	_, answer := p.Answered(approvalAction)
	if answer == nil {
		return s.askApproval(p.Call), nil
	}
	var said struct {
		Approved bool   `json:"approved"`
		Reason   string `json:"reason"`
	}
	if answer.Action == interaction.Resume {
		if err := json.Unmarshal(answer.Result, &said); err != nil {
			said.Approved, said.Reason = false, "the answer cannot be read"
		}
	}
	switch {
	case said.Approved:
		return plugins.Decision{Kind: plugins.Allow}, nil
	case said.Reason == "" && answer.Reason == "":
		return plugins.Decision{Kind: plugins.Block, Reason: "a person refused this call"}, nil
	case said.Reason == "":
		said.Reason = answer.Reason
	}
	return plugins.Decision{Kind: plugins.Block, Reason: "a person refused this call: " + said.Reason}, nil
}

// askApproval returns the decision that makes the call wait.
func (s SingleCall) askApproval(call *model.ToolCall) plugins.Decision {
	message := fmt.Sprintf("%s wants to call tool %s, which needs your approval.", s.Asking, call.Name)
	parameters, err := json.Marshal(map[string]any{"agent": s.Asking, "tool": call.Name, "scopes": []string{"once"}})
	if err != nil {
		return plugins.Decision{Kind: plugins.Block, Reason: err.Error()}
	}
	return plugins.Decision{Kind: plugins.Suspend, Reason: message, Interaction: &interaction.Request{
		ID: "approve_" + call.ID, Action: approvalAction, Message: message, Parameters: parameters,
		ResponseSchema: approvalSchema, Mode: interaction.ReplayToolCall,
	}}
}

// failWithCall fails a turn whose call failed.
func failWithCall(_ context.Context, p *plugins.PhaseContext) error {
	if result := findResult(p.Messages); result != nil && result.IsError {
		p.Stop(event.Termination{Type: event.Failed, Code: codeToolFailed, Detail: model.PartsText(result.Content)})
	}
	return nil
}

// findResult returns the result of the one call, or nil.
func findResult(messages []model.Message) *model.ToolResult {
	for i := len(messages) - 1; i >= max(0, len(messages)-2); i-- {
		if result := LastResult(messages[:i+1]); result != nil {
			return result
		}
	}
	return nil
}

// LastResult returns the result at the end of a conversation, or nil.
func LastResult(messages []model.Message) *model.ToolResult {
	if len(messages) == 0 {
		return nil
	}
	parts := messages[len(messages)-1].Parts
	for i := range parts {
		if parts[i].Type == model.PartToolResult {
			return parts[i].ToolResult
		}
	}
	return nil
}
