package model

import (
	"slices"

	"github.com/agentruntime/agentruntime/spec"
)

// RequestRecord is a request as it is recorded and shown. Session and turn are left out, as they
// differ in each run, and so are Cache, which changes the price alone, and Edits.
type RequestRecord struct {
	Model      string             `json:"model"`
	Messages   []Message          `json:"messages"`
	Tools      []Tool             `json:"tools,omitempty"`
	ToolChoice ToolChoice         `json:"tool_choice,omitzero"`
	Output     *spec.OutputSchema `json:"output,omitempty"`
	Params
}

// NewRequestRecord returns the record of a request, with the blobs of its messages, also in
// results of tools, changed by edit. The request stays as it is.
func NewRequestRecord(req *Request, edit func(*Blob)) RequestRecord {
	r := RequestRecord{
		Model: req.Model, Messages: slices.Clone(req.Messages), Tools: req.Tools, ToolChoice: req.ToolChoice, Output: req.Output, Params: req.Params,
	}
	for i := range r.Messages {
		r.Messages[i].Parts = editBlobs(r.Messages[i].Parts, edit)
	}
	return r
}

// editBlobs returns the parts with copies of their blobs that edit has changed.
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
