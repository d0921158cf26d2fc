package agents

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/server"
)

// turnBody is the body of a request that runs a turn.
type turnBody struct {
	Data *wire.Input `json:"data"`
	Init *wire.Init  `json:"init"`
}

// readRequest reads the envelope of a request. The body must match the type of shape: it has the
// same names at every depth, and values that fit.
func (c *call) readRequest(shape any) (*wire.Request, error) {
	body, err := io.ReadAll(c.r.Body)
	if err != nil {
		return nil, err
	}
	request := new(wire.Request)
	if len(body) == 0 {
		return request, nil
	}
	if err := server.DecodeJSON(body, shape, true); err != nil {
		return nil, err
	}
	return request, json.Unmarshal(body, request)
}

// wantsStream reports whether a request asks for a stream, by its query or by text/event-stream in
// its Accept header.
func wantsStream(r *http.Request) (bool, error) {
	if text := r.URL.Query().Get("stream"); text != "" {
		stream, err := strconv.ParseBool(text)
		if err != nil {
			return false, &wire.Error{Status: wire.StatusInvalidArgument, Message: "stream must be true or false"}
		}
		return stream, nil
	}
	for _, header := range r.Header.Values("Accept") {
		for entry := range strings.SplitSeq(header, ",") {
			mediaType, params, err := mime.ParseMediaType(entry)
			if err != nil || mediaType != "text/event-stream" {
				continue
			}
			if q, err := strconv.ParseFloat(params["q"], 64); err != nil || q > 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

// isDraining reports whether a request ends because the server is shutting down.
func isDraining(ctx context.Context) bool { return errors.Is(context.Cause(ctx), server.ErrDraining) }

// runTurn runs one turn of a conversation. Errors of the request and its init have an HTTP status;
// errors of the turn are part of its output. If the server shuts down first, the turn is answered
// as if it had been detached.
func (c *call) runTurn() error {
	stream, err := wantsStream(c.r)
	if err != nil {
		return err
	}
	request, err := c.readRequest(new(turnBody))
	if err != nil {
		return err
	}
	if id := c.r.Header.Get(streamIDHeader); stream && id != "" {
		return c.followStream(id)
	}
	run, err := c.beginRun(request)
	if err != nil {
		return err
	}
	if stream {
		c.streamRun(run)
		return nil
	}
	output, err := run.Output(c.r.Context())
	if err != nil && isDraining(c.r.Context()) && run.SnapshotID() != "" { // the server finishes the turn without this request
		output, err = &wire.Output{SnapshotID: run.SnapshotID(), FinishReason: wire.FinishDetached}, nil
	}
	if err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusOK, wire.Reply[*wire.Output]{Result: output})
}

// beginRun starts a turn for a request, or resumes an interrupted turn.
func (c *call) beginRun(request *wire.Request) (agents.Run, error) {
	init, err := wire.DecodeInit(request.Init)
	if err != nil {
		return nil, err
	}
	input, err := wire.DecodeInput(request.Data)
	if err != nil {
		return nil, err
	}
	return c.agent.Begin(c.r.Context(), init, input)
}
