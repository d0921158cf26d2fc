package work

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// keepRequest stores a model request in the vendor-neutral form, before a provider adapts it to its
// server, and without the content of files. A failure is logged and does not fail the turn.
func (w *worker) keepRequest(ctx context.Context, call *backend.ModelCall) {
	data, err := json.Marshal(model.NewRequestRecord(call.Request, func(b *model.Blob) { b.Data = nil }))
	if err == nil {
		err = w.pool.settings.KeepRequest(ctx, &store.ModelRequest{
			TurnID: w.turn.ID, MessageID: call.MessageID, Call: call.Number, AgentID: call.AgentID, SentAt: w.pool.now(), Request: data,
		})
	}
	if err != nil && ctx.Err() == nil {
		w.pool.settings.Logger.Warn("storing a model request failed", zap.String("turn_id", w.turn.ID), zap.String("agent", call.AgentID), zap.Error(err))
	}
}
