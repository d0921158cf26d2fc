package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/mend"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxForm bounds the form of a question, and maxAddress an address to visit, in bytes.
	maxForm    = 64 << 10
	maxAddress = 2048
)

// maxQuestions bounds the questions that a server asks at once in a call.
const maxQuestions = 16

// Reasons to reject a question.
const (
	refusedElicitation = "elicitation is not allowed by the configuration"
	refusedSecret      = "it asks for a secret in a form; servers must send the user to an address for that"
	refusedOwner       = "it cannot be told which call it belongs to"
	refusedMany        = "it asks too many questions at once"
)

// secretField matches names and titles of fields for secrets, and secretRequest texts that request
// a secret.
var (
	secretField = regexp.MustCompile(`(?i)pass[\s_-]?(word|phrase|code|wd)|\bpwd\b|secret|token|api[\s_-]?key|apikey|private[\s_-]?key|access[\s_-]?key|credential|` +
		`\bpin\b|\botp\b|one[\s_-]?time|verification[\s_-]?code|security[\s_-]?code|\bcvv2?\b|\bcvc\b|card[\s_-]?number|seed[\s_-]?phrase|mnemonic|social[\s_-]?security|\bssn\b`)
	secretRequest = regexp.MustCompile(`(?i)(enter|type|provide|give|send|share|paste|confirm|need|what|your)\b[^.?!\n]{0,60}\b(pass(word|phrase|code)|secret|api[\s_-]?key|access[\s_-]?token|private[\s_-]?key|credentials?|pin|otp|cvv|seed[\s_-]?phrase)\b`)
)

// formField holds the checked properties of a form field.
type formField struct {
	Type        string            `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Format      string            `json:"format"`
	Enum        []json.RawMessage `json:"enum"`
	OneOf       []json.RawMessage `json:"oneOf"`
	Properties  json.RawMessage   `json:"properties"`
}

// asksSecret reports whether a field is for a secret.
func (f *formField) asksSecret(name string) bool {
	if f.Type == "boolean" {
		return false
	}
	return f.Format == "password" || secretField.MatchString(name) || secretField.MatchString(f.Title) || f.takesText() && secretField.MatchString(f.Description)
}

// takesText reports whether any text can be entered.
func (f *formField) takesText() bool {
	return f.Type == "string" && len(f.Enum) == 0 && len(f.OneOf) == 0
}

// readQuestion returns a server's question as the user sees it, or why it is rejected.
func (c *session) readQuestion(p *mcp.ElicitParams) (asked *interaction.Request, refusal string) {
	if !c.features.elicitation {
		return nil, refusedElicitation
	}
	if len(p.Message) > maxForm {
		return nil, fmt.Sprintf("its text has more than %d bytes", maxForm)
	}
	text := redactTexts(clip.Visible(p.Message, maxDescription), c.target.hidden())
	asked = &interaction.Request{Action: tools.ActionAsk, Message: fmt.Sprintf("The MCP server %q asks: %s", c.server, text)}
	details := map[string]any{"kind": "question", "mcp_server": c.server}
	if p.Mode == "url" {
		if refusal := checkAddress(p.URL); refusal != "" {
			return nil, refusal
		}
		asked.Action, asked.Message = tools.ActionAuthorize, asked.Message+"\n"+p.URL
		asked.ResponseSchema = json.RawMessage(`{"type":"object","properties":{"authenticated":{"type":"boolean","description":"Whether the address was visited."}},` +
			`"required":["authenticated"],"additionalProperties":false}`)
		details["kind"], details["url"] = "auth", p.URL
	} else {
		if asked.ResponseSchema, refusal = readForm(p.RequestedSchema, text); refusal != "" {
			return nil, refusal
		}
	}
	asked.Parameters, _ = json.Marshal(details) // texts
	return asked, ""
}

// checkAddress returns why an address must not be shown, or "".
func checkAddress(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > maxAddress || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "its address is not an http or https URL of moderate length"
	case u.User != nil:
		return "its address has a user name, which may hide the host"
	case clip.Visible(address, maxAddress) != address:
		return "its address has control characters"
	}
	return ""
}

// readForm returns the schema of a form, or why it is rejected. Texts in it are cleaned.
func readForm(form any, message string) (_ json.RawMessage, refusal string) {
	raw, err := json.Marshal(cleanStrings(form))
	if err != nil || len(raw) > maxForm {
		return nil, fmt.Sprintf("its form is not JSON of at most %d bytes", maxForm)
	}
	if string(raw) == "null" {
		raw = json.RawMessage(`{"type":"object"}`)
	}
	raw = mend.Schema(raw)
	var fields struct {
		Type       string               `json:"type"`
		Properties map[string]formField `json:"properties"`
	}
	if json.Unmarshal(raw, &fields) != nil || fields.Type != "object" && fields.Type != "" {
		return nil, "its form is not an object with simple fields"
	}
	takesText := false
	for name, f := range fields.Properties {
		if len(f.Properties) > 0 || f.Type == "object" {
			return nil, "its form has fields in fields"
		}
		if f.asksSecret(name) {
			return nil, refusedSecret
		}
		takesText = takesText || f.takesText()
	}
	if takesText && secretRequest.MatchString(message) {
		return nil, refusedSecret
	}
	if _, err := schema.Compile(raw); err != nil {
		return nil, "its form is not a valid JSON Schema: " + err.Error()
	}
	return raw, ""
}

// cleanStrings returns a decoded JSON value with its texts cleaned.
func cleanStrings(value any) any {
	switch value := value.(type) {
	case string:
		return clip.Visible(value, maxDescription)
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = cleanStrings(v)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, v := range value {
			out[clip.Visible(name, maxName)] = cleanStrings(v)
		}
		return out
	default:
		return value
	}
}

// readAnswer returns the user's answer to a question with an action.
func readAnswer(action string, a *interaction.Answer) *mcp.ElicitResult {
	declined := &mcp.ElicitResult{Action: "decline"}
	if a.Action != interaction.Resume {
		return declined
	}
	accepted := &mcp.ElicitResult{Action: "accept"}
	if action == tools.ActionAuthorize {
		var visited struct {
			Authenticated bool `json:"authenticated"`
		}
		if json.Unmarshal(a.Result, &visited) != nil || !visited.Authenticated {
			return declined
		}
		return accepted
	}
	accepted.Content = map[string]any{}
	if len(a.Result) > 0 && json.Unmarshal(a.Result, &accepted.Content) != nil {
		return declined
	}
	return accepted
}

// hashQuestion identifies a question by its text and form.
func hashQuestion(asked *interaction.Request) string {
	data, _ := json.Marshal([]any{asked.Action, asked.Message, asked.ResponseSchema}) // texts and JSON
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// noteRefusal logs that a question was rejected, once for each reason.
func (c *session) noteRefusal(refusal string) {
	if c.isFirst(refusal) {
		c.logger.Warn("a question of the MCP server was refused", "reason", refusal)
	}
}

// handleElicitation answers a question that the server asks during a call.
func (c *session) handleElicitation(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	f := c.findFlight(r.Params.Meta)
	asked, refusal := c.readQuestion(r.Params)
	if refusal == "" && f == nil {
		refusal = refusedOwner
	}
	if refusal != "" {
		c.noteRefusal(refusal)
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	return c.elicit(f, asked)
}

// elicit asks the user a question of the server during a call.
func (c *session) elicit(f *flight, asked *interaction.Request) (*mcp.ElicitResult, error) {
	defer f.questions.Add(-1)
	if f.questions.Add(1) > maxQuestions {
		c.noteRefusal(refusedMany)
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	q := &question{request: *asked, answer: make(chan *mcp.ElicitResult, 1)}
	select {
	case f.asked <- q:
	case <-f.ctx.Done():
		return nil, f.ctx.Err()
	}
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-f.ctx.Done():
		return nil, f.ctx.Err()
	}
}
