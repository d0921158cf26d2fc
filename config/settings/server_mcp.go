package settings

// MCPPrompt is a prompt that MCP clients offer to their users.
type MCPPrompt struct {
	Name        string        `json:"name" required:"true" pattern:"^[a-zA-Z0-9_.-]{1,128}$" doc:"The unique name of the prompt."`
	Description string        `json:"description" required:"true" doc:"The prompt's purpose."`
	Arguments   []MCPArgument `json:"arguments,omitempty" doc:"The user's arguments."`
	Text        string        `json:"text" required:"true" doc:"The prompt. {{NAME}} stands for an argument."`
}

// MCPArgument is an argument of a prompt.
type MCPArgument struct {
	Name        string `json:"name" required:"true" doc:"The name of the argument."`
	Description string `json:"description,omitempty" doc:"The argument's purpose."`
	Required    bool   `json:"required,omitempty" default:"false" doc:"Whether the user must fill it in."`
}

// MCPResource is a text that MCP clients can read.
type MCPResource struct {
	URI         string `json:"uri" required:"true" pattern:"^[a-zA-Z][a-zA-Z0-9+.-]*:[a-zA-Z0-9_./~-]+$" doc:"The unique address of the resource, with a scheme."`
	Name        string `json:"name" required:"true" doc:"The name of the resource."`
	Description string `json:"description,omitempty" doc:"What the resource contains."`
	MIMEType    string `json:"mime_type,omitempty" default:"text/plain" doc:"The text's MIME type."`
	Text        string `json:"text" required:"true" doc:"The content."`
}
