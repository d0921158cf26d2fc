package agents

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/runtime"
)

// shownState returns the state that callers see; nil if it is hidden. It takes ownership of the
// state.
func (d *definition) shownState(ctx context.Context, state *wire.SessionState) (_ *wire.SessionState, err error) {
	if d == nil || d.showState == nil || state == nil {
		return state, nil
	}
	defer panics.Recover(&err)
	return d.showState(ctx, state)
}

// shownChunk returns the chunk that callers see; nil if it is hidden. It takes ownership of the
// chunk.
func (d *definition) shownChunk(ctx context.Context, chunk *wire.Chunk) (_ *wire.Chunk, err error) {
	if d == nil || d.showChunk == nil {
		return chunk, nil
	}
	defer panics.Recover(&err)
	return d.showChunk(ctx, chunk)
}

// shownCustom is the custom state as the caller of a turn has seen it so far.
type shownCustom struct {
	// raw is the state, and shown the caller's version of it; begun is set once the caller has
	// one.
	raw, shown json.RawMessage
	begun      bool
}

// show returns the patch that shows a change; empty if the change is hidden.
func (c *shownCustom) show(ctx context.Context, d *definition, patch []wire.PatchOp) ([]wire.PatchOp, error) {
	if d == nil || d.showState == nil {
		return patch, nil
	}
	var err error
	if c.raw, err = ApplyPatch(c.raw, patch); err != nil {
		return nil, err
	}
	state, err := d.shownState(ctx, &wire.SessionState{Custom: c.raw})
	if err != nil || state == nil {
		return nil, err
	}
	before, begun := c.shown, c.begun
	c.shown, c.begun = state.Custom, true
	if !begun {
		return []wire.PatchOp{{Op: "replace", Value: state.Custom}}, nil
	}
	return toPatch(runtime.DiffCustom(before, state.Custom)), nil
}
