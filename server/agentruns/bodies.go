package agentruns

import (
	"encoding/json"

	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// The bodies of requests. want is what errors call the type of a field, if it is not a string.
type (
	runBody struct {
		specBody
		inputBody
	}
	sessionBody struct{ specBody }
	messageBody struct {
		runOptions
		inputBody
	}
	specBody struct {
		runOptions
		identityBody
	}
	// identityBody is chosen by the session of a run.
	identityBody struct {
		AgentID      string `json:"agentId,omitempty" pattern:"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}(/[A-Za-z0-9][A-Za-z0-9_.:-]{0,127})?$" jsonschema:"The id of a declared agent. Its prompt takes precedence over the spec's."`
		Name         string `json:"name,omitempty" default:"ephemeral" jsonschema:"The display name of the agent."`
		SystemPrompt string `json:"systemPrompt,omitempty"`
		ModelID      string `json:"modelId,omitempty" jsonschema:"platform: and the id of a declared model or pool, provider: and the id of a provider, both together with the name that the vendor has for the model, or that name alone where it is not ambiguous. Left out, it is the model of the agent, or the default one."`
	}
	runOptions struct {
		turnBody
		Metadata map[string]string `json:"metadata,omitempty" maxProperties:"16" propertyNames:"{'pattern':'^[A-Za-z0-9._-]{1,64}$'}" additionalProperties:"{'type':'string','maxLength':256}" jsonschema:"At most 4096 bytes as JSON."`
	}
	// turnBody has the fields that a message may set for its run.
	turnBody struct {
		ReasoningLevel json.RawMessage       `json:"reasoningLevel,omitempty" oneOf:"[{'type':'string','enum':['off','low','medium','high']},{'type':'integer','minimum':0,'maximum':100}]" jsonschema:"The reasoning effort. off, low, medium and high are 0, 30, 50 and 80."`
		Tools          []toolRef             `json:"tools,omitempty" jsonschema:"Tools of the run, in addition to those of a declared agent. Names must be unique."`
		Budgets        budgetsBody           `json:"budgets,omitzero"`
		OutputSchema   outputBody            `json:"outputSchema,omitzero" jsonschema:"The format of the answer. At most 32768 bytes as compact JSON."`
		LoopDetection  json.RawMessage       `json:"loopDetection,omitempty" oneOf:"[{'const':false},{'$ref':'#/components/schemas/LoopThresholds'}]" jsonschema:"Handling of a model that repeats the same calls; false disables it. hardCutoffThreshold must exceed consecutiveThreshold, also if one has its default."`
		ToolBudgets    map[string]budgetBody `json:"toolBudgets,omitempty" maxProperties:"32" propertyNames:"{'minLength':1,'maxLength':120}" jsonschema:"The maximum number of calls of each tool, by name. An empty object removes the default budgets."`
	}
	budgetsBody struct {
		MaxToolTurns         int    `json:"maxToolTurns,omitempty" minimum:"1" maximum:"100" default:"32" jsonschema:"The maximum number of rounds of tool calls. A declared agent has its own default."`
		MaxToolTurnsExceeded string `json:"maxToolTurnsExceeded,omitempty" enum:"error,finalize" jsonschema:"Whether a run that reaches the maximum fails or lets the model answer without tools. The default is error, except for a declared agent that finalizes."`
	}
	outputBody struct {
		Name   string          `json:"name,omitempty" pattern:"^[a-zA-Z0-9_-]{1,64}$" default:"output"`
		Schema json.RawMessage `json:"schema" type:"object" jsonschema:"A JSON Schema."`
	}
	loopBody struct {
		ConsecutiveThreshold int `json:"consecutiveThreshold,omitempty" minimum:"2" maximum:"100" default:"3" jsonschema:"Number of identical rounds after which calls are no longer run and the model is told."`
		HardCutoffThreshold  int `json:"hardCutoffThreshold,omitempty" minimum:"3" maximum:"100" default:"6" jsonschema:"Number of identical rounds after which the model must answer without tools."`
	}
	budgetBody struct {
		MaxCalls int `json:"maxCalls" minimum:"0" maximum:"1000"`
	}
	inputBody struct {
		Prompt   string         `json:"prompt,omitempty"`
		Messages []inputMessage `json:"messages,omitempty" want:"a list of {role, content, attachments}" jsonschema:"The history followed by the input, which begins after the last message of the assistant. The last message must not be the assistant's. In a session no message may be, because the session has them."`
	}
	toolResultBody struct {
		ToolUseID string            `json:"toolUseId" minLength:"1"`
		Result    *string           `json:"result,omitempty" jsonschema:"At most 2 MiB."`
		Error     *string           `json:"error,omitempty" jsonschema:"At most 8 KiB."`
		Files     []clienttool.File `json:"files,omitempty" want:"a list of {filename, mimeType, data}, with data in base64" jsonschema:"Files for the model, in addition to the result. At most 2 MiB."`
	}
	resolutionBody struct {
		ID        string          `json:"id,omitempty" jsonschema:"The id of the answer."`
		Action    string          `json:"action,omitempty" enum:"resume,cancel" default:"resume" jsonschema:"Whether the call continues."`
		Result    json.RawMessage `json:"result,omitempty" jsonschema:"The answer, which must match the responseSchema."`
		Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"Arguments that replace those of the call."`
		Reason    string          `json:"reason,omitempty" jsonschema:"The reason, for the model."`
	}
)

// The kinds of tools.
type (
	mantyxTool struct {
		Kind string `json:"kind" const:"mantyx"`
		ID   string `json:"id" minLength:"1"`
	}
	pluginTool struct {
		Kind string `json:"kind" const:"mantyx_plugin"`
		Name string `json:"name" minLength:"1" jsonschema:"The id of the tool, or @plugin/tool." examples:"['@search/web_search']"`
	}
	localTool struct {
		Kind         string          `json:"kind" const:"local"`
		Name         string          `json:"name" ref:"ToolName"`
		Description  string          `json:"description,omitempty" jsonschema:"The description for the model."`
		Parameters   json.RawMessage `json:"parameters,omitempty" jsonschema:"A JSON Schema for the arguments. A schema of anything but an object counts as an object without properties."`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty" jsonschema:"A JSON Schema for the result."`
		LongRunning  bool            `json:"longRunning,omitempty" default:"false" jsonschema:"Whether the model is told that the tool takes long."`
	}
	a2aTool struct {
		Kind         string            `json:"kind" const:"a2a"`
		Name         string            `json:"name" ref:"ToolName"`
		Description  string            `json:"description,omitempty"`
		AgentCardURL string            `json:"agentCardUrl" ref:"Address"`
		Headers      map[string]string `json:"headers,omitempty" ref:"Headers"`
		ContextID    string            `json:"contextId,omitempty" jsonschema:"The conversation of the calls."`
	}
	a2aLocalTool struct {
		Kind        string    `json:"kind" const:"a2a_local"`
		Name        string    `json:"name" ref:"ToolName"`
		Description string    `json:"description,omitempty" jsonschema:"Replaces the description of the card."`
		AgentCard   agentCard `json:"agentCard" additionalProperties:"true" jsonschema:"The agent's card, which calls repeat unchanged. The model sees the name, the description and the first 12 skills."`
	}
	mcpServerTool struct {
		Kind       string            `json:"kind" const:"mcp"`
		Name       string            `json:"name" ref:"ToolName"`
		URL        string            `json:"url" ref:"Address"`
		Headers    map[string]string `json:"headers,omitempty" ref:"Headers"`
		ToolFilter []string          `json:"toolFilter,omitempty" jsonschema:"The tools to include; all by default."`
	}
	mcpLocalTool struct {
		Kind       string          `json:"kind" const:"mcp_local"`
		Name       string          `json:"name" ref:"ToolName"`
		ServerInfo json.RawMessage `json:"serverInfo,omitempty" type:"object" jsonschema:"Repeated unchanged in calls."`
		Tools      []mcpTool       `json:"tools" minItems:"1" maxItems:"64"`
	}
)
