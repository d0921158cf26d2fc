package anthropic

import (
	"math"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/claude"
)

// writer writes a conversation in the API's format: the instructions separately, then alternating
// messages of the user and the assistant. Call results belong to the user.
type writer struct {
	forgetReasoning bool

	system   []*textBlock
	messages []messageParam
}

func (w *writer) writeConversation(list []model.Message) error {
	for i := range list {
		if err := w.writeMessage(&list[i]); err != nil {
			return err
		}
	}
	w.trimEnd()
	return nil
}

func (w *writer) writeMessage(m *model.Message) error {
	switch m.Role {
	case model.RoleSystem:
		w.writeInstructions(m.Text())
	case model.RoleAssistant:
		w.writeAssistant(m)
	default:
		blocks, err := userContent(m.Parts)
		if err != nil {
			return err
		}
		w.addBlocks(roleUser, blocks)
	}
	return nil
}

// writeInstructions writes a system message. The API accepts these only before the conversation;
// a later one becomes a marked user message, so that the preceding conversation stays unchanged.
func (w *writer) writeInstructions(text string) {
	switch {
	case isBlank(text):
	case len(w.messages) == 0:
		w.system = append(w.system, newTextBlock(text))
	default:
		w.addBlocks(roleUser, []contentBlock{newTextBlock("<system>\n" + text + "\n</system>")})
	}
}

func (w *writer) writeAssistant(m *model.Message) {
	blocks := make([]contentBlock, 0, len(m.Parts))
	spoke := false
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Type == model.PartText && !isBlank(p.Text):
			blocks, spoke = append(blocks, newTextBlock(p.Text)), true
		case p.Type == model.PartToolCall && p.ToolCall != nil:
			blocks, spoke = append(blocks, newToolUse(p.ToolCall)), true
		case p.Type == model.PartReasoning && p.Reasoning != nil && !w.forgetReasoning:
			blocks = appendReasoning(blocks, p.Reasoning)
		}
	}
	// The API rejects reasoning without anything after it, which a cut-off answer may leave.
	if spoke {
		w.addBlocks(roleAssistant, blocks)
	}
}

// newToolUse returns a tool call of the model.
func newToolUse(c *model.ToolCall) *toolUseBlock {
	return &toolUseBlock{ID: claude.CallID(c.ID, math.MaxInt), Input: rawjson.Object(c.Arguments), Name: c.Name, Type: "tool_use"}
}

// addBlocks adds blocks to the current message, or begins a new one. The API requires call results
// right after the calls, so they precede other user content.
func (w *writer) addBlocks(role role, blocks []contentBlock) {
	if len(blocks) == 0 {
		return
	}
	last := len(w.messages) - 1
	if last < 0 || w.messages[last].Role != role {
		w.messages = append(w.messages, messageParam{Role: role})
		last++
	}
	m := &w.messages[last]
	m.Content = append(m.Content, blocks...)
	if role == roleUser && len(m.Content) > len(blocks) {
		slices.SortStableFunc(m.Content, func(a, b contentBlock) int { return blockRank(a) - blockRank(b) })
	}
}

func blockRank(b contentBlock) int {
	if b.blockType() == typeToolResult {
		return 0
	}
	return 1
}

// trimEnd removes trailing white space from an answer to be continued, because the API rejects it.
func (w *writer) trimEnd() {
	if n := len(w.messages); n > 0 && w.messages[n-1].Role == roleAssistant {
		content := w.messages[n-1].Content
		if text, ok := content[len(content)-1].(*textBlock); ok {
			text.Text = strings.TrimRight(text.Text, " \t\r\n")
		}
	}
}

// The marks distinguish the vendor's two forms of encrypted reasoning, and both from other
// vendors' reasoning.
const (
	thinkingMark = "thinking:"
	redactedMark = "redacted_thinking:"
)

// appendReasoning appends the model's reasoning unchanged. It skips truncated reasoning and other
// vendors' reasoning, which the API cannot use.
func appendReasoning(blocks []contentBlock, r *model.Reasoning) []contentBlock {
	if signature, ok := strings.CutPrefix(r.Encrypted, thinkingMark); ok {
		return append(blocks, &thinkingBlock{Signature: signature, Thinking: r.Text, Type: typeThinking})
	}
	if data, ok := strings.CutPrefix(r.Encrypted, redactedMark); ok {
		return append(blocks, &redactedBlock{Data: data, Type: typeRedacted})
	}
	return blocks
}
