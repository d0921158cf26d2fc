// Package spec holds the declarative records of a runtime: agents, models, pools, endpoints and
// remote sources. A record is pure data; it can validate itself but refers to other records only by
// id.
//
// The struct tags describe each field once, for the configuration loader, the JSON Schema and the
// reference page: json gives the name, doc the meaning, and enum (separated by |), default, min,
// max and required the limits. A field tagged key:"true" is filled from the key of the surrounding
// mapping. On fields of an Agent, remote is the effect for an agent with an endpoint, and hosted
// the effect for an agent at a hosted provider, where the field is not read; see RemoteEffect.
package spec

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
)

// Defaults of an agent's limits.
const (
	// DefaultMaxRounds is the default number of model calls that an agent may make in one turn.
	DefaultMaxRounds = 16
	// defaultMaxContinuationRetries is how often per turn an answer cut off by the output limit is
	// continued.
	defaultMaxContinuationRetries = 2
	// defaultMaxHandoffs is the default number of handoffs per turn.
	defaultMaxHandoffs = 8
)

// ToolExecution is how the tool calls of one model answer run.
type ToolExecution string

// How the tool calls of one answer run.
const (
	// Parallel runs them concurrently; results keep the order of the calls.
	Parallel ToolExecution = "parallel"
	// Sequential runs them one after another.
	Sequential ToolExecution = "sequential"
)

// OnMaxRounds is what happens to a turn that has used up its rounds while the model
// still calls tools.
type OnMaxRounds string

// How a turn ends when its rounds are used up. The empty value is MaxRoundsStops.
const (
	// MaxRoundsStops ends the turn successfully with the text so far.
	MaxRoundsStops OnMaxRounds = "stop"
	// MaxRoundsFails fails the turn: nothing of it becomes part of the session.
	MaxRoundsFails OnMaxRounds = "fail"
	// MaxRoundsFinalizes makes the model answer in the last round, in which it cannot call tools.
	MaxRoundsFinalizes OnMaxRounds = "finalize"
)

// OnTruncation is what happens to a turn whose last answer was cut off by the output
// limit.
type OnTruncation string

// How a turn ends whose answer was cut off. The empty value is TruncationAccepted.
const (
	// TruncationAccepted accepts the partial text as the answer.
	TruncationAccepted OnTruncation = "accept"
	// TruncationFails fails the turn: nothing of it becomes part of the session.
	TruncationFails OnTruncation = "fail"
)

// Agent is a declared agent. An agent with an Endpoint runs on a remote backend, which then owns
// the model, prompt and tools; every other agent runs on the local loop.
type Agent struct {
	ID          string `json:"id" key:"true" doc:"The agent's id." remote:"read"`
	Description string `json:"description,omitempty" doc:"The agent's purpose, shown to agents that may call it and on the A2A card. Defaults to the ID." remote:"read"`

	ModelID      string `json:"model_id,omitempty" doc:"The model or model pool the agent runs on. Required unless the agent has an endpoint." remote:"ignored" hosted:"ignored"`
	SystemPrompt Prompt `json:"system_prompt,omitempty" doc:"The instructions sent before every conversation: a text, or {file: path}. ${turn.NAME} is a variable of the turn, and ${tenant.NAME} a variable of its tenant." remote:"ignored"`

	Variables json.RawMessage `json:"variables,omitempty" doc:"The variables that a turn may set for the prompt: a JSON Schema of type object. ${turn.NAME} in system_prompt is the variable NAME." remote:"ignored"`

	MaxRounds              *int            `json:"max_rounds,omitempty" min:"0" default:"16" doc:"Maximum steps per turn, each a model answer and its tool calls. 0 means unlimited." remote:"guard"`
	OnMaxRounds            OnMaxRounds     `json:"on_max_rounds,omitempty" enum:"stop|fail|finalize" default:"stop" doc:"What happens when a turn runs out of rounds while the model calls tools: stop ends it with the text so far, fail fails it, finalize makes the model answer in the last round, without tools." remote:"guard"`
	MaxContinuationRetries *int            `json:"max_continuation_retries,omitempty" min:"0" default:"2" doc:"Maximum continuations per turn of answers cut off by the output limit." remote:"guard" hosted:"ignored"`
	OnTruncation           OnTruncation    `json:"on_truncation,omitempty" enum:"accept|fail" default:"accept" doc:"What happens to a turn whose answer stays cut off by the output limit: accept accepts the answer as it is, fail fails the turn." remote:"guard"`
	StopConditions         []StopCondition `json:"stop_conditions,omitempty" doc:"Conditions that end a turn, checked in order after each model answer, after the round limit." remote:"guard"`
	ReasoningEffort        *Effort         `json:"reasoning_effort,omitempty" doc:"How much the model may think: off, low, medium, high, max, a number from 0 to 100, or {budget: tokens}. ${tenant.NAME} is a variable of the tenant with one of these words or numbers." remote:"ignored" hosted:"ignored"`
	ModelOptions
	ToolExecution ToolExecution `json:"tool_execution,omitempty" enum:"parallel|sequential" default:"parallel" doc:"How the tool calls of one answer run." remote:"ignored"`

	PluginIDs        []string `json:"plugin_ids,omitempty" doc:"Plugins of this agent; their hooks run in this order." remote:"guard"`
	ActiveHookFilter []string `json:"active_hook_filter,omitempty" doc:"When not empty, only these plugins contribute hooks, gates, transforms and tools. The runtime's own plugins always do." remote:"ignored"`

	AllowedTools         Names `json:"allowed_tools,omitzero" doc:"Ids of tools the agent may use. If neither allow field is set, it may use every tool; a set field, even empty or null, allows only the tools it lists." remote:"guard"`
	AllowedToolPatterns  Names `json:"allowed_tool_patterns,omitzero" doc:"Globs over tool ids, adding to allowed_tools." remote:"guard"`
	ExcludedTools        Names `json:"excluded_tools,omitzero" doc:"Ids of tools to exclude. Exclusion overrides allowance." remote:"guard"`
	ExcludedToolPatterns Names `json:"excluded_tool_patterns,omitzero" doc:"Globs over tool ids, adding to excluded_tools." remote:"guard"`

	Budgets       *Budgets              `json:"budgets,omitempty" doc:"Limits of one turn, including its delegates." remote:"budgets"`
	LoopDetection *LoopDetection        `json:"loop_detection,omitempty" doc:"Stops a model that keeps repeating the same tool calls. {} uses the default thresholds; off if absent." remote:"guard"`
	ToolBudgets   map[string]ToolBudget `json:"tool_budgets,omitempty" doc:"Call limits per turn, by tool id." remote:"guard"`
	OutputSchema  *OutputSchema         `json:"output_schema,omitempty" doc:"The form of the final answer." remote:"guard"`

	Delegates     []string       `json:"delegates,omitempty" doc:"Agents this agent may call; each becomes a tool agent_run_<id>." remote:"guard"`
	Handoffs      []string       `json:"handoffs,omitempty" doc:"Local agents this agent may hand the conversation to; each becomes a tool hand_off_to_<id>." remote:"guard" hosted:"guard"`
	MaxHandoffs   *int           `json:"max_handoffs,omitempty" min:"0" default:"8" doc:"Maximum number of handoffs in one turn." remote:"guard" hosted:"guard"`
	ContextPolicy *ContextPolicy `json:"context_policy,omitempty" doc:"How the conversation is kept inside the model's context window." remote:"ignored" hosted:"ignored"`
	Sections      Sections       `json:"sections,omitempty" doc:"Settings of plugins, one key per section, checked against the schema of the plugin that claims it." remote:"sections"`

	SessionStart []SessionHook `json:"session_start,omitempty" doc:"Programs that run once, in order, when a session of the agent starts. If one fails, the session is not created." remote:"read"`

	A2A *AgentA2A `json:"a2a,omitempty" doc:"How other runtimes see the agent over A2A." remote:"ignored"`

	Endpoint *Endpoint `json:"endpoint,omitempty" doc:"Where the agent runs when it is not local." remote:"read"`
	// Registry is the name of the remote source from which the agent was discovered; empty for a
	// declared agent.
	Registry string `json:"registry,omitempty" key:"true" doc:"The remote source the agent was discovered from." remote:"read"`
}

// Local reports whether the agent runs on the local loop.
func (a *Agent) Local() bool { return a.Endpoint == nil }

// Hosted reports whether the agent runs at a provider hosted by the runtime. The provider answers;
// the runtime owns the tools, plugins and limits.
func (a *Agent) Hosted() bool { return a.Endpoint != nil && a.Endpoint.Backend == HostedBackend }

// UsesTools reports whether the runtime runs the agent's tool calls: it is local or
// hosted.
func (a *Agent) UsesTools() bool { return a.Local() || a.Hosted() }

// UseModel sets the model of the agent, which must not be shared: a model or a pool, or for a
// hosted agent, a name that its provider knows.
func (a *Agent) UseModel(name string) {
	if !a.Hosted() {
		a.ModelID = name
		return
	}
	if a.Endpoint.Options == nil {
		a.Endpoint.Options = make(map[string]json.RawMessage, 1)
	}
	a.Endpoint.Options[HostedModel], _ = json.Marshal(name) // a text always encodes
}

// Model returns the name of the agent's model, in the form of UseModel; empty if the agent names
// none.
func (a *Agent) Model() string {
	if !a.Hosted() {
		return a.ModelID
	}
	var name string
	_ = json.Unmarshal(a.Endpoint.Options[HostedModel], &name) // the provider reports what is wrong
	return name
}

// Rounds returns the agent's round limit; 0 means unlimited.
func (a *Agent) Rounds() int { return orDefault(a.MaxRounds, DefaultMaxRounds) }

// ContinuationRetries returns how often a cut-off answer is continued.
func (a *Agent) ContinuationRetries() int {
	return orDefault(a.MaxContinuationRetries, defaultMaxContinuationRetries)
}

// HandoffLimit returns the agent's limit of handoffs per turn.
func (a *Agent) HandoffLimit() int { return orDefault(a.MaxHandoffs, defaultMaxHandoffs) }

// DisplayDescription returns the text that describes the agent to other agents and
// to peers: its description, or its ID if it has none. It never shows the prompt.
func (a *Agent) DisplayDescription() string { return cmp.Or(a.Description, a.ID) }

// CheckDescription warns about an agent at a path that is visible to others and has no description.
func (a *Agent) CheckDescription(path string) diag.List {
	if a.Description != "" {
		return nil
	}
	return diag.List{diag.New(diag.NoDescription, path, "agent %q has no description, so others see only its ID", a.ID).
		WithHint("describe the agent's purpose in description").ForAgent(a.ID)}
}

// Validate checks the record by itself. Paths are relative to the agent.
func (a *Agent) Validate() diag.List {
	var list diag.List
	if a.Endpoint == nil && a.ModelID == "" {
		list = append(list, diag.New(diag.MissingField, "model_id", "model_id is required").
			WithHint("name a model or a model pool, or give the agent an endpoint"))
	}
	list = append(list, check.NotNegative("max_rounds", a.MaxRounds)...)
	list = append(list, check.NotNegative("max_continuation_retries", a.MaxContinuationRetries)...)
	list = append(list, checkChoice("on_max_rounds", a.OnMaxRounds, MaxRoundsStops, MaxRoundsFails, MaxRoundsFinalizes)...)
	list = append(list, checkChoice("on_truncation", a.OnTruncation, TruncationAccepted, TruncationFails)...)
	list = append(list, checkChoice("tool_execution", a.ToolExecution, Parallel, Sequential)...)
	list = append(list, a.validateVariables()...)
	for i := range a.StopConditions {
		list = append(list, check.Within(diag.Index("stop_conditions", i), a.StopConditions[i].Validate())...)
	}
	list = append(list, checkPart("reasoning_effort", a.ReasoningEffort)...)
	list = append(list, a.validateOptions()...)
	list = append(list, checkPart("context_policy", a.ContextPolicy)...)
	list = append(list, check.NotNegative("max_handoffs", a.MaxHandoffs)...)
	list = append(list, checkPart("budgets", a.Budgets)...)
	list = append(list, checkPart("loop_detection", a.LoopDetection)...)
	list = append(list, check.Within("tool_budgets", checkToolBudgets(a.ToolBudgets))...)
	list = append(list, checkPart("output_schema", a.OutputSchema)...)
	list = append(list, checkPart("a2a", a.A2A)...)
	list = append(list, a.validateSessionStart()...)
	list = append(list, checkPart("endpoint", a.Endpoint)...)
	for _, key := range slices.Sorted(maps.Keys(a.Sections)) {
		if !json.Valid(a.Sections[key]) {
			list = append(list, diag.New(diag.InvalidValue, diag.Key("sections", key), "section %q is not valid JSON", key))
		}
	}
	return list
}
