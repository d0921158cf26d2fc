package sqlstore

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
)

const modelRequestColumns = "turn_id, message_id, call, agent_id, sent_at, request"

func modelRequestFields(r *store.ModelRequest) []any {
	return []any{&r.TurnID, &r.MessageID, &r.Call, &r.AgentID, (*Time)(&r.SentAt), &r.Request}
}

// SaveModelRequest stores a request to a model.
func (r *turnRecords) SaveModelRequest(ctx context.Context, req *store.ModelRequest) error {
	if err := req.CheckText(); err != nil {
		return err
	}
	err := r.db.Transact(ctx, func(ctx context.Context, s Session) error {
		return checkChanged(s.Exec(ctx, "INSERT INTO model_requests ("+modelRequestColumns+`)
			SELECT t.id, $2, $3, $4, $5, $6 FROM turns t WHERE t.id = $1
			ON CONFLICT (turn_id, message_id, call) DO UPDATE SET agent_id = excluded.agent_id, sent_at = excluded.sent_at, request = excluded.request`,
			req.TurnID, req.MessageID, req.Call, req.AgentID, Time(req.SentAt), req.Request))
	})
	return r.db.WrapError("save a model request of turn", req.TurnID, err)
}

// ModelRequests returns the requests for a message of a turn.
func (r *turnRecords) ModelRequests(ctx context.Context, turnID, messageID string) ([]*store.ModelRequest, error) {
	list, err := CollectRecords(ctx, r.db.Reader, modelRequestFields,
		"SELECT "+modelRequestColumns+" FROM model_requests WHERE turn_id = $1 AND message_id = $2 ORDER BY call", turnID, messageID)
	return list, r.db.WrapError("read the model requests of turn", turnID, err)
}
