package responses

import (
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
)

// Parameters are the parameters of POST /v1/responses.
var Parameters = append([]run.Parameter{
	{Name: "model", Use: run.Honored, Note: "the ID of an agent"},
	{Name: "input", Use: run.Honored},
	{Name: "instructions", Use: run.Honored, Note: "added to those of the agent, for this response only"},
	{Name: "stream", Use: run.Honored}, {Name: "stream_options", Use: run.Ignored, Holds: object{}},
	{Name: "background", Use: run.Honored, Note: "not with `store: false`"},
	{Name: "store", Use: run.Honored},
	{Name: "previous_response_id", Use: run.Honored}, {Name: "conversation", Use: run.Honored},
	{Name: "tools", Use: run.Honored, Note: "functions, which the client runs; others are rejected"},
	{Name: "tool_choice", Use: run.Honored, Note: "for the first model call of a run"},
	{Name: "max_output_tokens", Use: run.Honored, Note: "per model call"},
	{Name: "max_tool_calls", Use: run.Rejected},
	{Name: "reasoning", Use: run.Honored, Note: "`effort` and `summary`"},
	{Name: "text", Use: run.Honored, Note: "`format` and `verbosity`"},
	{Name: "include", Use: run.Ignored, Holds: []string{}},
	{Name: "truncation", Use: run.Checked, Note: "`disabled` or `auto`", Allows: []string{`"disabled"`, `"auto"`}},
	{Name: "prompt", Use: run.Rejected},
	{Name: "context_management", Use: run.Rejected}, {Name: "image", Use: run.Rejected}, {Name: "access_programs", Use: run.Rejected}, {Name: "background_options", Use: run.Rejected},
}, run.SamplingParameters...)
