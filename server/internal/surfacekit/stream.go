package surfacekit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// AbortStream panics to end a response visibly incomplete. The error is logged unless the request
// has ended.
func AbortStream(ctx context.Context, logger *zap.Logger, turnID string, err error) {
	if ctx.Err() == nil {
		logger.Error("a stream breaks off", zap.String("request_id", server.RequestID(ctx)), zap.String("turn_id", turnID), zap.Error(err))
	}
	panic(http.ErrAbortHandler)
}

// Answer is the part of a turn that a response streams. Its writer is set before each call.
type Answer interface {
	// WriteTo sets the buffer for the answer.
	WriteTo(b *bytes.Buffer)
	// Begin writes the part before the first event.
	Begin()
	// AddRecords adds records of the log, up to the end of the answer.
	AddRecords(ctx context.Context, records []event.Record) error
	// Finish ends a turn whose log lacks its end.
	Finish(d *event.RunFinish)
	// Ended reports whether the answer is complete.
	Ended() bool
	// Fail writes why the stream ends early, and reports whether clients take that for the end of
	// the response; otherwise the connection is cut. The error is server.ErrDraining if the server
	// is shutting down.
	Fail(err error) (ended bool)
	// Leave is called when the stream ends early.
	Leave(ctx context.Context, err error)
}

// turnLog is the log of a turn that an answer follows.
type turnLog struct {
	*Request
	turnID string
	log    *service.Follower
}

// logOf returns the log of a turn, which is nil for an answer that follows no turn.
func (r *Request) logOf(turn *service.Turn) *turnLog {
	if turn == nil {
		return &turnLog{Request: r}
	}
	return &turnLog{r, turn.ID, r.Service.Follower(r.Caller, turn, 0, r.KeepAlive)}
}

// StreamTurn responds with an answer of a turn as server-sent events. The turn is nil for an answer
// that follows no turn.
func (r *Request) StreamTurn(turn *service.Turn, a Answer) {
	s := r.logOf(turn)
	server.ServeEvents(r.W, r.R, func(ctx context.Context, out *server.EventStream) {
		err := s.send(ctx, out, a)
		if err == nil {
			return
		}
		a.Leave(ctx, err)
		if errors.Is(err, server.ErrClientGone) {
			return
		}
		if errors.Is(context.Cause(ctx), server.ErrDraining) {
			err = server.ErrDraining
		}
		ended := false
		_ = out.Write(func(b *bytes.Buffer) error { // the client may be gone
			a.WriteTo(b)
			ended = a.Fail(err)
			return nil
		})
		if !ended {
			AbortStream(ctx, s.Logger, s.turnID, err)
		}
	})
}

// send sends the answer.
func (s *turnLog) send(ctx context.Context, out *server.EventStream, a Answer) error {
	err := out.Write(func(b *bytes.Buffer) error {
		a.WriteTo(b)
		a.Begin()
		return nil
	})
	if err != nil || a.Ended() {
		return err
	}
	for records, err := range s.log.Batches(ctx) {
		switch {
		case err != nil:
			return err
		case len(records) == 0:
			err = out.KeepAlive()
		default:
			err = out.Write(func(b *bytes.Buffer) error {
				a.WriteTo(b)
				return a.AddRecords(ctx, records)
			})
		}
		if err != nil || a.Ended() {
			return err
		}
	}
	return out.Write(func(b *bytes.Buffer) error {
		a.WriteTo(b)
		return s.finishAnswer(ctx, a)
	})
}

// finishAnswer ends an answer whose log has no end.
func (s *turnLog) finishAnswer(ctx context.Context, a Answer) error {
	turn, err := s.Service.GetTurn(ctx, s.Caller, s.turnID)
	if err == nil && turn.Outcome != nil {
		a.Finish(turn.Outcome.RunFinish())
	}
	return err
}

// AwaitTurn reads an answer of a turn to its end, for a non-streaming response.
func (r *Request) AwaitTurn(turn *service.Turn, a Answer) error {
	s, ctx := r.logOf(turn), r.Context()
	for records, err := range s.log.Batches(ctx) {
		if err == nil {
			err = a.AddRecords(ctx, records)
		}
		if err != nil {
			a.Leave(ctx, err)
		}
		if err != nil || a.Ended() {
			return err
		}
	}
	return s.finishAnswer(ctx, a)
}

// WriteFrame writes a value as the data of a stream event.
func WriteFrame(b *bytes.Buffer, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		return // not reached: surfaces write encodable values
	}
	b.WriteString("data: ")
	b.Write(data)
	b.WriteString("\n\n")
}
