package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/model"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxSamples bounds how often a server may call the model during one call, and maxSampled the size
// of such a request, in bytes.
const (
	maxSamples = 32
	maxSampled = 1 << 20
)

var (
	errSamplingForbidden = errors.New("sampling is not allowed by the configuration")
	errSamplingUnbound   = errors.New("the model can only be asked during a call, and it cannot be told which call this request belongs to")
)

// handleSampling passes a server's request to the agent's model during a call.
func (c *session) handleSampling(ctx context.Context, r *mcp.CreateMessageWithToolsRequest) (*mcp.CreateMessageWithToolsResult, error) {
	one, err := c.sample(ctx, c.findFlight(r.Params.Meta), r.Params)
	if err != nil {
		return nil, err
	}
	return &mcp.CreateMessageWithToolsResult{Role: one.Role, Model: one.Model, StopReason: one.StopReason, Content: []mcp.Content{one.Content}}, nil
}

// withContentLists returns a request whose messages have lists of content.
func withContentLists(p *mcp.CreateMessageParams) *mcp.CreateMessageWithToolsParams {
	out := &mcp.CreateMessageWithToolsParams{SystemPrompt: p.SystemPrompt, MaxTokens: p.MaxTokens, StopSequences: p.StopSequences, Temperature: p.Temperature}
	for _, m := range p.Messages {
		if m != nil {
			out.Messages = append(out.Messages, &mcp.SamplingMessageV2{Role: m.Role, Content: []mcp.Content{m.Content}})
		}
	}
	return out
}

// sample calls the agent's model within the budgets of the turn.
func (c *session) sample(ctx context.Context, f *flight, p *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageResult, error) {
	if !c.features.sampling {
		return nil, errSamplingForbidden
	}
	if f == nil {
		return nil, errSamplingUnbound
	}
	host := f.waitingHost()
	if host == nil {
		return nil, errSamplingUnbound
	}
	if f.samples.Add(1) > maxSamples {
		return nil, fmt.Errorf("the model was asked %d times during this call; no more are allowed", maxSamples)
	}
	req, err := samplingRequest(p)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.ctx, cancel)()
	sampled, err := host.Sample(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("the model could not be asked: %w", c.target.hideSecrets(err))
	}
	result := &mcp.CreateMessageResult{Role: "assistant", Model: sampled.Model, StopReason: "endTurn", Content: &mcp.TextContent{Text: redactTexts(sampled.Text, c.target.hidden())}}
	if sampled.Reason == model.FinishMaxTokens {
		result.StopReason = "maxTokens"
	}
	return result, nil
}

// samplingRequest returns the request to a model. The server cannot choose the model or tools.
func samplingRequest(p *mcp.CreateMessageWithToolsParams) (*model.Request, error) {
	if len(p.Messages) == 0 || len(p.Tools) > 0 {
		return nil, errors.New("a request needs messages, and must not have tools")
	}
	req, size := new(model.Request), len(p.SystemPrompt)
	if p.SystemPrompt != "" {
		req.Messages = append(req.Messages, model.System(p.SystemPrompt))
	}
	for _, m := range p.Messages {
		if m == nil || len(m.Content) == 0 || slices.Contains(m.Content, nil) {
			return nil, errors.New("a message has no content")
		}
		message := model.Message{Role: model.RoleUser, Parts: contentParts(m.Content)}
		if m.Role == "assistant" {
			message.Role = model.RoleAssistant
		}
		for i := range message.Parts {
			part := &message.Parts[i]
			size += len(part.Text)
			if part.Blob != nil {
				size += len(part.Blob.Data)
			}
		}
		req.Messages = append(req.Messages, message)
	}
	if size > maxSampled {
		return nil, fmt.Errorf("the request has %d bytes; at most %d are allowed", size, maxSampled)
	}
	req.MaxOutputTokens, req.Stop = int(max(p.MaxTokens, 0)), p.StopSequences
	if p.Temperature != 0 {
		req.Temperature = &p.Temperature
	}
	return req, nil
}

// answerInput answers a request for input that needs no person.
func (c *session) answerInput(ctx context.Context, f *flight, input mcp.InputRequest) (mcp.InputResponse, error) {
	switch input := input.(type) {
	case *mcp.CreateMessageParams:
		return c.sample(ctx, f, withContentLists(input))
	case *mcp.CreateMessageWithToolsParams:
		return c.sample(ctx, f, input)
	case *mcp.ListRootsParams:
		if root := c.target.root(); root != nil {
			return &mcp.ListRootsResult{Roots: []*mcp.Root{root}}, nil
		}
	}
	return nil, errors.New("it asks for something that the client does not offer")
}
