package anthropic

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// block is a content block of an answer while it is being received.
type block struct {
	kind string
	// call is the number of the call.
	call int
	// signature collects what vouches for a thought.
	signature []byte
	// input holds arguments sent with the start of a call. They count only if no further piece
	// follows.
	input    json.RawMessage
	received bool
	// arguments follows the pieces of arguments.
	arguments vendorhttp.Nesting
	// report is set if the block is the report's call.
	report bool
}

// blockContent is the beginning of a block in a stream, or a whole block.
type blockContent struct {
	Type      vendorhttp.Text    `json:"type"`
	ID        vendorhttp.Text    `json:"id"`
	Name      vendorhttp.Text    `json:"name"`
	Input     json.RawMessage    `json:"input"`
	Text      vendorhttp.Content `json:"text"`
	Thinking  vendorhttp.Text    `json:"thinking"`
	Signature vendorhttp.Text    `json:"signature"`
	Data      vendorhttp.Text    `json:"data"`
}

// deltaFields is a piece of a block, or the end of the message.
type deltaFields struct {
	Type        vendorhttp.Text      `json:"type"`
	Text        vendorhttp.Content   `json:"text"`
	PartialJSON vendorhttp.Arguments `json:"partial_json"`
	Thinking    vendorhttp.Text      `json:"thinking"`
	Signature   vendorhttp.Text      `json:"signature"`
	StopReason  vendorhttp.Text      `json:"stop_reason"`
}

// DecodeText decodes a text delta.
func (d *deltaFields) DecodeText(text string) bool {
	d.Text = vendorhttp.Content(text)
	return true
}
