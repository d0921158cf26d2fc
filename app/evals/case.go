// Package evals runs cases against the agents of a runtime and checks their behavior: tool calls,
// answers and the cost of a turn. Agents are resolved as in production, with their plugins,
// rules, budgets and delegates. In a case, models answer from recordings and tools from stubs, so
// that a run in CI needs no keys and changes nothing.
//
// Load reads cases from YAML; they can also be made in Go:
//
//	runner := evals.Runner{Runtime: rt, Suite: suite}
//	report, err := runner.Run(ctx)
package evals

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/spec"
)

// File is the content of a file of cases.
type File struct {
	// Version is the version of the format.
	Version int `json:"version" required:"true" min:"1" max:"1" doc:"The version of the file format: 1."`
	// Cases are the cases by ID.
	Cases map[string]*Case `json:"cases" required:"true" doc:"Cases by ID."`
}

// Case is a conversation with an agent and its expectations.
type Case struct {
	// ID identifies the case in its suite, and names its recording.
	ID string `json:"id" key:"true"`
	// Description describes the case for readers.
	Description string   `json:"description" doc:"A description of the case."`
	Agent       string   `json:"agent" required:"true" doc:"The ID of the agent that the user talks to."`
	Tags        []string `json:"tags" doc:"Tags for selecting cases."`
	// Tenant is the name of the tenant that Overlay belongs to.
	Tenant string `json:"tenant" doc:"The name of the overlay's tenant. It matters for overlays that change the tenant's workflows."`
	// Overlay is a file with the overlay of a tenant, with which the agent is resolved.
	Overlay string `json:"overlay" path:"read" doc:"A file with a tenant's overlay, relative to the case file. The agent is resolved with it, as in the tenant's turns."`
	// TenantVariables are the values of ${tenant.NAME} in the configuration.
	TenantVariables map[string]string `json:"tenant_variables" doc:"Values of the tenant's variables."`
	// State is the application's state of the session before the first turn, a JSON value.
	State json.RawMessage `json:"state" doc:"The custom state of the session before the first turn."`
	// Models selects what answers requests to models; it defaults to Replay.
	Models ModelMode `json:"models" enum:"replay|live|scripted" default:"replay" doc:"The source of model answers: a recording, the models themselves, or the script."`
	// Script answers when Models is Scripted: a JSON object with replies and fallback.
	Script json.RawMessage `json:"script" required:"models=scripted" doc:"The replies of a scripted model, as in {replies: [{text: Hello}]} and the script of a provider of type scripted. They restart in each turn."`
	// Tools are the answers to tool calls, by globs over the tools' IDs.
	Tools map[string]*ToolUse `json:"tools" doc:"How calls to tools, delegates and peers are answered, by glob over tool names; an exact name wins. Without an entry, tools with effect: read and local delegates run, and a call of any other tool is an error of the case."`
	// SessionStart is real if the agent's session_start programs are run, and skip if not.
	SessionStart string `json:"session_start" enum:"real|skip" doc:"Whether session_start programs run. Required if the agent has any."`
	// Answers answer approvals and questions.
	Answers []AnswerRule `json:"answers" doc:"Answers to approvals and questions; the first match is used."`
	// Turns are the user's messages. With User they are the first ones.
	Turns []Turn `json:"turns" max:"100" doc:"The turns of the conversation, in order. Required without user."`
	// User plays the user after Turns; nil if nothing does.
	User *SimulatedUser `json:"user" doc:"A model that plays the user, after any turns."`
	// Expect applies to the conversation as a whole: the calls of all turns and the end of the last
	// one.
	Expect Expectations `json:"expect" doc:"Expectations for the whole conversation: the calls of all turns, and the text and status of the last one. Without a status, every turn must succeed."`
}

// SimulatedUser is a model that plays the user.
type SimulatedUser struct {
	ModelID string `json:"model_id" required:"true" doc:"The ID of the model, or pool, that plays the user."`
	Goal    string `json:"goal" required:"true" doc:"The user's goal. The user stops when it is reached or impossible."`
	Persona string `json:"persona" doc:"Who the user is and how they write."`
	// MaxTurns bounds the turns that the user begins; it defaults to 5.
	MaxTurns int `json:"max_turns" min:"1" max:"50" default:"5" doc:"Maximum turns the user starts."`
}

// ModelMode is the source of answers to model requests in a case.
type ModelMode string

// The modes of models.
const (
	// Replay answers from the recording of the case.
	Replay ModelMode = "replay"
	// Live asks the models.
	Live ModelMode = "live"
	// Scripted answers from the script of the case.
	Scripted ModelMode = "scripted"
)

// Turn is one user message with the expectations for its turn.
type Turn struct {
	Prompt      string       `json:"prompt" doc:"The text of the user's message."`
	Attachments []Attachment `json:"attachments" doc:"Files sent with the message."`
	// Script replaces the case's script in this turn.
	Script json.RawMessage `json:"script" doc:"The replies of a scripted model in this turn. Overrides the case's script."`
	// Variables is a JSON object with the values of ${turn.NAME}.
	Variables json.RawMessage `json:"variables" doc:"Values of the turn's variables."`
	Expect    Expectations    `json:"expect" doc:"Expectations for the turn. Without a status, it must succeed."`
}

// Attachment is a file sent with a message.
type Attachment struct {
	Path      string `json:"path" required:"true" path:"read" doc:"The path, relative to the case file."`
	MediaType string `json:"media_type" doc:"The media type. Defaults to the type of the file's extension."`
}

// ToolUse answers the calls of a tool. Exactly one field is set.
type ToolUse struct {
	// Real lets the tool, delegate or peer run.
	Real bool `json:"real" doc:"Runs the tool itself, whatever its effect."`
	// Result is the result of every call, a text or JSON.
	Result json.RawMessage `json:"result" doc:"The result of every call: a text or any JSON value except null."`
	// Error is the error that every call returns.
	Error string `json:"error" doc:"The error of every call, which the model reads."`
	// Results are the results of the calls in order; a further call is an error in the case.
	Results []json.RawMessage `json:"results" doc:"The results of the calls in order. A further call is an error of the case."`
	// ByArguments are results by arguments; the first match is used.
	ByArguments []ArgumentsResult `json:"by_arguments" doc:"Results by arguments; the first match is returned. A call without a match is an error of the case."`
	// Replay answers from the recorded tool results of the case.
	Replay bool `json:"replay" doc:"Replays the results that eval add took from a turn, by tool and arguments."`
}

// ArgumentsResult is the result of calls with some arguments.
type ArgumentsResult struct {
	// When is a rule of the permission grammar without its tool, as in (amount > 100).
	When   string          `json:"when" required:"true" doc:"Conditions on the arguments, in permission rule syntax, as in (amount > 100)."`
	Result json.RawMessage `json:"result" doc:"The result: a text or any JSON value except null."`
	Error  string          `json:"error" doc:"The error of the call, instead of a result."`
}

// AnswerRule answers an approval or question of a tool.
type AnswerRule struct {
	Tool string `json:"tool" default:"*" doc:"A glob over the name of the tool that asks or waits for approval."`
	// Approve answers an approval.
	Approve *bool `json:"approve" doc:"Approves or rejects a call."`
	// Text answers a question as a person would type it.
	Text string `json:"text" doc:"The answer to a question, as a person would type it."`
	// Value answers a question with a JSON value that satisfies its schema.
	Value json.RawMessage `json:"value" doc:"The answer to a question as a JSON value that satisfies its schema."`
	// Arguments replace the arguments of an approved call.
	Arguments json.RawMessage `json:"arguments" doc:"Arguments that replace the approved call's."`
}

// Expectations are the expectations for a turn. Fields that are not set expect nothing.
type Expectations struct {
	Status string `json:"status" enum:"succeeded|failed|canceled|waiting" default:"succeeded" doc:"The status of the turn."`
	// Termination is the reason why the turn ends, and the code if there is one.
	Termination string `json:"termination" doc:"Why the turn ends: the type, or type:code, such as natural_end or budget_exceeded:tokens."`
	// FinalAgent is the agent that holds the conversation at the end.
	FinalAgent string         `json:"final_agent" doc:"The active agent at the end of the turn."`
	Calls      *ExpectedCalls `json:"calls" doc:"The expected tool calls."`
	// NotCalled are rules of the permission grammar that no call may match.
	NotCalled []string        `json:"not_called" doc:"Rules, in permission rule syntax, that no call may match."`
	Delegates []string        `json:"delegates" doc:"Agents that must run as delegates, at any depth."`
	Handoffs  []string        `json:"handoffs" doc:"Agents that take over the conversation, in order."`
	Text      *TextExpected   `json:"text" doc:"The text of the last answer."`
	Output    *ValueExpected  `json:"output" doc:"The last answer as JSON, for example of an agent with output_schema."`
	State     *ValueExpected  `json:"state" doc:"The custom state of the session after the turn."`
	Artifacts []ArtifactMatch `json:"artifacts" doc:"Artifacts the turn creates; others are allowed."`
	MaxSteps  int             `json:"max_steps" min:"1" doc:"Maximum number of steps of the turn."`
	MaxTokens int             `json:"max_tokens" min:"1" doc:"Maximum tokens of the turn, input and output."`
	MaxCost   *float64        `json:"max_cost" min:"0" doc:"Maximum cost of the turn, in the currency of its models."`
	// MaxLatency limits the time of the turn.
	MaxLatency *spec.Duration `json:"max_latency" doc:"Maximum duration of the turn."`
	Judges     []Judge        `json:"judges" doc:"Graders that judge the turn."`
}

// ExpectedCalls are the expected calls of a turn and its delegates.
type ExpectedCalls struct {
	// Match is how the calls are compared; it defaults to MatchSubset.
	Match CallMatch      `json:"match" enum:"subset|any_order|exact" default:"subset" doc:"exact: these calls and no others, in this order; any_order: these calls and no others; subset: at least these calls."`
	Calls []ExpectedCall `json:"calls" required:"true" doc:"The expected calls."`
}

// CallMatch is how calls are compared with those expected.
type CallMatch string

// The ways to compare calls.
const (
	MatchSubset   CallMatch = "subset"
	MatchAnyOrder CallMatch = "any_order"
	MatchExact    CallMatch = "exact"
)

// ExpectedCall matches a call.
type ExpectedCall struct {
	// Rule is a rule of the permission grammar, as in refund(amount <= 100).
	Rule string `json:"rule" required:"true" doc:"The call, in permission rule syntax, as in refund, mcp__*, or refund(amount <= 100)."`
	// Schema is a JSON Schema of the arguments.
	Schema json.RawMessage `json:"schema" doc:"A JSON Schema that the arguments satisfy."`
	// Outcome is how the call ends; empty means any.
	Outcome string `json:"outcome" enum:"succeeded|failed" doc:"The call's outcome. Defaults to any."`
}

// TextExpected is the expectation for a text. All fields that are set must hold.
type TextExpected struct {
	Equals      *string  `json:"equals" doc:"The whole text, without surrounding blanks."`
	Contains    []string `json:"contains" doc:"Texts it contains, ignoring case."`
	NotContains []string `json:"not_contains" doc:"Texts it does not contain, ignoring case."`
	Matches     []string `json:"matches" doc:"Regular expressions (RE2) that match part of it."`
}

// ValueExpected is the expectation for a JSON value.
type ValueExpected struct {
	Equals json.RawMessage `json:"equals" doc:"The value."`
	Schema json.RawMessage `json:"schema" doc:"A JSON Schema that the value satisfies."`
}

// ArtifactMatch matches an artifact.
type ArtifactMatch struct {
	Name      string `json:"name" default:"*" doc:"A glob over the name."`
	MediaType string `json:"media_type" doc:"The media type."`
	Contains  string `json:"contains" doc:"A text that the data contains."`
}

// Judge grades a turn with a score from 0 to 1.
type Judge struct {
	Name string `json:"name" doc:"The judge's name in the report. Defaults to its type."`
	Type string `json:"type" required:"true" enum:"model|command|http" doc:"The judge: a model, a program, or a server."`
	// Pass is the minimum score to pass; it defaults to 0.7.
	Pass *float64 `json:"pass" min:"0" max:"1" default:"0.7" doc:"Minimum passing score, from 0 to 1."`
	// ModelID names the judging model, or pool, of the configuration.
	ModelID string `json:"model_id" of:"model" required:"type=model" doc:"The ID of the model, or pool, that judges."`
	Rubric  string `json:"rubric" of:"model" required:"type=model" doc:"The question to judge, in words."`
	// Criteria are judged separately; the score is their mean.
	Criteria []string `json:"criteria" of:"model" doc:"Criteria scored separately; the score is their mean. If empty, the rubric is scored as a whole."`
	Scale    int      `json:"scale" of:"model" min:"2" max:"10" default:"5" doc:"The model's highest possible score; the lowest is 1."`
	Votes    int      `json:"votes" of:"model" min:"1" max:"9" default:"1" doc:"The number of model votes; the score is their median."`
	// Command is a program that reads the Judged turn as JSON and writes {"score": 0.8, "comment": "…"}.
	Command []string `json:"command" of:"command" required:"type=command" doc:"The program. It reads the turn as JSON from standard input, and writes {\"score\": 0.8, \"comment\": \"…\"}."`
	// URL is a server that receives the same JSON by POST.
	URL string `json:"url" of:"http" required:"type=http" doc:"The server. It receives the turn as JSON by POST and answers like a program."`
	// Timeout limits a program or server; it defaults to a minute.
	Timeout *spec.Duration `json:"timeout" of:"command|http" default:"1m" doc:"Timeout of the program or server."`
}
