package openai

// chatParameters are the parameters of POST /v1/chat/completions.
var chatParameters = append([]Parameter{
	{Name: "model", Use: Honored, Note: "the ID of an agent"},
	{Name: "messages", Use: Honored},
	{Name: "stream", Use: Honored},
	{Name: "stream_options", Use: Honored, Note: "`include_usage`; with `stream` only"},
	{Name: "tools", Use: Honored, Note: "functions, which the client runs"},
	{Name: "tool_choice", Use: Honored, Note: "for the first model call of a run"},
	{Name: "response_format", Use: Honored},
	{Name: "max_completion_tokens", Use: Honored, Note: "per model call"},
	{Name: "max_tokens", Use: Honored, Note: "unless `max_completion_tokens` is given"},
	{Name: "reasoning_effort", Use: Honored},
	{Name: "verbosity", Use: Honored},
	{Name: "seed", Use: Honored}, {Name: "stop", Use: Honored},
	{Name: "presence_penalty", Use: Checked, Note: "0", allows: []string{"0", "0.0"}},
	{Name: "frequency_penalty", Use: Checked, Note: "0", allows: []string{"0", "0.0"}},
	{Name: "logit_bias", Use: Checked, Note: "`{}`", allows: []string{"{}"}},
	{Name: "n", Use: Checked, Note: "1", allows: []string{"1"}},
	{Name: "logprobs", Use: Checked, Note: "false", allows: []string{"false"}},
	{Name: "modalities", Use: Checked, Note: "`[\"text\"]`", allows: []string{`["text"]`}},
	{Name: "store", Use: Ignored, holds: false, Note: "stored completions are not served"},
	{Name: "audio", Use: Rejected}, {Name: "prediction", Use: Rejected}, {Name: "web_search_options", Use: Rejected},
	{Name: "functions", Use: Rejected, Note: "use `tools`"}, {Name: "function_call", Use: Rejected, Note: "use `tool_choice`"},
}, sampling...)
