package google

import "encoding/json"

// The types below are the part of the Gemini API that this package writes, with the names and order
// of the vendor's SDK. The tests decode every request with the SDK's types, and compare the
// enumeration values.

// The roles of a contentParam.
const (
	roleUser  = "user"
	roleModel = "model"
)

// contentParam is one message of a conversation.
type contentParam struct {
	Parts []*partParam `json:"parts,omitempty"`
	Role  string       `json:"role,omitempty"`
}

// partParam is a part of a message; exactly one of its contents is set.
type partParam struct {
	FileData         *fileParam     `json:"fileData,omitempty"`
	FunctionCall     *callParam     `json:"functionCall,omitempty"`
	FunctionResponse *responseParam `json:"functionResponse,omitempty"`
	InlineData       *blobParam     `json:"inlineData,omitempty"`
	Text             string         `json:"text,omitempty"`
	ThoughtSignature []byte         `json:"thoughtSignature,omitempty"`
}

type blobParam struct {
	Data     []byte `json:"data,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
}

type fileParam struct {
	FileURI  string `json:"fileUri,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
}

type callParam struct {
	ID   string                     `json:"id,omitempty"`
	Args map[string]json.RawMessage `json:"args,omitempty"`
	Name string                     `json:"name,omitempty"`
}

type responseParam struct {
	Parts    []*responsePartParam `json:"parts,omitempty"`
	ID       string               `json:"id,omitempty"`
	Name     string               `json:"name,omitempty"`
	Response map[string]any       `json:"response,omitempty"`
}

type responsePartParam struct {
	InlineData *responseBlobParam `json:"inlineData,omitempty"`
}

type responseBlobParam struct {
	MIMEType string `json:"mimeType,omitempty"`
	Data     []byte `json:"data,omitempty"`
}

// declarationParam declares a function.
type declarationParam struct {
	Description          string          `json:"description,omitempty"`
	Name                 string          `json:"name,omitempty"`
	ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema,omitempty"`
	ResponseJSONSchema   json.RawMessage `json:"responseJsonSchema,omitempty"`
}

// generationParam holds the settings of an answer.
type generationParam struct {
	ResponseJSONSchema json.RawMessage `json:"responseJsonSchema,omitempty"`
	MaxOutputTokens    int32           `json:"maxOutputTokens,omitempty"`
	ResponseMIMEType   string          `json:"responseMimeType,omitempty"`
	Temperature        *float32        `json:"temperature,omitempty"`
	ThinkingConfig     *thinkingParam  `json:"thinkingConfig,omitempty"`
	TopP               *float32        `json:"topP,omitempty"`
	Seed               *int            `json:"seed,omitempty"`
	StopSequences      []string        `json:"stopSequences,omitempty"`
}

// thinkingParam determines how much a model thinks: by a budget or by a level, depending on its
// generation.
type thinkingParam struct {
	IncludeThoughts bool          `json:"includeThoughts,omitempty"`
	ThinkingBudget  *int32        `json:"thinkingBudget,omitempty"`
	ThinkingLevel   thinkingLevel `json:"thinkingLevel,omitempty"`
}

type thinkingLevel string

const (
	thinkingMinimal thinkingLevel = "MINIMAL"
	thinkingLow     thinkingLevel = "LOW"
	thinkingMedium  thinkingLevel = "MEDIUM"
	thinkingHigh    thinkingLevel = "HIGH"
)

// toolParam restricts which functions a model calls.
type toolParam struct {
	FunctionCallingConfig *callingParam `json:"functionCallingConfig,omitempty"`
}

type callingParam struct {
	AllowedFunctionNames []string    `json:"allowedFunctionNames,omitempty"`
	Mode                 callingMode `json:"mode,omitempty"`
}

type callingMode string

const (
	callingAny  callingMode = "ANY"
	callingNone callingMode = "NONE"
)
