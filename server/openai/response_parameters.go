package openai

// responseParameters are the parameters of POST /v1/responses.
var responseParameters = append([]Parameter{
	{Name: "model", Use: Honored, Note: "the ID of an agent"},
	{Name: "input", Use: Honored},
	{Name: "instructions", Use: Honored, Note: "added to those of the agent, for this response only"},
	{Name: "stream", Use: Honored}, {Name: "stream_options", Use: Ignored, holds: object{}},
	{Name: "background", Use: Honored, Note: "not with `store: false`"},
	{Name: "store", Use: Honored},
	{Name: "previous_response_id", Use: Honored}, {Name: "conversation", Use: Honored},
	{Name: "tools", Use: Honored, Note: "functions, which the client runs; others are rejected"},
	{Name: "tool_choice", Use: Honored, Note: "for the first model call of a run"},
	{Name: "max_output_tokens", Use: Honored, Note: "per model call"},
	{Name: "max_tool_calls", Use: Rejected},
	{Name: "reasoning", Use: Honored, Note: "`effort` and `summary`"},
	{Name: "text", Use: Honored, Note: "`format` and `verbosity`"},
	{Name: "include", Use: Ignored, holds: []string{}},
	{Name: "truncation", Use: Checked, Note: "`disabled` or `auto`", allows: []string{`"disabled"`, `"auto"`}},
	{Name: "prompt", Use: Rejected},
	{Name: "context_management", Use: Rejected}, {Name: "image", Use: Rejected}, {Name: "access_programs", Use: Rejected}, {Name: "background_options", Use: Rejected},
}, sampling...)
