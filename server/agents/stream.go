package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// sendFrame sends a frame. Clients cut the first six characters of what lies between
// two empty lines, so a frame is its data alone: without an id, a name or comments.
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

// streamTurn answers with the chunks of a turn, and its output at the end.
func (c *call) streamTurn(turn *runningTurn) {
	follower := c.settings.Service.Follower(c.caller, turn.Turn, turn.after, 0)
	server.ServeEvents(c.w, c.r, func(ctx context.Context, out *server.EventStream) {
		err := c.sendTurn(ctx, out, follower, turn)
		if err == nil || errors.Is(err, server.ErrClientGone) {
			return
		}
		failed := &wire.Error{Status: wire.StatusInternal, Message: wire.StatusInternal.Label()}
		if ctx.Err() == nil {
			c.settings.Logger.Error("stream failed", zap.String("request_id", server.RequestID(ctx)), zap.String("turn_id", turn.ID), zap.Error(err))
		} else {
			failed = &wire.Error{Status: wire.StatusUnavailable, Message: wire.StatusUnavailable.Label()}
		}
		_ = sendFrame(out, &wire.Frame{Error: failed}) // the client may be gone
	})
}

func (c *call) sendTurn(ctx context.Context, out *server.EventStream, follower *service.Follower, turn *runningTurn) error {
	var chunks chunker
	for records, err := range follower.Batches(ctx, out.Waiter()) {
		if err != nil {
			return err
		}
		waits := false
		for i := range records {
			chunk, err := chunks.next(&records[i])
			if err != nil {
				return err
			}
			if chunk != nil {
				if err := sendFrame(out, &wire.Frame{Message: chunk}); err != nil {
					return err
				}
			}
			waits = waits || records[i].Type == event.TypeRunWaiting
		}
		if !waits {
			continue
		}
		t, err := c.settings.Service.GetTurn(ctx, c.caller, turn.ID)
		if err != nil {
			return err
		}
		if t.Status == service.Waiting {
			break
		}
	}
	t, err := c.settings.Service.GetTurn(ctx, c.caller, turn.ID)
	if err != nil {
		return err
	}
	turn.Turn = t
	output, err := c.toOutput(ctx, turn)
	if err != nil {
		return err
	}
	if t.Status == service.Waiting {
		chunk := &wire.Chunk{ModelChunk: &wire.ModelChunk{Role: wire.RoleTool, Content: output.Message.Content}}
		if err := sendFrame(out, &wire.Frame{Message: chunk}); err != nil {
			return err
		}
	}
	end := &wire.TurnEnd{FinishReason: output.FinishReason}
	if output.Error == nil {
		end.SnapshotID = output.SnapshotID
	}
	if err := sendFrame(out, &wire.Frame{Message: &wire.Chunk{TurnEnd: end}}); err != nil {
		return err
	}
	return sendFrame(out, &wire.Frame{Result: output})
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
