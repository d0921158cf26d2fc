package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// sendFrame sends a frame. Clients cut the first six characters of the text between two empty
// lines, so a frame consists of its data: no id, name or comments.
func sendFrame(out *server.EventStream, frame *wire.Frame) error {
	encoded, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	return out.Write(func(b *bytes.Buffer) error {
		b.WriteString("data: ")
		b.Write(encoded)
		b.WriteString("\n\n")
		return nil
	})
}

// streamIDHeader is the header by which a response names its stream, and a request the stream that
// it resumes.
const streamIDHeader = "X-Genkit-Stream-Id"

// followStream replays a stream from its beginning, or returns 204 if the caller has no such
// stream. It ignores the request's input, which the turn already has.
func (c *call) followStream(id string) error {
	run, err := c.agent.Follow(c.r.Context(), id)
	if unknown := (*wire.Error)(nil); errors.Is(err, service.ErrNotFound) || errors.As(err, &unknown) {
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err != nil {
		return err
	}
	c.streamRun(run)
	return nil
}

// streamRun responds with the chunks of a run, followed by its output.
func (c *call) streamRun(run agents.Run) {
	if id := run.StreamID(); id != "" {
		c.w.Header().Set(streamIDHeader, id)
	}
	server.ServeEvents(c.w, c.r, func(ctx context.Context, out *server.EventStream) {
		err := sendRun(ctx, out, run)
		if err == nil || errors.Is(err, server.ErrClientGone) {
			return
		}
		failed := &wire.Error{Status: wire.StatusInternal, Message: wire.StatusInternal.Label()}
		if ctx.Err() == nil {
			c.settings.Logger.Error("stream failed", zap.String("request_id", server.RequestID(ctx)), zap.String("snapshot_id", run.SnapshotID()), zap.Error(err))
		} else {
			failed = &wire.Error{Status: wire.StatusUnavailable, Message: wire.StatusUnavailable.Label()}
		}
		_ = sendFrame(out, &wire.Frame{Error: failed}) // the client may be gone
	})
}

// sendRun sends the chunks of a run, followed by its output.
func sendRun(ctx context.Context, out *server.EventStream, run agents.Run) error {
	for chunk, err := range run.Chunks(ctx) {
		if err == nil {
			err = sendFrame(out, &wire.Frame{Message: chunk})
		}
		if err != nil {
			return err
		}
	}
	output, err := run.Output(ctx)
	if err != nil {
		return err
	}
	return sendFrame(out, &wire.Frame{Result: output})
}
