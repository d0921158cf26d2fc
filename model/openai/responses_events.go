package openai

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

type responsesDelta struct {
	OutputIndex  vendorhttp.Number  `json:"output_index"`
	ContentIndex vendorhttp.Number  `json:"content_index"`
	SummaryIndex vendorhttp.Number  `json:"summary_index"`
	ItemID       vendorhttp.Text    `json:"item_id"`
	Delta        vendorhttp.Content `json:"delta"`
}

// responsesDone is a complete text, or a part of a message with one.
type responsesDone struct {
	OutputIndex vendorhttp.Number `json:"output_index"`
	Part        outputTexts       `json:"part"`
	outputText
}

type responsesPiece struct {
	OutputIndex vendorhttp.Number    `json:"output_index"`
	ItemID      vendorhttp.Text      `json:"item_id"`
	Delta       vendorhttp.Arguments `json:"delta"`
}

type responsesArguments struct {
	OutputIndex vendorhttp.Number    `json:"output_index"`
	ItemID      vendorhttp.Text      `json:"item_id"`
	Name        vendorhttp.Text      `json:"name"`
	Arguments   vendorhttp.Arguments `json:"arguments"`
}

type responsesItem struct {
	OutputIndex vendorhttp.Number `json:"output_index"`
	Item        outputItem        `json:"item"`
}

// outputItem is an item of an answer. Content belongs to a message, Summary to reasoning; both
// are complete only at the item's end.
type outputItem struct {
	Type             vendorhttp.Text      `json:"type"`
	ID               vendorhttp.Text      `json:"id"`
	CallID           vendorhttp.Text      `json:"call_id"`
	Name             vendorhttp.Text      `json:"name"`
	Arguments        vendorhttp.Arguments `json:"arguments"`
	EncryptedContent vendorhttp.Text      `json:"encrypted_content"`
	Content          outputTexts          `json:"content"`
	Summary          outputTexts          `json:"summary"`
}

// itemType returns the type of an item. Some servers omit it or have another name for calls.
func (i *outputItem) itemType() vendorhttp.Text {
	switch {
	case i.Type == "tool_call", i.Type == "" && i.Name != "":
		return "function_call"
	case i.Type == "" && len(i.Content) > 0:
		return "message"
	default:
		return i.Type
	}
}

// outputTexts are the texts of an item, each a text or a refusal.
type outputTexts []outputText

type outputText struct {
	Text    vendorhttp.Text `json:"text"`
	Refusal vendorhttp.Text `json:"refusal"`
}

// UnmarshalJSON reads a string, a list of strings or of objects with one each, or one such object.
func (t *outputTexts) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		*t = outputTexts{{}}
		return (*t)[0].Text.UnmarshalJSON(data)
	}
	var list []json.RawMessage
	if data[0] == '{' {
		list = []json.RawMessage{data}
	} else if json.Unmarshal(data, &list) != nil {
		return nil // null, or without text
	}
	for _, raw := range list {
		var one outputText
		switch {
		case raw[0] == '"':
			_ = one.Text.UnmarshalJSON(raw) // of a valid document
		case json.Unmarshal(raw, &one) != nil:
			continue
		}
		*t = append(*t, one)
	}
	return nil
}

type responsesResult struct {
	Response responsesAnswer `json:"response"`
}

// responsesAnswer is a complete answer, as repeated by the last event.
type responsesAnswer struct {
	ID                vendorhttp.Text                      `json:"id"`
	Status            vendorhttp.Text                      `json:"status"`
	Error             json.RawMessage                      `json:"error"`
	Output            []outputItem                         `json:"output"`
	OutputText        vendorhttp.Content                   `json:"output_text"`
	IncompleteDetails vendorhttp.Detail[incompleteDetails] `json:"incomplete_details"`
	Usage             vendorhttp.Detail[*responsesUsage]   `json:"usage"`
}

type incompleteDetails struct {
	Reason vendorhttp.Text `json:"reason"`
}

type responsesUsage struct {
	InputTokens         vendorhttp.Number                `json:"input_tokens"`
	InputTokensDetails  vendorhttp.Detail[promptDetails] `json:"input_tokens_details"`
	OutputTokens        vendorhttp.Number                `json:"output_tokens"`
	OutputTokensDetails vendorhttp.Detail[outputDetails] `json:"output_tokens_details"`
}
