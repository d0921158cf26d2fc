package workflow

import (
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
)

// The ids of the steps that a target becomes.
const (
	targetStep   = "target"
	deliveryStep = "deliver"
)

// Target is the older form of a workflow: one agent turn, whose answer may be handed to a
// tool, or one tool call.
type Target struct {
	Agent    *AgentTurn     `json:"agent,omitempty" doc:"The agent that runs a turn."`
	Tool     *ToolCall      `json:"tool,omitempty" doc:"The tool to call."`
	Delivery *Delivery      `json:"output_delivery,omitempty" doc:"The tool that receives the agent's answer."`
	Timeout  *spec.Duration `json:"timeout,omitempty" alias:"timeout_seconds:s" default:"5m" doc:"Time limit of the turn or call."`
}

// Delivery hands the answer of an agent to a tool.
type Delivery struct {
	Tool     string    `json:"tool" required:"true" doc:"The id of the tool."`
	Bindings []Binding `json:"input_bindings,omitempty" doc:"The arguments of the call."`
}

// Binding is one argument of the tool that receives an answer.
type Binding struct {
	Field string       `json:"input_field" required:"true" doc:"The name of the argument."`
	Value BindingValue `json:"value" required:"true" doc:"Its value."`
}

// BindingValue is the source of an argument. Exactly one field is set.
type BindingValue struct {
	AgentOutput    string          `json:"agent_output,omitempty" doc:"text is the answer's text, structured_output.PATH a part of the structured answer."`
	SignalPayload  string          `json:"signal_payload,omitempty" doc:"A path below the data of the event."`
	SignalMetadata string          `json:"signal_metadata,omitempty" doc:"A path below the event, such as type or id."`
	Literal        json.RawMessage `json:"literal,omitempty" doc:"A constant."`
}

// validate checks the target by itself.
func (t *Target) validate() diag.List {
	if t.Agent == nil && t.Delivery != nil {
		return diag.List{diag.New(diag.InvalidValue, "output_delivery", "output_delivery requires an agent as target").AtKey()}
	}
	var list diag.List
	if t.Delivery != nil {
		for i := range t.Delivery.Bindings {
			list = append(list, check.Within(diag.Index("output_delivery.input_bindings", i), t.Delivery.Bindings[i].validate())...)
		}
	}
	if len(list) > 0 {
		return list
	}
	steps := t.toSteps()
	v := newStepsCheck(steps)
	for i := range steps {
		path := ""
		if steps[i].ID == deliveryStep {
			path = "output_delivery"
		}
		list = append(list, check.Within(path, v.checkStep(&steps[i]))...)
	}
	return list
}

func (b *Binding) validate() diag.List {
	set := 0
	for _, text := range []string{b.Value.AgentOutput, b.Value.SignalPayload, b.Value.SignalMetadata, string(b.Value.Literal)} {
		if text != "" {
			set++
		}
	}
	if set != 1 {
		return diag.List{diag.New(diag.InvalidValue, "value", "value has %d sources; it must have one", set).WithHint("write one of agent_output, signal_payload, signal_metadata and literal")}
	}
	out := b.Value.AgentOutput
	if _, structured := strings.CutPrefix(out, "structured_output."); out != "" && out != "text" && !structured {
		return diag.List{diag.New(diag.InvalidValue, "value.agent_output", "agent_output cannot be %q; allowed are text and structured_output.PATH", out)}
	}
	for name, path := range map[string]string{"signal_payload": b.Value.SignalPayload, "signal_metadata": b.Value.SignalMetadata, "agent_output": out} {
		if _, err := parsePath(path); err != nil {
			return diag.List{diag.New(diag.InvalidTemplate, diag.Join("value", name), "the path %q cannot be read: %v", path, err)}
		}
	}
	return nil
}

// toSteps converts the target to steps.
func (t *Target) toSteps() []Step {
	steps := []Step{{ID: targetStep, Agent: t.Agent, Tool: t.Tool, Timeout: t.Timeout}}
	if t.Delivery == nil {
		return steps
	}
	call := &ToolCall{Name: t.Delivery.Tool, Input: make(map[string]json.RawMessage, len(t.Delivery.Bindings))}
	for i := range t.Delivery.Bindings {
		b := &t.Delivery.Bindings[i]
		call.Input[b.Field] = b.Value.toValue()
	}
	return append(steps, Step{ID: deliveryStep, Tool: call})
}

// toValue returns the value in the form that steps use.
func (v *BindingValue) toValue() json.RawMessage {
	form, content := "literal", any(v.Literal)
	switch {
	case v.AgentOutput != "":
		path := v.AgentOutput
		if below, structured := strings.CutPrefix(path, "structured_output."); structured {
			path = below
		}
		form, content = "step_output", map[string]string{"step_id": targetStep, "path": path}
	case v.SignalPayload != "":
		form, content = "signal", "data."+v.SignalPayload
	case v.SignalMetadata != "":
		form, content = "signal", v.SignalMetadata
	}
	data, err := json.Marshal(map[string]any{form: content})
	if err != nil {
		return json.RawMessage("null") // a literal is JSON, and texts can always be written
	}
	return data
}
