package agents

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service"
)

// Chunks returns the chunks of the turn.
func (r *storedRun) Chunks(ctx context.Context, w service.Waiter) iter.Seq2[*wire.Chunk, error] {
	return func(yield func(*wire.Chunk, error) bool) {
		going, err := r.yieldEvents(ctx, w, yield)
		if err == nil && going {
			err = r.yieldEnd(ctx, yield)
		}
		if err != nil && going {
			yield(nil, err)
		}
	}
}

// yieldEvents yields what happens in the turn until it ends or is interrupted. It is
// false when nobody wants more.
func (r *storedRun) yieldEvents(ctx context.Context, w service.Waiter, yield func(*wire.Chunk, error) bool) (going bool, err error) {
	var chunks chunker
	for records, err := range r.agent.service.Follower(r.agent.caller, r.turn, r.after, 0).Batches(ctx, w) {
		if err != nil {
			return true, err
		}
		waits := false
		for i := range records {
			chunk, err := chunks.next(&records[i])
			if err != nil {
				return true, err
			}
			if chunk != nil && !yield(chunk, nil) {
				return false, nil
			}
			waits = waits || records[i].Type == event.TypeRunWaiting
		}
		if !waits {
			continue
		}
		if t, err := r.agent.service.GetTurn(ctx, r.agent.caller, r.turn.ID); err != nil || t.Status == service.Waiting {
			return true, err
		}
	}
	return true, nil
}

// yieldEnd yields what interrupted the turn, if anything did, and its end.
func (r *storedRun) yieldEnd(ctx context.Context, yield func(*wire.Chunk, error) bool) error {
	t, err := r.agent.service.GetTurn(ctx, r.agent.caller, r.turn.ID)
	if err != nil {
		return err
	}
	output, err := r.settle(ctx, t)
	if err != nil {
		return err
	}
	if t.Status == service.Waiting && !yield(&wire.Chunk{ModelChunk: &wire.ModelChunk{Role: wire.RoleTool, Content: output.Message.Content}}, nil) {
		return nil
	}
	yield(&wire.Chunk{TurnEnd: turnEnd(output)}, nil)
	return nil
}

// chunker converts events to chunks.
type chunker struct{ index int }

// next returns the chunk of an event, or nil.
func (k *chunker) next(record *event.Record) (*wire.Chunk, error) {
	switch record.Type {
	case event.TypeTextDelta, event.TypeReasoningDelta, event.TypeToolCallReady, event.TypeToolCallDone, event.TypeCustomPatch:
	case event.TypeInferenceComplete:
		k.index++
		return nil, nil //nolint:nilnil // it has no chunk
	default:
		return nil, nil //nolint:nilnil // it has no chunk
	}
	ev, err := record.Event()
	if err != nil {
		return nil, err
	}
	index := k.index
	switch d := ev.Data.(type) {
	case *event.TextDelta:
		return pieceOf(wire.RoleModel, index, wire.NewTextPart(d.Delta)), nil
	case *event.ReasoningDelta:
		return pieceOf(wire.RoleModel, index, wire.Part{Reasoning: &d.Delta}), nil
	case *event.ToolCallReady:
		return pieceOf(wire.RoleModel, index, wire.Part{ToolRequest: &wire.ToolRequest{Name: d.Name, Ref: d.ID, Input: d.Arguments}}), nil
	case *event.ToolCallDone:
		if d.Outcome == event.CallSuspended {
			return nil, nil //nolint:nilnil // the interruption shows it
		}
		output, err := json.Marshal(d.Result)
		if err != nil {
			return nil, err
		}
		return pieceOf(wire.RoleTool, index, wire.Part{ToolResponse: &wire.ToolResponse{Name: d.Name, Ref: d.ID, Output: output}}), nil
	case *event.CustomPatch:
		chunk := &wire.Chunk{}
		for _, op := range d.Patch {
			chunk.CustomPatch = append(chunk.CustomPatch, wire.PatchOp{Op: op.Op, Path: op.Path, Value: op.Value})
		}
		return chunk, nil
	}
	return nil, nil //nolint:nilnil // it has no chunk
}

func pieceOf(role wire.Role, index int, part wire.Part) *wire.Chunk {
	return &wire.Chunk{ModelChunk: &wire.ModelChunk{Role: role, Index: &index, Content: []wire.Part{part}}}
}
