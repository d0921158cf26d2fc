package openai

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// answer is a segment of a turn that a client waits for.
type answer struct {
	*Surface
	*fold
	caller service.Caller
	turn   *service.Turn
	log    *service.Follower
	// abandons is set if the turn ends with the request, for which alone it was made.
	abandons bool
	refusals map[string]bool
}

func (c *call) newAnswer(turn *service.Turn, record turnRecord, segment int) *answer {
	return &answer{
		Surface: c.Surface, caller: c.caller, turn: turn, fold: newFold(turn.ID, turn.AgentID, record, segment),
		log: c.settings.Service.Follower(c.caller, turn, 0, c.settings.KeepAlive), refusals: map[string]bool{},
	}
}

// wait returns the end of the segment.
func (a *answer) wait(ctx context.Context) (*ending, error) {
	for records, err := range a.log.Batches(ctx, nil) {
		if err == nil {
			err = a.addRecords(ctx, records)
		}
		if err != nil {
			a.abandon(ctx, err)
			return nil, err
		}
		if e := a.over(); e != nil {
			return e, nil
		}
	}
	return a.over(), a.addOutcome(ctx)
}

// addRecords adds records of the log up to the end of the segment, and refuses what the
// turn asks and the protocol has no place for.
func (a *answer) addRecords(ctx context.Context, records []event.Record) error {
	for i := range records {
		if err := a.apply(&records[i]); err != nil || a.over() != nil {
			return err
		}
	}
	for _, id := range a.refused {
		if a.refusals[id] {
			continue
		}
		a.refusals[id] = true
		refusal := interaction.Answer{Target: id, Action: interaction.Cancel, Reason: "nobody can be asked over chat completions: use the Responses API, or an agent that needs no approval"}
		if _, err := a.settings.Service.AnswerInteraction(ctx, a.caller, a.turn.ID, refusal); err != nil && !errors.As(err, new(*service.ConflictError)) {
			return err
		}
	}
	return nil
}

// addOutcome ends a turn whose log is not kept to its end.
func (a *answer) addOutcome(ctx context.Context) error {
	turn, err := a.settings.Service.GetTurn(ctx, a.caller, a.turn.ID)
	if err == nil && turn.Outcome != nil && a.over() == nil {
		a.finish(turn.Outcome.RunFinish())
	}
	return err
}

// writer is a sink that writes a stream.
type writer interface {
	sink
	// writeTo sets where the sink writes.
	writeTo(b *bytes.Buffer)
	// fail writes why the stream ends early.
	fail(err *requestError)
}

// stream answers with the segment as server-sent events.
func (a *answer) stream(c *call, w writer) {
	a.sink = w
	logger, id := c.settings.Logger, a.turn.ID
	describe := func(err error) *requestError { return c.describeError(c.r, err) }
	server.ServeEvents(c.w, c.r, func(ctx context.Context, out *server.EventStream) {
		err := a.send(ctx, out, w)
		if err == nil {
			return
		}
		a.abandon(ctx, err)
		if errors.Is(err, server.ErrClientGone) {
			return
		}
		if !errors.Is(context.Cause(ctx), server.ErrDraining) {
			_ = out.Write(func(b *bytes.Buffer) error { // the client may be gone
				w.writeTo(b)
				w.fail(describe(err))
				return nil
			})
		}
		surfacekit.AbortStream(ctx, logger, id, err)
	})
}

// send sends the segment.
func (a *answer) send(ctx context.Context, out *server.EventStream, w writer) error {
	for records, err := range a.log.Batches(ctx, out.Waiter()) {
		switch {
		case err != nil:
			return err
		case len(records) == 0:
			err = out.KeepAlive()
		default:
			err = out.Write(func(b *bytes.Buffer) error {
				w.writeTo(b)
				return a.addRecords(ctx, records)
			})
		}
		if err != nil || a.over() != nil {
			return err
		}
	}
	return out.Write(func(b *bytes.Buffer) error {
		w.writeTo(b)
		return a.addOutcome(ctx)
	})
}

// cancelTime bounds how long it takes to cancel an abandoned turn.
const cancelTime = 10 * time.Second

// abandon cancels the turn if its client is gone, unless the turn waits for the client or
// goes on without it. A server that shuts down leaves it to the next one.
func (a *answer) abandon(ctx context.Context, err error) {
	if !a.abandons || errors.Is(context.Cause(ctx), server.ErrDraining) || ctx.Err() == nil && !errors.Is(err, server.ErrClientGone) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	turn, err := a.settings.Service.GetTurn(ctx, a.caller, a.turn.ID)
	if err == nil && turn.Status != service.Waiting && turn.Status.Live() {
		_, _ = a.settings.Service.CancelTurn(ctx, a.caller, turn.ID, "the client is gone") // it ends by itself otherwise
	}
}
