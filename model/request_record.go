package model

import (
	"slices"

	"github.com/agentruntime/agentruntime/spec"
)

// RequestRecord is the recorded form of a request. It omits the session and turn, which differ in
// each run, and Cache, which changes only the price, and Edits.
type RequestRecord struct {
	Model      string             `json:"model"`
	Messages   []Message          `json:"messages"`
	Tools      []Tool             `json:"tools,omitempty"`
	ToolChoice ToolChoice         `json:"tool_choice,omitzero"`
	Output     *spec.OutputSchema `json:"output,omitempty"`
	Params
}

// NewRequestRecord returns the record of a request, after edit has changed the blobs of its
// messages, including those in tool results. The request is not modified.
func NewRequestRecord(req *Request, edit func(*Blob)) RequestRecord {
	r := RequestRecord{
		Model: req.Model, Messages: slices.Clone(req.Messages), Tools: req.Tools, ToolChoice: req.ToolChoice, Output: req.Output, Params: req.Params,
	}
	for i := range r.Messages {
		r.Messages[i].Parts = editBlobs(r.Messages[i].Parts, edit)
	}
	return r
}

// editBlobs returns the parts with edited copies of their blobs.
func editBlobs(parts []Part, edit func(*Blob)) []Part {
	out := slices.Clone(parts)
	for i := range out {
		p := &out[i]
		if p.Blob != nil {
			b := *p.Blob
			edit(&b)
			p.Blob = &b
		}
		if p.ToolResult != nil {
			r := *p.ToolResult
			r.Content = editBlobs(r.Content, edit)
			p.ToolResult = &r
		}
	}
	return out
}
