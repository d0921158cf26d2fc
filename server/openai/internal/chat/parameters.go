package chat

import (
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
)

// Parameters are the parameters of POST /v1/chat/completions.
var Parameters = append([]run.Parameter{
	{Name: "model", Use: run.Honored, Note: "the ID of an agent"},
	{Name: "messages", Use: run.Honored},
	{Name: "stream", Use: run.Honored},
	{Name: "stream_options", Use: run.Honored, Note: "`include_usage`; with `stream` only"},
	{Name: "tools", Use: run.Honored, Note: "functions, which the client runs"},
	{Name: "tool_choice", Use: run.Honored, Note: "for the first model call of a run"},
	{Name: "response_format", Use: run.Honored},
	{Name: "max_completion_tokens", Use: run.Honored, Note: "per model call"},
	{Name: "max_tokens", Use: run.Honored, Note: "unless `max_completion_tokens` is given"},
	{Name: "reasoning_effort", Use: run.Honored},
	{Name: "verbosity", Use: run.Honored},
	{Name: "seed", Use: run.Honored}, {Name: "stop", Use: run.Honored},
	{Name: "presence_penalty", Use: run.Checked, Note: "0", Allows: []string{"0", "0.0"}},
	{Name: "frequency_penalty", Use: run.Checked, Note: "0", Allows: []string{"0", "0.0"}},
	{Name: "logit_bias", Use: run.Checked, Note: "`{}`", Allows: []string{"{}"}},
	{Name: "n", Use: run.Checked, Note: "1", Allows: []string{"1"}},
	{Name: "logprobs", Use: run.Checked, Note: "false", Allows: []string{"false"}},
	{Name: "modalities", Use: run.Checked, Note: "`[\"text\"]`", Allows: []string{`["text"]`}},
	{Name: "store", Use: run.Ignored, Holds: false, Note: "stored completions are not served"},
	{Name: "audio", Use: run.Rejected}, {Name: "prediction", Use: run.Rejected}, {Name: "web_search_options", Use: run.Rejected},
	{Name: "functions", Use: run.Rejected, Note: "use `tools`"}, {Name: "function_call", Use: run.Rejected, Note: "use `tool_choice`"},
}, run.SamplingParameters...)
