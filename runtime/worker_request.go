package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/store"
)

// request returns what the runtime is asked for: the turn from its beginning, or
// from where its state says.
func (w *worker) request(conversation [][]byte) (*Request, error) {
	s, c := w.service, w.claimed
	asked := &w.asked
	if err := json.Unmarshal(w.turn.Request, asked); err != nil {
		return nil, fmt.Errorf("read what the turn was asked for: %w", err)
	}
	own, err := decodeMessages(c.Messages)
	if err != nil {
		return nil, err
	}
	w.log.patience = cmp.Or(asked.InteractionTimeout.Std(), s.InteractionTimeout)
	if asked.Input > len(own) || asked.Before > asked.Input {
		return nil, fmt.Errorf("the turn has %d messages, but an input of %d with %d ahead of it", len(own), asked.Input, asked.Before)
	}
	req := &Request{
		AgentID: w.turn.AgentID, TurnID: w.turn.ID, SessionID: w.turn.SessionID, Input: own[asked.Before:asked.Input],
		Params: asked.Params, Overrides: asked.Overrides, Depth: asked.Depth, Checkpoint: w.checkpoint,
		Journal: w.log, Indeterminate: s.Indeterminate,
		SnapshotID: w.turn.SnapshotID, ParentSnapshotID: w.turn.ParentSnapshotID,
	}
	if err := w.history(req, conversation); err != nil {
		return nil, err
	}
	if asked.TextHistory {
		req.History = model.Spoken(req.History)
	}
	req.History = slices.Concat(req.History, own[:asked.Before])
	w.log.messages = len(own) - asked.Input
	if len(c.State) == 0 {
		return req, nil
	}
	if req.State, err = restored(c, own[asked.Input:]); err != nil {
		return nil, err
	}
	w.log.inDoubt = inDoubt(req.State)
	req.Resolutions, err = answers(req.State, c.Interactions)
	return req, err
}

// conversation reads what was said in the session before the turn.
func (w *worker) conversation(ctx context.Context) ([][]byte, error) {
	if w.claimed.Snapshot == nil {
		return nil, nil
	}
	return w.service.Store.Conversation(ctx, w.claimed.Snapshot.ID)
}

// history gives the request what the session has come to.
func (w *worker) history(req *Request, conversation [][]byte) (err error) {
	kept := w.claimed.Snapshot
	if kept == nil {
		return nil
	}
	if req.History, err = decodeMessages(conversation); err != nil {
		return err
	}
	req.Custom = kept.Custom
	if len(kept.State) > 0 {
		if err := json.Unmarshal(kept.State, &req.Session); err != nil {
			return fmt.Errorf("read the state of session %s: %w", w.turn.SessionID, err)
		}
	}
	if len(kept.Artifacts) > 0 {
		if err := json.Unmarshal(kept.Artifacts, &req.Artifacts); err != nil {
			return fmt.Errorf("read the artifacts of session %s: %w", w.turn.SessionID, err)
		}
	}
	return nil
}

// restored returns the state that was committed last, with what was recorded
// since.
func restored(c *store.Claimed, added []model.Message) (*backend.State, error) {
	state := new(backend.State)
	if err := json.Unmarshal(c.State, state); err != nil {
		return nil, fmt.Errorf("read the state of the turn: %w", err)
	}
	state.Messages = added
	entries := make([]backend.JournalEntry, len(c.Journal))
	state.Journal = make([]backend.JournalEntry, len(c.Journal))
	for i := range c.Journal {
		if err := json.Unmarshal(c.Journal[i].Entry, &entries[i]); err != nil {
			return nil, fmt.Errorf("read the journal of the turn: %w", err)
		}
		state.Journal[i] = entries[i]
		state.Journal[i].After = nil
	}
	for i := range c.Journal {
		var result *model.ToolResult
		if len(c.Journal[i].Result) > 0 {
			result = new(model.ToolResult)
			if err := json.Unmarshal(c.Journal[i].Result, result); err != nil {
				return nil, fmt.Errorf("read the journal of the turn: %w", err)
			}
		}
		state.Record(entries[i], result)
	}
	return state, nil
}

// inDoubt returns the keys of the calls that the state has as begun and without an
// outcome. A journal may also have calls of a step of which nothing else was
// kept: those begin anew.
func inDoubt(state *backend.State) map[string]bool {
	open := make(map[string]bool)
	for i := range state.Calls {
		c := &state.Calls[i]
		open[c.ID] = c.Decided && c.Outcome == "" && c.Result == nil
	}
	keys := make(map[string]bool)
	for i := range state.Journal {
		if e := &state.Journal[i]; e.Outcome == "" && e.Step == state.Stats.Steps && open[e.CallID] {
			keys[e.IdempotencyKey] = true
		}
	}
	return keys
}

// answers returns the answers that the state does not have yet.
func answers(state *backend.State, interactions []*store.Interaction) ([]plugins.Resolution, error) {
	open := make(map[string]bool)
	for _, t := range state.Tickets() {
		open[t.ID] = true
	}
	var list []plugins.Resolution
	for _, i := range interactions {
		if !open[i.ID] || i.State != store.InteractionResolved {
			continue
		}
		var r plugins.Resolution
		if err := json.Unmarshal(i.Resolution, &r); err != nil {
			return nil, fmt.Errorf("read the answer to interaction %s: %w", i.ID, err)
		}
		list = append(list, r)
	}
	return list, nil
}
