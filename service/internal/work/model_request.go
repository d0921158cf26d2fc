package work

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// modelRequest is a request as it is stored: what every vendor gets, before a provider adapts
// it to its server.
type modelRequest struct {
	Model      string             `json:"model"`
	Messages   []model.Message    `json:"messages"`
	Tools      []model.Tool       `json:"tools,omitempty"`
	ToolChoice *model.ToolChoice  `json:"tool_choice,omitempty"`
	Output     *spec.OutputSchema `json:"output,omitempty"`
	model.Params
}

// keepRequest stores a request to a model. A failure is logged and does not fail the turn.
func (w *worker) keepRequest(ctx context.Context, call *backend.ModelCall) {
	data, err := encodeModelRequest(call.Request)
	if err == nil {
		err = w.pool.settings.KeepRequest(ctx, &store.ModelRequest{
			TurnID: w.turn.ID, MessageID: call.MessageID, Call: call.Number, AgentID: call.AgentID, SentAt: w.pool.now(), Request: data,
		})
	}
	if err != nil && ctx.Err() == nil {
		w.pool.settings.Logger.Warn("storing a model request failed", zap.String("turn_id", w.turn.ID), zap.String("agent", call.AgentID), zap.Error(err))
	}
}

func encodeModelRequest(r *model.Request) ([]byte, error) {
	kept := modelRequest{Model: r.Model, Messages: make([]model.Message, len(r.Messages)), Tools: r.Tools, Output: r.Output, Params: r.Params}
	if r.ToolChoice != (model.ToolChoice{}) {
		kept.ToolChoice = &r.ToolChoice
	}
	for i := range r.Messages {
		kept.Messages[i] = r.Messages[i]
		kept.Messages[i].Parts = withoutFiles(r.Messages[i].Parts)
	}
	return json.Marshal(&kept)
}

// withoutFiles returns parts without the content of files.
func withoutFiles(parts []model.Part) []model.Part {
	out := make([]model.Part, len(parts))
	for i := range parts {
		out[i] = parts[i]
		if blob := parts[i].Blob; blob != nil && len(blob.Data) > 0 {
			named := *blob
			named.Data = nil
			out[i].Blob = &named
		}
		if result := parts[i].ToolResult; result != nil {
			copied := *result
			copied.Content = withoutFiles(result.Content)
			out[i].ToolResult = &copied
		}
	}
	return out
}
