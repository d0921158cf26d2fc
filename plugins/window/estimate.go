package window

import (
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// The overheads that an estimate adds to the text, in tokens.
const (
	// messageTokens frame a message, callTokens a tool call or result with its
	// id, and declarationTokens the declaration of a tool.
	messageTokens     = 4
	callTokens        = 8
	declarationTokens = 8
	// imageTokens is the vendors' count for an image of the usual full size. fileTokens is a
	// guess for a file of a page or two, whose real count only the vendor knows.
	imageTokens = 1600
	fileTokens  = 2500
)

// Estimate estimates the tokens of a message. It counts everything that is sent: texts, reasoning,
// the names and arguments of tool calls, the content of their results, and a fixed price for each
// image and file. A text file costs as much as its text.
func Estimate(m *model.Message) int {
	return toTokens(4*messageTokens + partsWeight(m.Parts))
}

// EstimateTools estimates the tokens of tool declarations.
func EstimateTools(tools []model.Tool) int {
	w := 0
	for i := range tools {
		t := &tools[i]
		w += 4*declarationTokens + textWeight(t.Name) + textWeight(t.Description) + textWeight(t.Parameters)
	}
	return toTokens(w)
}

// toTokens converts a weight to tokens. A weight counts quarters of tokens, so that rounding errors
// of many small pieces do not add up.
func toTokens(weight int) int { return (weight + 3) / 4 }

// textWeight returns the weight of a text: four bytes make a token, but a character from U+2E80
// on, where East Asian scripts start, is a token. Such a character has three or four bytes, so
// adding one for three-byte characters suffices.
func textWeight[T string | ~[]byte](text T) int {
	const (
		last2E80, next2E80 = 0xE2, 0xBA // U+2E80 is E2 BA 80
		lead4              = 0xF0
	)
	w := len(text)
	for i := range len(text) {
		c := text[i]
		if c < last2E80 || c >= lead4 {
			continue
		}
		if c > last2E80 || i+1 < len(text) && text[i+1] >= next2E80 {
			w++
		}
	}
	return w
}

func partsWeight(parts []model.Part) int {
	w := 0
	for i := range parts {
		w += partWeight(&parts[i])
	}
	return w
}

func partWeight(p *model.Part) int {
	switch {
	case p.ToolCall != nil:
		return 4*callTokens + textWeight(p.ToolCall.Name) + textWeight(p.ToolCall.Arguments)
	case p.ToolResult != nil:
		return 4*callTokens + textWeight(p.ToolResult.Name) + partsWeight(p.ToolResult.Content)
	case p.Reasoning != nil:
		// The opaque form holds the same thoughts; vendors receive only one of them.
		return max(textWeight(p.Reasoning.Text), textWeight(p.Reasoning.Encrypted))
	case p.Blob != nil:
		return blobWeight(p)
	default:
		return textWeight(p.Text)
	}
}

func blobWeight(p *model.Part) int {
	switch p.Modality() {
	case spec.ModalityText:
		if len(p.Blob.Data) > 0 {
			return textWeight(p.Blob.Name) + textWeight(p.Blob.Data)
		}
		return 4 * fileTokens
	case spec.ModalityImage:
		return 4 * imageTokens
	default:
		return 4 * fileTokens
	}
}

// sumCosts returns the sum of estimates.
func sumCosts(costs []int) (n int) {
	for _, c := range costs {
		n += c
	}
	return n
}
