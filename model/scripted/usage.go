package scripted

import "github.com/agentruntime/agentruntime/model"

// bytesPerToken is the rule of thumb for estimating token counts.
const bytesPerToken = 4

// estimateTokens estimates the tokens in a number of bytes. It is never 0, so that totals are not.
func estimateTokens(bytes int) int { return max(1, (bytes+bytesPerToken-1)/bytesPerToken) }

// estimateRequest estimates the tokens of a request.
func estimateRequest(req *model.Request) int {
	n := 0
	for i := range req.Messages {
		n += partsBytes(req.Messages[i].Parts)
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		n += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return estimateTokens(n)
}

func partsBytes(parts []model.Part) int {
	n := 0
	for i := range parts {
		p := &parts[i]
		n += len(p.Text)
		switch {
		case p.ToolCall != nil:
			n += len(p.ToolCall.Name) + len(p.ToolCall.Arguments)
		case p.ToolResult != nil:
			n += partsBytes(p.ToolResult.Content)
		case p.Reasoning != nil:
			n += len(p.Reasoning.Text)
		}
	}
	return n
}
