package agents

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/server"
)

// companionBody is the body of a request to a companion route. An init is rejected.
type companionBody[T any] struct {
	Data *T              `json:"data"`
	Init json.RawMessage `json:"init"`
}

// readCompanion returns the data of a request to a companion route, a T.
func readCompanion[T any](c *call) ([]byte, error) {
	request, err := c.readRequest(new(companionBody[T]))
	if err != nil {
		return nil, err
	}
	if len(request.Init) > 0 {
		return nil, &wire.Error{Status: wire.StatusInvalidArgument, Message: "init is only for turns: remove it"}
	}
	return request.Data, nil
}

// getSnapshot answers with a snapshot.
func (c *call) getSnapshot() error { return c.answerSnapshot(c.agent.GetSnapshot) }

// waitForSnapshot responds with a snapshot once it is no longer pending, or with its current state
// when the server shuts down or MaxWait has passed.
func (c *call) waitForSnapshot() error {
	return c.answerSnapshot(func(ctx context.Context, request *wire.GetSnapshotRequest) (*wire.Snapshot, error) {
		waiting, end := server.UntilDrain(ctx)
		defer end()
		if c.settings.MaxWait > 0 {
			var cancel context.CancelFunc
			waiting, cancel = context.WithTimeout(waiting, c.settings.MaxWait)
			defer cancel()
		}
		snapshot, err := c.agent.WaitForSnapshot(waiting, request)
		if err != nil && (isDraining(waiting) || ctx.Err() == nil && waiting.Err() != nil) {
			return c.agent.GetSnapshot(context.WithoutCancel(ctx), request)
		}
		return snapshot, err
	})
}

// answerSnapshot answers with the snapshot that read returns.
func (c *call) answerSnapshot(read func(context.Context, *wire.GetSnapshotRequest) (*wire.Snapshot, error)) error {
	data, err := readCompanion[wire.GetSnapshotRequest](c)
	if err != nil {
		return err
	}
	request, err := wire.DecodeGetSnapshot(data)
	if err != nil {
		return err
	}
	snapshot, err := read(c.r.Context(), request)
	if err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusOK, wire.Reply[*wire.Snapshot]{Result: snapshot})
}

// abortTurn ends a turn unless it has already ended.
func (c *call) abortTurn() error {
	data, err := readCompanion[wire.AbortRequest](c)
	if err != nil {
		return err
	}
	request, err := wire.DecodeAbort(data)
	if err != nil {
		return err
	}
	response, err := c.agent.Abort(c.r.Context(), request)
	if err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusOK, wire.Reply[*wire.AbortResponse]{Result: response})
}
