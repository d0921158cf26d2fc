package agents

import (
	"context"
	"iter"
	"slices"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
)

// Chunks returns the chunks of the turn.
func (r *storedRun) Chunks(ctx context.Context) iter.Seq2[*wire.Chunk, error] {
	return func(yield func(*wire.Chunk, error) bool) {
		going, err := r.yieldEvents(ctx, yield)
		if err == nil && going {
			err = r.yieldEnd(ctx, yield)
		}
		if err != nil && going {
			yield(nil, err)
		}
	}
}

// yieldEvents yields the turn's events until it ends or is interrupted. It returns false if the
// consumer stopped.
func (r *storedRun) yieldEvents(ctx context.Context, yield func(*wire.Chunk, error) bool) (going bool, err error) {
	chunks := chunker{definition: r.agent.definition, artifact: r.agent.readArtifact}
	for records, err := range r.agent.service.Follower(r.agent.caller, r.turn, r.after, 0).Batches(ctx) {
		if err != nil {
			return true, err
		}
		waits := false
		for i := range records {
			chunk, err := chunks.next(ctx, &records[i])
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

// yieldEnd yields the turn's interruption, if any, and its end.
func (r *storedRun) yieldEnd(ctx context.Context, yield func(*wire.Chunk, error) bool) error {
	t, err := r.agent.service.GetTurn(ctx, r.agent.caller, r.turn.ID)
	if err != nil {
		return err
	}
	output, err := r.settle(ctx, t)
	if err != nil {
		return err
	}
	return yieldOutput(ctx, r.agent.definition, output, yield)
}

// chunker converts a turn's events to the chunks that callers see.
type chunker struct {
	definition *definition
	// artifact returns an artifact by its id.
	artifact func(ctx context.Context, id string) (wire.Artifact, error)
	// index is the current message's index, and message its shown part.
	index   int
	message saidMessage
	custom  shownCustom
}

// next returns the chunk of a record, or nil.
func (k *chunker) next(ctx context.Context, record *event.Record) (*wire.Chunk, error) {
	switch record.Type {
	case event.TypeRunStart, event.TypeStepStart, event.TypeStreamReset:
		k.message.restart()
		return nil, nil //nolint:nilnil // it has no chunk
	case event.TypeInferenceComplete, event.TypeTextDelta, event.TypeReasoningDelta, event.TypeToolCallReady, event.TypeToolCallDone, event.TypeCustomPatch, event.TypeArtifact:
	default:
		return nil, nil //nolint:nilnil // it has no chunk
	}
	ev, err := record.Event()
	if err != nil {
		return nil, err
	}
	return k.convert(ctx, ev.Data)
}

// convert returns the chunk of an event, or nil.
func (k *chunker) convert(ctx context.Context, data event.Data) (*wire.Chunk, error) {
	chunk, err := k.plainChunk(ctx, data)
	if err != nil || chunk == nil {
		return nil, err
	}
	return k.definition.shownChunk(ctx, chunk)
}

// plainChunk returns the chunk of an event before the transform of chunks, or nil.
func (k *chunker) plainChunk(ctx context.Context, data event.Data) (*wire.Chunk, error) {
	switch d := data.(type) {
	case *event.RunStart, *event.StepStart, *event.StreamReset:
		k.message.restart()
	case *event.InferenceComplete:
		return k.endMessage(), nil
	case *event.TextDelta:
		return k.pieceChunk(d.Delta, ""), nil
	case *event.ReasoningDelta:
		return k.pieceChunk("", d.Delta), nil
	case *event.ToolCallReady:
		if slices.Contains(k.message.refs, d.ID) {
			return nil, nil //nolint:nilnil // it was shown
		}
		k.message.refs = append(k.message.refs, d.ID)
		return newModelChunk(wire.RoleModel, k.index, wire.Part{ToolRequest: &wire.ToolRequest{Name: d.Name, Ref: d.ID, Input: d.Arguments}}), nil
	case *event.ToolCallDone:
		if d.Outcome == event.CallSuspended {
			return nil, nil //nolint:nilnil // the interruption shows it
		}
		return toolChunk(k.index, d), nil
	case *event.CustomPatch:
		patch, err := k.custom.show(ctx, k.definition, toPatch(d.Patch))
		if err != nil || len(patch) == 0 {
			return nil, err
		}
		return &wire.Chunk{CustomPatch: patch}, nil
	case *event.Artifact:
		artifact, err := k.artifact(ctx, d.ID)
		if err != nil {
			return nil, err
		}
		return &wire.Chunk{Artifact: &artifact}, nil
	}
	return nil, nil //nolint:nilnil // it has no chunk
}

// pieceChunk returns the chunk for a piece of the current message, or nil if it was already
// shown. A repeated message that differs from the shown text gets a new index.
func (k *chunker) pieceChunk(text, reasoning string) *wire.Chunk {
	parts, same := k.message.add(text, reasoning)
	if !same {
		k.index++
	}
	if len(parts) == 0 {
		return nil
	}
	return newModelChunk(wire.RoleModel, k.index, parts...)
}

// endMessage ends the current message. It returns a chunk if more was shown than the
// message has.
func (k *chunker) endMessage() *wire.Chunk {
	parts := k.message.end()
	if k.index++; len(parts) == 0 {
		return nil
	}
	k.index++
	return newModelChunk(wire.RoleModel, k.index-1, parts...)
}

// toolChunk returns the chunk of a tool's result.
func toolChunk(index int, d *event.ToolCallDone) *wire.Chunk {
	result := &model.ToolResult{CallID: d.ID, Name: d.Name, IsError: d.Result.IsError}
	for i := range d.Result.Content {
		c := &d.Result.Content[i]
		part := model.Text(c.Text)
		if c.MediaType != "" || c.URI != "" || len(c.Data) > 0 {
			part.Type, part.Blob = model.PartFile, &model.Blob{MediaType: c.MediaType, Data: c.Data, URI: c.URI, Name: c.Name}
		}
		result.Content = append(result.Content, part)
	}
	return newModelChunk(wire.RoleTool, index, fromToolResult(result))
}

// newModelChunk returns a chunk with a piece of a message.
func newModelChunk(role wire.Role, index int, parts ...wire.Part) *wire.Chunk {
	return &wire.Chunk{ModelChunk: &wire.ModelChunk{Role: role, Index: &index, Content: parts}}
}

// yieldOutput yields a turn's interruption, if any, and its end.
func yieldOutput(ctx context.Context, d *definition, output *wire.Output, yield func(*wire.Chunk, error) bool) error {
	if output.FinishReason == wire.FinishInterrupted && output.Message != nil {
		chunk, err := d.shownChunk(ctx, &wire.Chunk{ModelChunk: &wire.ModelChunk{Role: wire.RoleTool, Content: slices.Clone(output.Message.Content)}})
		if err != nil || chunk != nil && !yield(chunk, nil) {
			return err
		}
	}
	chunk, err := d.shownChunk(ctx, &wire.Chunk{TurnEnd: turnEnd(output)})
	if err == nil && chunk != nil {
		yield(chunk, nil)
	}
	return err
}
