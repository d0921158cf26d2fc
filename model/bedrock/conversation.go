package bedrock

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/claude"
)

// writer writes a conversation in the API's format: the instructions separately, then alternating
// messages of the user and the assistant, beginning with the user's.
type writer struct {
	// withReasoning sends reasoning back.
	withReasoning bool
	// asText writes calls and their results as text, for requests without tools.
	asText bool

	system   []blockParam
	messages []*messageParam
	// names are the names of the documents.
	names map[string]bool
}

func (w *writer) writeConversation(list []model.Message) error {
	for i := range list {
		if err := w.writeMessage(&list[i]); err != nil {
			return err
		}
	}
	for _, m := range w.messages {
		m.complete()
	}
	if n := len(w.messages); n > 0 && w.messages[n-1].Role == roleAssistant {
		last := &w.messages[n-1].Content[len(w.messages[n-1].Content)-1]
		last.Text = strings.TrimRight(last.Text, " \t\r\n") // the API rejects trailing space
	}
	return nil
}

func (w *writer) writeMessage(m *model.Message) error {
	switch m.Role {
	case model.RoleSystem:
		w.writeInstructions(m.Text())
	case model.RoleAssistant:
		w.writeAssistant(m)
	default:
		return w.writeUser(m)
	}
	return nil
}

// writeInstructions writes a system message. The API accepts these only before the conversation; a
// later one becomes a user message marked as an instruction.
func (w *writer) writeInstructions(text string) {
	switch {
	case isBlank(text):
	case len(w.messages) == 0:
		w.system = append(w.system, blockParam{Text: text})
	default:
		w.addBlocks(roleUser, blockParam{Text: "<system>\n" + text + "\n</system>"})
	}
}

func (w *writer) writeUser(m *model.Message) error {
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Type == model.PartText && !isBlank(p.Text):
			w.addBlocks(roleUser, blockParam{Text: p.Text})
		case p.Type == model.PartToolResult && p.ToolResult != nil:
			w.writeResult(p.ToolResult)
		case p.Blob != nil:
			block, err := w.attachment(p)
			if err != nil {
				return err
			}
			w.addBlocks(roleUser, block)
		}
	}
	return nil
}

func (w *writer) writeResult(r *model.ToolResult) {
	blocks := w.resultBlocks(r)
	if w.asText {
		w.addBlocks(roleUser, append([]blockParam{{Text: fmt.Sprintf("Result of the call %s:", r.CallID)}}, blocks...)...)
		return
	}
	result := &toolResultParam{ToolUseID: claude.CallID(r.CallID, longestCallID), Content: blocks}
	if r.IsError {
		result.Status = "error"
	}
	w.addBlocks(roleUser, blockParam{ToolResult: result})
}

func (w *writer) writeAssistant(m *model.Message) {
	blocks := make([]blockParam, 0, len(m.Parts))
	spoke := false
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Type == model.PartText && !isBlank(p.Text):
			blocks, spoke = append(blocks, blockParam{Text: p.Text}), true
		case p.Type == model.PartToolCall && p.ToolCall != nil:
			blocks, spoke = append(blocks, w.callBlock(p.ToolCall)), true
		case p.Type == model.PartReasoning && p.Reasoning != nil && w.withReasoning:
			blocks = appendReasoning(blocks, p.Reasoning)
		}
	}
	if spoke { // a cut-off answer may leave only reasoning
		w.addBlocks(roleAssistant, blocks...)
	}
}

func (w *writer) callBlock(c *model.ToolCall) blockParam {
	if w.asText {
		return blockParam{Text: fmt.Sprintf("Call %s of the tool %s with %s", c.ID, c.Name, rawjson.Object(c.Arguments))}
	}
	return blockParam{ToolUse: &toolUseParam{ToolUseID: claude.CallID(c.ID, longestCallID), Name: c.Name, Input: rawjson.Object(c.Arguments)}}
}

// The marks distinguish the two forms of reasoning, and both from other vendors'. A signature is
// valid wherever the model is served.
const (
	thinkingMark = "thinking:"
	redactedMark = "bedrock_redacted:"
)

// appendReasoning appends the model's reasoning unchanged. It skips truncated reasoning and other
// vendors' reasoning.
func appendReasoning(blocks []blockParam, r *model.Reasoning) []blockParam {
	if signature, ok := strings.CutPrefix(r.Encrypted, thinkingMark); ok {
		return append(blocks, blockParam{Reasoning: &reasoningParam{Text: &reasoningText{Text: r.Text, Signature: signature}}})
	}
	if data, ok := strings.CutPrefix(r.Encrypted, redactedMark); ok {
		if redacted, err := base64.StdEncoding.DecodeString(data); err == nil && len(redacted) > 0 {
			return append(blocks, blockParam{Reasoning: &reasoningParam{Redacted: redacted}})
		}
	}
	return blocks
}

// addBlocks adds blocks to the current message, or begins a new one.
func (w *writer) addBlocks(role role, blocks ...blockParam) {
	if len(w.messages) == 0 && role == roleAssistant {
		w.messages = append(w.messages, &messageParam{Role: roleUser, Content: []blockParam{{Text: "(The conversation begins here.)"}}})
	}
	last := len(w.messages) - 1
	if last < 0 || w.messages[last].Role != role {
		w.messages = append(w.messages, &messageParam{Role: role})
		last++
	}
	w.messages[last].Content = append(w.messages[last].Content, blocks...)
}

// complete puts call results first, because they must follow the calls, and adds a text to
// documents, which the API rejects alone.
func (m *messageParam) complete() {
	if m.Role != roleUser {
		return
	}
	slices.SortStableFunc(m.Content, func(a, b blockParam) int { return a.rank() - b.rank() })
	has := func(test func(blockParam) bool) bool { return slices.ContainsFunc(m.Content, test) }
	if has(func(b blockParam) bool { return b.Document != nil }) && !has(func(b blockParam) bool { return b.Text != "" }) {
		m.Content = append(m.Content, blockParam{Text: "See the attached document."})
	}
}

func (b *blockParam) rank() int {
	if b.ToolResult != nil {
		return 0
	}
	return 1
}

// longestCallID is the API's limit for the IDs of calls.
const longestCallID = 64
