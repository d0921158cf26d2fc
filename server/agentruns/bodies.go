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
		AgentID      string `json:"agentId,omitempty" pattern:"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}(/[A-Za-z0-9][A-Za-z0-9_.:-]{0,127})?$" jsonschema:"A declared agent. Its own prompt wins over that of the spec."`
		Name         string `json:"name,omitempty" default:"ephemeral" jsonschema:"What the agent is called where runs are looked at."`
		SystemPrompt string `json:"systemPrompt,omitempty"`
		ModelID      string `json:"modelId,omitempty" jsonschema:"platform: and the id of a declared model or pool, provider: and the id of a provider, both together with the name that the vendor has for the model, or that name alone where it is not ambiguous. Left out, it is the model of the agent, or the default one."`
	}
	runOptions struct {
		turnBody
		Metadata map[string]string `json:"metadata,omitempty" maxProperties:"16" propertyNames:"{'pattern':'^[A-Za-z0-9._-]{1,64}$'}" additionalProperties:"{'type':'string','maxLength':256}" jsonschema:"At most 4096 bytes as JSON."`
	}
	// turnBody is what a message may change for its run.
	turnBody struct {
		ReasoningLevel json.RawMessage       `json:"reasoningLevel,omitempty" oneOf:"[{'type':'string','enum':['off','low','medium','high']},{'type':'integer','minimum':0,'maximum':100}]" jsonschema:"How much the model thinks. off, low, medium and high are 0, 30, 50 and 80."`
		Tools          []toolRef             `json:"tools,omitempty" jsonschema:"The tools of the run, besides those of a declared agent. No two may have one name."`
		Budgets        budgetsBody           `json:"budgets,omitzero"`
		OutputSchema   outputBody            `json:"outputSchema,omitzero" jsonschema:"The form of the answer. At most 32768 bytes as compact JSON."`
		LoopDetection  json.RawMessage       `json:"loopDetection,omitempty" oneOf:"[{'const':false},{'$ref':'#/components/schemas/LoopThresholds'}]" jsonschema:"What is done about a model that makes the same calls again and again; false is nothing. The second threshold must be more than the first, also where one of them is left out."`
		ToolBudgets    map[string]budgetBody `json:"toolBudgets,omitempty" maxProperties:"32" propertyNames:"{'minLength':1,'maxLength':120}" jsonschema:"How often a tool may be called, by its name. An object without entries takes the standard budgets away."`
	}
	budgetsBody struct {
		MaxToolTurns         int    `json:"maxToolTurns,omitempty" minimum:"1" maximum:"100" default:"32" jsonschema:"How often the model may call tools. A declared agent has its own default."`
		MaxToolTurnsExceeded string `json:"maxToolTurnsExceeded,omitempty" enum:"error,finalize" jsonschema:"Whether a run that needs more fails, or has the model answer without tools. Left out, it fails, but for a declared agent that is to finalize."`
	}
	outputBody struct {
		Name   string          `json:"name,omitempty" pattern:"^[a-zA-Z0-9_-]{1,64}$" default:"output"`
		Schema json.RawMessage `json:"schema" type:"object" jsonschema:"A JSON Schema."`
	}
	loopBody struct {
		ConsecutiveThreshold int `json:"consecutiveThreshold,omitempty" minimum:"2" maximum:"100" default:"3" jsonschema:"After so many equal rounds calls are not made any more, and the model is told."`
		HardCutoffThreshold  int `json:"hardCutoffThreshold,omitempty" minimum:"3" maximum:"100" default:"6" jsonschema:"After so many it has to answer without tools."`
	}
	budgetBody struct {
		MaxCalls int `json:"maxCalls" minimum:"0" maximum:"1000"`
	}
	inputBody struct {
		Prompt   string         `json:"prompt,omitempty"`
		Messages []inputMessage `json:"messages,omitempty" want:"a list of {role, content, attachments}" jsonschema:"What was said before and what is said now, which is all behind the last word of the assistant. The last message is not the assistant's. In a session none is: it knows what it said."`
	}
	toolResultBody struct {
		ToolUseID string            `json:"toolUseId" minLength:"1"`
		Result    *string           `json:"result,omitempty" jsonschema:"At most 2 MiB."`
		Error     *string           `json:"error,omitempty" jsonschema:"At most 8 KiB."`
		Files     []clienttool.File `json:"files,omitempty" want:"a list of {filename, mimeType, data}, with data in base64" jsonschema:"Files for the model, beside the result; at most 2 MiB."`
	}
	resolutionBody struct {
		ID        string          `json:"id,omitempty" jsonschema:"What identifies the answer."`
		Action    string          `json:"action,omitempty" enum:"resume,cancel" default:"resume" jsonschema:"Whether the call continues."`
		Result    json.RawMessage `json:"result,omitempty" jsonschema:"What is answered; it satisfies the responseSchema."`
		Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"What takes the place of the arguments of the call."`
		Reason    string          `json:"reason,omitempty" jsonschema:"Why, for the model."`
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
		Description  string          `json:"description,omitempty" jsonschema:"What the model is told."`
		Parameters   json.RawMessage `json:"parameters,omitempty" jsonschema:"A JSON Schema for the arguments. One that is not of an object counts as one without properties."`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty" jsonschema:"A JSON Schema for the result."`
		LongRunning  bool            `json:"longRunning,omitempty" default:"false" jsonschema:"Tell the model that the tool takes long."`
	}
	a2aTool struct {
		Kind         string            `json:"kind" const:"a2a"`
		Name         string            `json:"name" ref:"ToolName"`
		Description  string            `json:"description,omitempty"`
		AgentCardURL string            `json:"agentCardUrl" ref:"Address"`
		Headers      map[string]string `json:"headers,omitempty" ref:"Headers"`
		ContextID    string            `json:"contextId,omitempty" jsonschema:"The conversation that the calls belong to."`
	}
	a2aLocalTool struct {
		Kind        string    `json:"kind" const:"a2a_local"`
		Name        string    `json:"name" ref:"ToolName"`
		Description string    `json:"description,omitempty" jsonschema:"In place of what the card says."`
		AgentCard   agentCard `json:"agentCard" additionalProperties:"true" jsonschema:"Its card, which calls repeat as it is. The model is told of the name, the description and the first 12 skills."`
	}
	mcpServerTool struct {
		Kind       string            `json:"kind" const:"mcp"`
		Name       string            `json:"name" ref:"ToolName"`
		URL        string            `json:"url" ref:"Address"`
		Headers    map[string]string `json:"headers,omitempty" ref:"Headers"`
		ToolFilter []string          `json:"toolFilter,omitempty" jsonschema:"The tools to take. All are when it is left out."`
	}
	mcpLocalTool struct {
		Kind       string          `json:"kind" const:"mcp_local"`
		Name       string          `json:"name" ref:"ToolName"`
		ServerInfo json.RawMessage `json:"serverInfo,omitempty" type:"object" jsonschema:"What calls repeat as it is."`
		Tools      []mcpTool       `json:"tools" minItems:"1" maxItems:"64"`
	}
)
