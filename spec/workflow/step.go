package workflow

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/spec"
)

// defaultStepTimeout is the default time limit of a step.
const defaultStepTimeout = 5 * time.Minute

// Step is one tool call or agent turn of a run.
type Step struct {
	ID       string                     `json:"id" required:"true" pattern:"^[A-Za-z0-9_-]{1,64}$" doc:"The id by which later steps refer to the step."`
	Inputs   map[string]json.RawMessage `json:"inputs,omitempty" doc:"Named values available to the step as ${{ inputs.NAME }}."`
	Tool     *ToolCall                  `json:"tool,omitempty" doc:"The tool that the step calls."`
	Agent    *AgentTurn                 `json:"agent,omitempty" doc:"The agent that runs a turn."`
	When     *Condition                 `json:"when,omitempty" doc:"The condition for running the step. Otherwise, it and the steps that refer to it are skipped."`
	Timeout  *spec.Duration             `json:"timeout,omitempty" alias:"timeout_seconds:s" default:"5m" doc:"Time limit of the step, excluding waits for a person."`
	Retry    *Retry                     `json:"retry,omitempty" doc:"Whether the step is retried when it fails."`
	Metadata json.RawMessage            `json:"metadata,omitempty" doc:"Data stored with the step for readers."`
}

// ToolCall is a call of a tool by a step.
type ToolCall struct {
	Name     string                     `json:"name" required:"true" doc:"The id of the tool."`
	Input    map[string]json.RawMessage `json:"input,omitempty" doc:"The arguments of the call, by name; each is a value."`
	Approval bool                       `json:"approval,omitempty" doc:"Whether a person must approve the call before it is made."`
}

// AgentTurn is a turn of an agent by a step.
type AgentTurn struct {
	Agent      string          `json:"agent" required:"true" doc:"The agent that runs the turn."`
	ModelID    string          `json:"model_id,omitempty" doc:"The model or pool of the turn, or a model of the agent's provider. Defaults to the agent's."`
	Prompt     json.RawMessage `json:"prompt,omitempty" doc:"The input of the turn: a text, which may contain ${{ … }}, or {template: text}."`
	Messages   []Message       `json:"messages,omitempty" doc:"Messages before the prompt or instead of it."`
	Tools      spec.Names      `json:"tools,omitzero" doc:"The agent's tools that the turn may call. Defaults to all."`
	Output     *Output         `json:"output,omitempty" doc:"The form of the answer: text, or an object that a JSON Schema describes."`
	SessionKey json.RawMessage `json:"session_key,omitempty" doc:"The name of the workflow's conversation that the turn continues; it may contain ${{ … }}. If empty, each turn has a new session."`
}

// Message is an input message of a turn.
type Message struct {
	Role string          `json:"role,omitempty" enum:"user|system|assistant" default:"user" doc:"Who says it."`
	Text json.RawMessage `json:"text" required:"true" doc:"A text, which may contain ${{ … }}, or {template: text}."`
}

// Output is the form of an agent's answer. At most one field is set.
type Output struct {
	Text       *struct{}   `json:"text,omitempty" doc:"The answer is text: the output text."`
	Structured *Structured `json:"structured,omitempty" doc:"The answer is an object whose fields are the step's outputs."`
}

// Structured is an answer described by a JSON Schema.
type Structured struct {
	Schema json.RawMessage `json:"schema" required:"true" doc:"The JSON Schema of the answer."`
}

// Condition compares a value with a constant.
type Condition struct {
	Value  json.RawMessage `json:"value" required:"true" doc:"The value to compare."`
	Equals json.RawMessage `json:"equals" required:"true" doc:"The text, number, boolean or null that it must equal."`
}

// Retry repeats a failed step. A step whose call may have had an effect that must happen only once
// is not repeated; it fails.
type Retry struct {
	MaxAttempts int            `json:"max_attempts" required:"true" min:"1" max:"20" doc:"Maximum attempts, including the first."`
	Backoff     *spec.Duration `json:"backoff,omitempty" default:"1s" doc:"The pause before the second attempt. It doubles with each one."`
	MaxBackoff  *spec.Duration `json:"max_backoff,omitempty" default:"1m" doc:"The longest pause."`
}

// TimeLimit returns the step's time limit.
func (s *Step) TimeLimit() time.Duration {
	if s.Timeout == nil {
		return defaultStepTimeout
	}
	return s.Timeout.Std()
}

// Attempts returns how often the step is tried.
func (s *Step) Attempts() int {
	if s.Retry == nil {
		return 1
	}
	return max(1, s.Retry.MaxAttempts)
}

// Pause returns the pause after a number of failed attempts.
func (r *Retry) Pause(failed int) time.Duration {
	pause, most := time.Second, time.Minute
	if r.Backoff != nil {
		pause = r.Backoff.Std()
	}
	if r.MaxBackoff != nil {
		most = r.MaxBackoff.Std()
	}
	for range failed - 1 {
		if pause >= most {
			break
		}
		pause *= 2
	}
	return min(pause, most)
}

// Schema returns the JSON Schema of the step's answer; nil for text and for tools.
func (s *Step) Schema() json.RawMessage {
	if s.Agent == nil || s.Agent.Output == nil || s.Agent.Output.Structured == nil {
		return nil
	}
	return s.Agent.Output.Structured.Schema
}
