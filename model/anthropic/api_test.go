package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// apiRequest is the body of a request in the vendor's published form, with the fields that this
// package uses. Decoding rejects unknown fields.
type apiRequest struct {
	Model        string          `json:"model"`
	MaxTokens    int             `json:"max_tokens"`
	Stream       bool            `json:"stream"`
	Temperature  *float64        `json:"temperature"`
	TopP         *float64        `json:"top_p"`
	System       []apiText       `json:"system"`
	Messages     []apiMessage    `json:"messages"`
	Tools        []apiTool       `json:"tools"`
	ToolChoice   *apiToolChoice  `json:"tool_choice"`
	Thinking     *apiThinking    `json:"thinking"`
	OutputConfig *apiOutputParam `json:"output_config"`
}

type apiCache struct {
	Type string `json:"type"`
}

type apiText struct {
	Type         string    `json:"type"`
	Text         string    `json:"text"`
	CacheControl *apiCache `json:"cache_control"`
}

type apiMessage struct {
	Role    string     `json:"role"`
	Content []apiBlock `json:"content"`
}

// apiBlock is a block of any type, with the fields of all types.
type apiBlock struct {
	Type         string          `json:"type"`
	Text         *string         `json:"text"`
	Thinking     *string         `json:"thinking"`
	Signature    *string         `json:"signature"`
	Data         string          `json:"data"`
	Source       *apiSource      `json:"source"`
	Title        string          `json:"title"`
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    string          `json:"tool_use_id"`
	IsError      bool            `json:"is_error"`
	Content      []apiBlock      `json:"content"`
	CacheControl *apiCache       `json:"cache_control"`
}

type apiSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	URL       string `json:"url"`
}

type apiTool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl *apiCache       `json:"cache_control"`
}

type apiToolChoice struct {
	Type                   string `json:"type"`
	Name                   string `json:"name"`
	DisableParallelToolUse bool   `json:"disable_parallel_tool_use"`
}

type apiThinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens"`
	Display      string `json:"display"`
}

type apiOutputParam struct {
	Effort string `json:"effort"`
	Format *struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	} `json:"format"`
}

var (
	apiID       = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	apiToolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
)

// checkBody checks the body of a request against the published API, its documented rules, and the
// SDK's own types.
func checkBody(t testing.TB, body []byte) *apiRequest {
	t.Helper()
	if err := readWithSDK(body); err != nil {
		t.Errorf("the SDK does not read the body: %v", err)
	}
	req := new(apiRequest)
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(req); err != nil {
		t.Fatalf("the body is not what the API takes: %v\n%s", err, body)
	}
	faults := append(req.settingsFaults(), req.toolFaults()...)
	faults = append(faults, req.messageFaults()...)
	for _, fault := range faults {
		t.Errorf("the API refuses the body: %s\n%s", fault, body)
	}
	return req
}

func (r *apiRequest) settingsFaults() (faults []string) {
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	fault(r.Model == "" || r.MaxTokens < 1 || !r.Stream || len(r.Messages) == 0, "model, max_tokens, stream or messages is missing")
	forced := r.ToolChoice != nil && (r.ToolChoice.Type == "any" || r.ToolChoice.Type == "tool")
	thinks := r.Thinking != nil && r.Thinking.Type != "disabled"
	if r.Thinking != nil {
		switch r.Thinking.Type {
		case "enabled":
			fault(r.Thinking.BudgetTokens < 1024 || r.Thinking.BudgetTokens >= r.MaxTokens,
				"the budget %d does not fit into 1024 to max_tokens %d", r.Thinking.BudgetTokens, r.MaxTokens)
		case "adaptive", "disabled":
			fault(r.Thinking.BudgetTokens != 0, "a budget without enabled")
		default:
			fault(true, "thinking.type %q", r.Thinking.Type)
		}
	}
	fault(thinks && forced, "thinking may not be enabled when tool_choice forces tool use")
	fault(thinks && r.Temperature != nil, "temperature with thinking")
	fault(thinks && r.TopP != nil && *r.TopP < 0.95, "top_p with thinking")
	marks := 0
	for _, s := range r.System {
		fault(s.Type != "text" || strings.TrimSpace(s.Text) == "", "a system block is %+v", s)
		if s.CacheControl != nil {
			marks++
		}
	}
	for _, tool := range r.Tools {
		if tool.CacheControl != nil {
			marks++
		}
	}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			if b.CacheControl != nil {
				marks++
				fault(b.CacheControl.Type != "ephemeral", "cache_control of type %q", b.CacheControl.Type)
				fault(b.Type == "thinking" || b.Type == "redacted_thinking", "cache_control on %s", b.Type)
			}
		}
	}
	fault(marks > 4, "%d blocks with cache_control", marks)
	return faults
}

func (r *apiRequest) toolFaults() (faults []string) {
	names := map[string]bool{}
	for _, tool := range r.Tools {
		var schema struct {
			Type  string          `json:"type"`
			OneOf json.RawMessage `json:"oneOf"`
			AnyOf json.RawMessage `json:"anyOf"`
			AllOf json.RawMessage `json:"allOf"`
		}
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil || schema.Type != "object" || schema.OneOf != nil || schema.AnyOf != nil || schema.AllOf != nil {
			faults = append(faults, fmt.Sprintf("tool %s has the input_schema %s", tool.Name, tool.InputSchema))
		}
		if names[tool.Name] || !apiToolName.MatchString(tool.Name) {
			faults = append(faults, "the tool name "+tool.Name)
		}
		names[tool.Name] = true
	}
	if c := r.ToolChoice; c != nil && (len(r.Tools) == 0 || c.Type == "tool" && !names[c.Name]) {
		faults = append(faults, fmt.Sprintf("tool_choice %+v without the tools for it", *c))
	}
	return faults
}

func (r *apiRequest) messageFaults() (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	var open map[string]bool // calls whose results must come next
	for i, m := range r.Messages {
		if i > 0 && r.Messages[i-1].Role == m.Role || m.Role != "user" && m.Role != "assistant" {
			fault("message %d is of the role %s once more", i, m.Role)
		}
		if len(m.Content) == 0 {
			fault("message %d is empty", i)
			continue
		}
		results := true
		calls := map[string]bool{}
		for _, b := range m.Content {
			if what := b.fault(m.Role); what != "" {
				fault("message %d: %s", i, what)
			}
			if b.Type == "tool_result" {
				if !results || !open[b.ToolUseID] {
					fault("message %d: the result of %s has no call, or comes late", i, b.ToolUseID)
				}
				delete(open, b.ToolUseID)
				continue
			}
			results = false
			if b.Type == "tool_use" {
				calls[b.ID] = true
			}
		}
		if len(open) > 0 {
			fault("message %d: calls %v have no result", i, open)
		}
		open = calls
		if last := m.Content[len(m.Content)-1]; m.Role == "assistant" && strings.HasSuffix(last.Type, "thinking") {
			fault("message %d ends with a thought", i)
		}
	}
	return faults
}

// fault describes an invalid block, or returns "".
func (b *apiBlock) fault(role string) string {
	ok := false
	switch b.Type {
	case "text":
		ok = b.Text != nil && strings.TrimSpace(*b.Text) != ""
	case "thinking":
		ok = role == "assistant" && b.Thinking != nil && b.Signature != nil && *b.Signature != ""
	case "redacted_thinking":
		ok = role == "assistant" && b.Data != ""
	case "tool_use":
		ok = role == "assistant" && apiID.MatchString(b.ID) && b.Name != "" && bytes.HasPrefix(b.Input, []byte("{"))
	case "tool_result":
		ok = role == "user" && apiID.MatchString(b.ToolUseID) && (!b.IsError || len(b.Content) > 0)
		for i := range b.Content {
			if what := b.Content[i].fault("user"); what != "" {
				return what
			}
		}
	case "image":
		ok = role == "user" && b.Source != nil && b.Source.valid("image/")
	case "document":
		ok = role == "user" && b.Source != nil && b.Source.valid("application/pdf")
	}
	if !ok {
		return fmt.Sprintf("the block %+v", *b)
	}
	return ""
}

func (s *apiSource) valid(media string) bool {
	switch s.Type {
	case "base64":
		return strings.HasPrefix(s.MediaType, media) && s.Data != "" && s.URL == ""
	case "text":
		return s.MediaType == "text/plain" && s.URL == ""
	case "url":
		return s.URL != "" && s.Data == "" && s.MediaType == ""
	}
	return false
}
