package scripted

import (
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/model"
)

// recorder keeps the latest requests.
type recorder struct {
	limit int

	mu       sync.Mutex
	requests []model.Request
}

func (r *recorder) add(req *model.Request) {
	c := cloneRequest(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.requests) == r.limit {
		r.requests = slices.Delete(r.requests, 0, 1)
	}
	r.requests = append(r.requests, c)
}

func cloneRequest(req *model.Request) model.Request {
	c := *req
	c.Messages = slices.Clone(req.Messages)
	for i := range c.Messages {
		c.Messages[i].Parts = cloneParts(c.Messages[i].Parts)
	}
	c.Tools = slices.Clone(req.Tools)
	return c
}

func cloneParts(parts []model.Part) []model.Part {
	out := slices.Clone(parts)
	for i := range out {
		p := &out[i]
		p.Blob = clonePointer(p.Blob)
		p.Reasoning = clonePointer(p.Reasoning)
		if p.ToolCall = clonePointer(p.ToolCall); p.ToolCall != nil {
			p.ToolCall.Arguments = slices.Clone(p.ToolCall.Arguments)
		}
		if p.ToolResult = clonePointer(p.ToolResult); p.ToolResult != nil {
			p.ToolResult.Content = cloneParts(p.ToolResult.Content)
		}
	}
	return out
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
