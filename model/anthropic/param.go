package anthropic

import (
	"encoding/json"
	"strings"
)

// The types below are the part of the Messages API that this package writes, in the order of the
// vendor's SDK. In the tests, the SDK's types read every request.

// messageParams is the body of a request, without its tools.
type messageParams struct {
	MaxTokens    int64            `json:"max_tokens"`
	Messages     []messageParam   `json:"messages"`
	Model        string           `json:"model,omitempty"`
	Version      string           `json:"anthropic_version,omitempty"`
	Temperature  *float64         `json:"temperature,omitempty"`
	TopP         *float64         `json:"top_p,omitempty"`
	Stop         []string         `json:"stop_sequences,omitempty"`
	ServiceTier  string           `json:"service_tier,omitempty"`
	OutputConfig outputParam      `json:"output_config,omitzero"`
	System       []*textBlock     `json:"system,omitempty"`
	Thinking     *thinkingParam   `json:"thinking,omitempty"`
	ToolChoice   *toolChoiceParam `json:"tool_choice,omitempty"`
}

// bodyFields has all fields that requests may have.
type bodyFields struct {
	messageParams

	Stream bool `json:"stream"`
	Tools  []struct {
		declaration
		cacheable
	} `json:"tools"`
}

type messageParam struct {
	Content []contentBlock `json:"content"`
	Role    role           `json:"role"`
}

type role string

const (
	roleUser      role = "user"
	roleAssistant role = "assistant"
)

type outputParam struct {
	Effort outputLevel `json:"effort,omitempty"`
	Format *formParam  `json:"format,omitempty"`
}

// outputLevel is the vendor's effort level.
type outputLevel string

// thinkingParam determines whether and how much a model thinks.
type thinkingParam struct {
	BudgetTokens int          `json:"budget_tokens,omitempty"`
	Display      string       `json:"display,omitempty"`
	Type         thinkingType `json:"type"`
}

type thinkingType string

const (
	thinkingEnabled  thinkingType = "enabled"
	thinkingAdaptive thinkingType = "adaptive"
	thinkingDisabled thinkingType = "disabled"
)

// is reports whether thinking is requested in this way.
func (p *thinkingParam) is(t thinkingType) bool { return p != nil && p.Type == t }

// toolChoiceParam determines which tool a model calls.
type toolChoiceParam struct {
	Name                   string `json:"name,omitempty"`
	DisableParallelToolUse bool   `json:"disable_parallel_tool_use,omitempty"`
	Type                   string `json:"type"`
}

// contentBlock is a block of a message.
type contentBlock interface{ blockType() string }

// The block types that affect surrounding blocks.
const (
	typeToolResult = "tool_result"
	typeThinking   = "thinking"
	typeRedacted   = "redacted_thinking"
)

// cacheControl is a mark: the vendor caches everything before it.
type cacheControl struct {
	Type string `json:"type"`
}

// cacheable is embedded in blocks that can carry a mark.
type cacheable struct {
	CacheControl *cacheControl `json:"cache_control,omitempty"`
}

func (c *cacheable) markCached() { c.CacheControl = &cacheControl{Type: "ephemeral"} }

type textBlock struct {
	Text string `json:"text"`
	cacheable
	Type string `json:"type"`
}

func newTextBlock(text string) *textBlock { return &textBlock{Text: text, Type: "text"} }

// isBlank reports whether the API rejects a text as empty.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

func (b *textBlock) blockType() string { return b.Type }

// attachment is an image or a document.
type attachment struct {
	Source *sourceParam `json:"source"`
	Title  string       `json:"title,omitempty"`
	cacheable
	Type string `json:"type"`
}

func (b *attachment) blockType() string { return b.Type }

// sourceParam is the content of an attachment: a URL, or data with a media type.
type sourceParam struct {
	URL       *string `json:"url,omitempty"`
	Data      *string `json:"data,omitempty"`
	MediaType string  `json:"media_type,omitempty"`
	Type      string  `json:"type"`
}

type toolResultBlock struct {
	ToolUseID string `json:"tool_use_id"`
	IsError   bool   `json:"is_error,omitempty"`
	cacheable
	Content []contentBlock `json:"content,omitempty"`
	Type    string         `json:"type"`
}

func (b *toolResultBlock) blockType() string { return b.Type }

type toolUseBlock struct {
	ID    string          `json:"id"`
	Input json.RawMessage `json:"input"`
	Name  string          `json:"name"`
	Type  string          `json:"type"`
}

func (b *toolUseBlock) blockType() string { return b.Type }

type thinkingBlock struct {
	Signature string `json:"signature"`
	Thinking  string `json:"thinking"`
	Type      string `json:"type"`
}

func (b *thinkingBlock) blockType() string { return b.Type }

type redactedBlock struct {
	Data string `json:"data"`
	Type string `json:"type"`
}

func (b *redactedBlock) blockType() string { return b.Type }
