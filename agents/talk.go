package agents

import (
	"context"
	"iter"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/service"
)

// Output is the result of a turn, including a failed one.
type Output[S any] struct {
	SessionID string
	// SnapshotID is the turn's snapshot, or the previous turn's if it failed; empty for a
	// client-managed agent, whose State is set.
	SnapshotID string
	State      *State[S]
	// Message and Artifacts are nil if the turn failed or was detached.
	Message      *wire.Message
	Artifacts    []wire.Artifact
	FinishReason wire.FinishReason
	// Error is why the turn failed; nil if it did not.
	Error *wire.Error
}

// Text returns the text of the message.
func (o *Output[S]) Text() string {
	if o.Message == nil {
		return ""
	}
	return o.Message.Text()
}

// Interrupts returns the open tool requests of an interrupted turn.
func (o *Output[S]) Interrupts() []wire.Part {
	if o.FinishReason != wire.FinishInterrupted || o.Message == nil {
		return nil
	}
	var list []wire.Part
	for i := range o.Message.Content {
		if o.Message.Content[i].ToolRequest != nil {
			list = append(list, o.Message.Content[i])
		}
	}
	return list
}

// decodeOutput returns an output with its state decoded, or the error of the output.
func decodeOutput[S any](in *wire.Output, err error) (*Output[S], error) {
	if err != nil {
		return nil, err
	}
	state, err := decodeState[S](in.State)
	if err != nil {
		return nil, err
	}
	return &Output[S]{
		SessionID: in.SessionID, SnapshotID: in.SnapshotID, State: state, Message: in.Message, Artifacts: in.Artifacts,
		FinishReason: in.FinishReason, Error: in.Error,
	}, nil
}

// Snapshot is a session's state after a turn.
type Snapshot[S any] struct {
	wire.Snapshot
	// State is the state of the session; nil while the turn is pending.
	State *State[S]
}

// Bind returns an agent of the custom state S over any handle: one of a Set, or of another
// server.
func Bind[S any](handle Handle) *Agent[S] {
	return &Agent[S]{definition: definition{name: handle.Name()}, handle: handle}
}

// As returns the agent for a caller. Without As, the caller is the operator.
func (a *Agent[S]) As(caller service.Caller) *Agent[S] {
	other := *a
	other.caller = &caller
	return &other
}

// Handle returns the agent without the type of its state.
func (a *Agent[S]) Handle() (Handle, error) {
	if a.handle != nil {
		return a.handle, nil
	}
	set := a.set.Load()
	if set == nil {
		return nil, newError(wire.StatusFailedPrecondition, "agent %q is part of no set: give it to NewSet", a.name)
	}
	caller := service.Operator()
	if a.caller != nil {
		caller = *a.caller
	}
	return set.Find(caller, a.name)
}

// open returns the handle, and the init of a source.
func (a *Agent[S]) open(source Source) (Handle, *wire.Init, error) {
	if source.err != nil {
		return nil, nil, source.err
	}
	handle, err := a.Handle()
	return handle, &source.init, err
}

// Connect opens a conversation for several turns.
func (a *Agent[S]) Connect(ctx context.Context, source Source) (*Conversation[S], error) {
	handle, init, err := a.open(source)
	if err != nil {
		return nil, err
	}
	talk, err := Open(ctx, handle, init)
	if err != nil {
		return nil, err
	}
	return &Conversation[S]{talk}, nil
}

// Run runs one turn. An error means a problem with the source; a failed turn is an output.
func (a *Agent[S]) Run(ctx context.Context, source Source, input *wire.Input) (*Output[S], error) {
	run, err := a.startTurn(ctx, source, input)
	if err != nil {
		return nil, err
	}
	return decodeOutput[S](run.Output(ctx))
}

// startTurn starts a turn.
func (a *Agent[S]) startTurn(ctx context.Context, source Source, input *wire.Input) (Run, error) {
	handle, init, err := a.open(source)
	if err != nil {
		return nil, err
	}
	return handle.Begin(ctx, init, input)
}

// RunText runs one turn with a user message.
func (a *Agent[S]) RunText(ctx context.Context, source Source, text string) (*Output[S], error) {
	return a.Run(ctx, source, Text(text))
}

// Piece is one piece of a stream: a chunk or, at the end, the output.
type Piece[S any] struct {
	Chunk  *wire.Chunk
	Output *Output[S]
}

// Stream runs one turn, and returns its chunks and then its output.
func (a *Agent[S]) Stream(ctx context.Context, source Source, input *wire.Input) iter.Seq2[*Piece[S], error] {
	return streamRun[S](ctx, func() (Run, error) { return a.startTurn(ctx, source, input) })
}

// StreamText is Stream with a user message.
func (a *Agent[S]) StreamText(ctx context.Context, source Source, text string) iter.Seq2[*Piece[S], error] {
	return a.Stream(ctx, source, Text(text))
}

// streamRun begins a run and returns its chunks and then its output.
func streamRun[S any](ctx context.Context, begin func() (Run, error)) iter.Seq2[*Piece[S], error] {
	return func(yield func(*Piece[S], error) bool) {
		run, err := begin()
		if err != nil {
			yield(nil, err)
			return
		}
		for chunk, err := range run.Chunks(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&Piece[S]{Chunk: chunk}, nil) {
				return
			}
		}
		output, err := decodeOutput[S](run.Output(ctx))
		if err != nil {
			yield(nil, err)
			return
		}
		yield(&Piece[S]{Output: output}, nil)
	}
}

// Detach starts a turn in the background and returns the id of its snapshot.
func (a *Agent[S]) Detach(ctx context.Context, source Source, input *wire.Input, o DetachOptions) (*Output[S], error) {
	handle, init, err := a.open(source)
	if err != nil {
		return nil, err
	}
	return decodeOutput[S](handle.Detach(ctx, init, input, o))
}

// Follow returns the chunks and the output of a turn, from its beginning, by the id of its
// snapshot.
func (a *Agent[S]) Follow(ctx context.Context, snapshotID string) iter.Seq2[*Piece[S], error] {
	return streamRun[S](ctx, func() (Run, error) {
		handle, err := a.Handle()
		if err != nil {
			return nil, err
		}
		return handle.Follow(ctx, snapshotID)
	})
}

// GetSnapshot returns a snapshot, LatestSnapshot a session's newest one, and WaitForSnapshot a
// snapshot once it is no longer pending.
func (a *Agent[S]) GetSnapshot(ctx context.Context, snapshotID string) (*Snapshot[S], error) {
	return a.readSnapshot(ctx, Handle.GetSnapshot, &wire.GetSnapshotRequest{SnapshotID: snapshotID})
}

// LatestSnapshot returns the newest snapshot of a session.
func (a *Agent[S]) LatestSnapshot(ctx context.Context, sessionID string) (*Snapshot[S], error) {
	return a.readSnapshot(ctx, Handle.GetSnapshot, &wire.GetSnapshotRequest{SessionID: sessionID})
}

// WaitForSnapshot returns a snapshot once it is no longer pending.
func (a *Agent[S]) WaitForSnapshot(ctx context.Context, snapshotID string) (*Snapshot[S], error) {
	return a.readSnapshot(ctx, Handle.WaitForSnapshot, &wire.GetSnapshotRequest{SnapshotID: snapshotID})
}

// readSnapshot returns the snapshot that a method of the handle reads.
func (a *Agent[S]) readSnapshot(ctx context.Context, read func(Handle, context.Context, *wire.GetSnapshotRequest) (*wire.Snapshot, error), request *wire.GetSnapshotRequest) (*Snapshot[S], error) {
	handle, err := a.Handle()
	if err != nil {
		return nil, err
	}
	kept, err := read(handle, ctx, request)
	if err != nil {
		return nil, err
	}
	out := &Snapshot[S]{Snapshot: *kept}
	out.State, err = decodeState[S](kept.State)
	return out, err
}

// Abort ends the turn of a snapshot, unless it has ended, and returns the resulting status.
func (a *Agent[S]) Abort(ctx context.Context, snapshotID string) (wire.SnapshotStatus, error) {
	handle, err := a.Handle()
	if err != nil {
		return "", err
	}
	response, err := handle.Abort(ctx, &wire.AbortRequest{SnapshotID: snapshotID})
	if err != nil {
		return "", err
	}
	return response.Status, nil
}

// Conversation is a Talk with custom state of type S.
type Conversation[S any] struct{ *Talk }

// Output waits until the current turn ends, is interrupted or is detached, and returns its
// output.
func (c *Conversation[S]) Output(ctx context.Context) (*Output[S], error) {
	return decodeOutput[S](c.Talk.Output(ctx))
}

// Detach moves the current turn to the background and ends the conversation. The output has the
// id of its snapshot.
func (c *Conversation[S]) Detach(ctx context.Context) (*Output[S], error) {
	return decodeOutput[S](c.Talk.Detach(ctx))
}

// Open opens a conversation for several turns with an agent of any type of state.
func Open(ctx context.Context, handle Handle, init *wire.Init) (*Talk, error) {
	connection, err := handle.Connect(ctx, init)
	if err != nil {
		return nil, err
	}
	return &Talk{connection: connection}, nil
}

// Talk is a conversation of several turns in one process. A failed turn is dropped: the next one
// continues from the turn before. It must be used by one goroutine.
type Talk struct {
	connection Connection
	// runs are the runs whose chunks were not read; the last is the current one.
	runs   []Run
	last   Run
	output *wire.Output
	over   bool
}

// SessionID returns the id of the session.
func (c *Talk) SessionID() string { return c.connection.SessionID() }

// errOver reports that a conversation was closed.
var errOver = newError(wire.StatusFailedPrecondition, "the conversation has ended: connect again")

// Send starts the next turn. If the previous turn is still running, Send waits for its end.
func (c *Talk) Send(ctx context.Context, input *wire.Input) error {
	if c.over {
		return errOver
	}
	if input.Detach {
		_, err := c.detach(ctx, input)
		return err
	}
	if err := c.finishLast(ctx); err != nil {
		return err
	}
	run, err := c.connection.Begin(ctx, input)
	if err != nil {
		return err
	}
	c.last, c.output = run, nil
	c.runs = append(c.runs, run)
	return nil
}

// SendText starts the next turn with a user message.
func (c *Talk) SendText(ctx context.Context, text string) error {
	return c.Send(ctx, Text(text))
}

// finishLast waits for the end of the current turn.
func (c *Talk) finishLast(ctx context.Context) (err error) {
	if c.last == nil || c.output != nil {
		return nil
	}
	if len(c.runs) > 0 && c.runs[len(c.runs)-1] == c.last {
		c.runs[len(c.runs)-1], err = recordRun(ctx, c.last)
		if err != nil {
			return err
		}
	}
	c.output, err = c.last.Output(ctx)
	return err
}

// Chunks returns the chunks of all turns that were not read yet, up to the end of the current one.
func (c *Talk) Chunks(ctx context.Context) iter.Seq2[*wire.Chunk, error] {
	return func(yield func(*wire.Chunk, error) bool) {
		for len(c.runs) > 0 {
			run := c.runs[0]
			c.runs = c.runs[1:]
			for chunk, err := range run.Chunks(ctx) {
				if !yield(chunk, err) || err != nil {
					return
				}
			}
		}
	}
}

// Output waits until the current turn ends, is interrupted or is detached, and returns its
// output.
func (c *Talk) Output(ctx context.Context) (*wire.Output, error) {
	if c.last == nil {
		return nil, newError(wire.StatusFailedPrecondition, "no turn was begun: send a message first")
	}
	if c.output == nil {
		var err error
		if c.output, err = c.last.Output(ctx); err != nil {
			return nil, err
		}
	}
	return c.output, nil
}

// Detach moves the current turn to the background and ends the conversation. The output has the
// id of its snapshot.
func (c *Talk) Detach(ctx context.Context) (*wire.Output, error) {
	return c.detach(ctx, &wire.Input{Detach: true})
}

// detach begins a detached turn, or detaches the current one if the input has nothing else.
func (c *Talk) detach(ctx context.Context, input *wire.Input) (*wire.Output, error) {
	if c.over {
		return nil, errOver
	}
	if input.Message == nil && input.Resume.IsEmpty() && c.last != nil && c.output == nil {
		output, err := c.connection.DetachRun(ctx, c.last)
		if err != nil {
			return nil, err
		}
		c.settle(output)
		return output, nil
	}
	if err := c.finishLast(ctx); err != nil {
		return nil, err
	}
	run, err := c.connection.Begin(ctx, input)
	if err != nil {
		return nil, err
	}
	output, err := run.Output(ctx)
	if err != nil {
		return nil, err
	}
	c.settle(output)
	return output, nil
}

// settle ends the conversation with an output, if it was detached.
func (c *Talk) settle(output *wire.Output) {
	c.last, c.output, c.runs = settledRun{output}, output, []Run{settledRun{output}}
	c.over = output.FinishReason == wire.FinishDetached
}

// recordRun reads a run's chunks for later readers. A run whose chunks can be read at any time is
// returned as is.
func recordRun(ctx context.Context, run Run) (Run, error) {
	switch run.(type) {
	case *clientRun, *ownedRun:
	default:
		return run, nil
	}
	kept := &recordedRun{Run: run}
	for chunk, err := range run.Chunks(ctx) {
		if err != nil {
			return run, err
		}
		kept.chunks = append(kept.chunks, chunk)
	}
	return kept, nil
}

// recordedRun is a run whose chunks were read.
type recordedRun struct {
	Run
	chunks []*wire.Chunk
}

// Chunks returns the chunks.
func (r *recordedRun) Chunks(context.Context) iter.Seq2[*wire.Chunk, error] {
	return func(yield func(*wire.Chunk, error) bool) {
		for _, chunk := range r.chunks {
			if !yield(chunk, nil) {
				return
			}
		}
	}
}
