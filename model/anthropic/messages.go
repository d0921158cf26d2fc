package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	sdk "github.com/anthropics/anthropic-sdk-go"
)

// writer writes a conversation as the API has it: the instructions by
// themselves, then messages of the user and the assistant in turn. The results
// of calls are the user's.
type writer struct {
	forgetReasoning bool

	system   []sdk.TextBlockParam
	messages []sdk.MessageParam
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
		w.addBlocks(sdk.MessageParamRoleUser, blocks)
	}
	return nil
}

// writeInstructions writes a message of the system. The API has a place for those
// before the conversation only; a later one is the user's, marked as what it
// is, so that what came before it stays as it was.
func (w *writer) writeInstructions(text string) {
	switch {
	case isBlank(text):
	case len(w.messages) == 0:
		w.system = append(w.system, sdk.TextBlockParam{Text: text})
	default:
		w.addBlocks(sdk.MessageParamRoleUser, []sdk.ContentBlockParamUnion{sdk.NewTextBlock("<system>\n" + text + "\n</system>")})
	}
}

func (w *writer) writeAssistant(m *model.Message) {
	blocks := make([]sdk.ContentBlockParamUnion, 0, len(m.Parts))
	spoke := false
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Type == model.PartText && !isBlank(p.Text):
			blocks, spoke = append(blocks, sdk.NewTextBlock(p.Text)), true
		case p.Type == model.PartToolCall && p.ToolCall != nil:
			blocks, spoke = append(blocks, sdk.NewToolUseBlock(callID(p.ToolCall.ID), rawjson.Object(p.ToolCall.Arguments), p.ToolCall.Name)), true
		case p.Type == model.PartReasoning && p.Reasoning != nil && !w.forgetReasoning:
			blocks = appendReasoning(blocks, p.Reasoning)
		}
	}
	// The API refuses reasoning that nothing follows, which remains of an answer
	// that was cut off.
	if spoke {
		w.addBlocks(sdk.MessageParamRoleAssistant, blocks)
	}
}

// addBlocks adds blocks to the current message, or begins another one. The API
// wants the results of calls right after the calls, so they precede other user
// content.
func (w *writer) addBlocks(role sdk.MessageParamRole, blocks []sdk.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	last := len(w.messages) - 1
	if last < 0 || w.messages[last].Role != role {
		w.messages = append(w.messages, sdk.MessageParam{Role: role})
		last++
	}
	m := &w.messages[last]
	m.Content = append(m.Content, blocks...)
	if role == sdk.MessageParamRoleUser && len(m.Content) > len(blocks) {
		slices.SortStableFunc(m.Content, func(a, b sdk.ContentBlockParamUnion) int { return blockRank(a) - blockRank(b) })
	}
}

func blockRank(b sdk.ContentBlockParamUnion) int {
	if b.OfToolResult != nil {
		return 0
	}
	return 1
}

// trimEnd cuts the space at the end of an answer that is to be continued: the
// API refuses it.
func (w *writer) trimEnd() {
	if n := len(w.messages); n > 0 && w.messages[n-1].Role == sdk.MessageParamRoleAssistant {
		content := w.messages[n-1].Content
		if text := content[len(content)-1].OfText; text != nil {
			text.Text = strings.TrimRight(text.Text, " \t\r\n")
		}
	}
}

// isBlank reports whether a text is one that the API refuses as empty.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// The marks tell the vendor's two forms of encrypted reasoning apart, and both
// from those of other vendors.
const (
	thinkingMark = "thinking:"
	redactedMark = "redacted_thinking:"
)

// appendReasoning appends what the model thought, as it gave it. Reasoning that
// was cut off, or is another vendor's, means nothing to this one.
func appendReasoning(blocks []sdk.ContentBlockParamUnion, r *model.Reasoning) []sdk.ContentBlockParamUnion {
	if signature, ok := strings.CutPrefix(r.Encrypted, thinkingMark); ok {
		return append(blocks, sdk.NewThinkingBlock(signature, r.Text))
	}
	if data, ok := strings.CutPrefix(r.Encrypted, redactedMark); ok {
		return append(blocks, sdk.NewRedactedThinkingBlock(data))
	}
	return blocks
}

// callID returns the id of a call in the characters that the API allows; ids of
// other vendors may have others.
func callID(id string) string {
	valid := id != ""
	for i := range len(id) {
		c := id[i]
		valid = valid && ('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-')
	}
	if valid {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}
