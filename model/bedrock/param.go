package bedrock

import "encoding/json"

// The types below are the part of the Converse API that this package writes. The tests
// read every request with the types of the vendor's SDK.

// converseParam is the body of a request, without its tools.
type converseParam struct {
	Messages        []*messageParam `json:"messages"`
	System          []blockParam    `json:"system,omitempty"`
	InferenceConfig inferenceParam  `json:"inferenceConfig,omitzero"`
	OutputConfig    outputParam     `json:"outputConfig,omitzero"`
	// Additional are fields of the model's own vendor.
	Additional map[string]any `json:"additionalModelRequestFields,omitempty"`
}

// bodyFields has all fields that requests may have.
type bodyFields struct {
	converseParam

	ToolConfig struct {
		Tools []struct {
			toolParam

			CachePoint any `json:"cachePoint"`
		} `json:"tools"`
		Choice choiceParam `json:"toolChoice"`
	} `json:"toolConfig"`
}

type messageParam struct {
	Role    role         `json:"role"`
	Content []blockParam `json:"content"`
}

type role string

const (
	roleUser      role = "user"
	roleAssistant role = "assistant"
)

type inferenceParam struct {
	MaxTokens   int      `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"topP,omitempty"`
	Stop        []string `json:"stopSequences,omitempty"`
}

type outputParam struct {
	Effort     string           `json:"effort,omitempty"`
	TextFormat *textFormatParam `json:"textFormat,omitempty"`
}

type textFormatParam struct {
	Type      string         `json:"type"`
	Structure structureParam `json:"structure"`
}

type structureParam struct {
	JSONSchema schemaParam `json:"jsonSchema"`
}

// schemaParam is a JSON Schema as text.
type schemaParam struct {
	Schema string `json:"schema"`
	Name   string `json:"name,omitempty"`
}

// blockParam is a block of a message, of a result or of the instructions; exactly one
// field is set.
type blockParam struct {
	Text       string           `json:"text,omitempty"`
	Image      *mediaParam      `json:"image,omitempty"`
	Document   *mediaParam      `json:"document,omitempty"`
	Video      *mediaParam      `json:"video,omitempty"`
	Audio      *mediaParam      `json:"audio,omitempty"`
	ToolUse    *toolUseParam    `json:"toolUse,omitempty"`
	ToolResult *toolResultParam `json:"toolResult,omitempty"`
	Reasoning  *reasoningParam  `json:"reasoningContent,omitempty"`
	CachePoint *cacheParam      `json:"cachePoint,omitempty"`
}

// mediaParam is an image, a document or a recording. Documents have a name.
type mediaParam struct {
	Format string      `json:"format"`
	Name   string      `json:"name,omitempty"`
	Source sourceParam `json:"source"`
}

type sourceParam struct {
	Bytes []byte        `json:"bytes,omitempty"`
	S3    *storageParam `json:"s3Location,omitempty"`
}

type storageParam struct {
	URI string `json:"uri"`
}

type toolUseParam struct {
	ToolUseID string          `json:"toolUseId"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

type toolResultParam struct {
	ToolUseID string       `json:"toolUseId"`
	Content   []blockParam `json:"content"`
	Status    string       `json:"status,omitempty"`
}

type reasoningParam struct {
	Text     *reasoningText `json:"reasoningText,omitempty"`
	Redacted []byte         `json:"redactedContent,omitempty"`
}

type reasoningText struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitempty"`
}

type cacheParam struct {
	Type string `json:"type"`
}

// cachePoint returns a mark: the vendor caches everything before it.
func cachePoint() blockParam { return blockParam{CachePoint: &cacheParam{Type: "default"}} }

// toolParam declares a tool.
type toolParam struct {
	ToolSpec specParam `json:"toolSpec"`
}

type specParam struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	InputSchema inputSchemaRef `json:"inputSchema"`
}

type inputSchemaRef struct {
	JSON json.RawMessage `json:"json"`
}

// choiceParam determines which tool a model calls; exactly one field is set.
type choiceParam struct {
	Any  *struct{}    `json:"any,omitempty"`
	Tool *namedChoice `json:"tool,omitempty"`
}

type namedChoice struct {
	Name string `json:"name"`
}
