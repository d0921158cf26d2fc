package service

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/service/internal/work"
	"github.com/agentruntime/agentruntime/store"
)

// encodeRequest returns the stored form of a turn's request.
func (s *Turns) encodeRequest(ctx context.Context, turnID string, req CreateTurn, session *store.Session) (json.RawMessage, error) {
	stored := storedRequest{
		CreateTurn: req, InputCount: len(req.Before) + len(req.Input), BeforeCount: len(req.Before),
		SessionContext: contextOf(session), Workspace: recordOf(session), Follow: followOf(&req), Rights: req.rights, Trace: make(http.Header),
	}
	stored.SessionID, stored.ID, stored.AgentID, stored.Input, stored.Before, stored.Metadata, stored.IdempotencyKey = "", "", "", nil, nil, nil, ""
	stored.Limits, stored.Deadline = nil, time.Time{} // now part of the overrides
	telemetry.Inject(ctx, stored.Trace)
	var err error
	if stored.Ephemeral, stored.SealedTools, err = s.sealTools(turnID, req.Ephemeral); err != nil {
		return nil, err
	}
	data, err := json.Marshal(&stored)
	if err != nil {
		return nil, &InvalidError{"overrides", err.Error()}
	}
	return data, nil
}

// readOrder returns the work for a claimed turn: from its beginning, or from its stored state.
func (s *Turns) readOrder(c *store.Claimed, conversation [][]byte) (*work.Order, error) {
	asked, err := decodeRequest(&c.Turn)
	if err != nil {
		return nil, err
	}
	own, err := work.DecodeMessages(c.Messages)
	if err != nil {
		return nil, err
	}
	if asked.InputCount > len(own) || asked.BeforeCount > asked.InputCount {
		return nil, fmt.Errorf("the turn has %d messages, but an input of %d after %d others", len(own), asked.InputCount, asked.BeforeCount)
	}
	req := &runtime.Request{
		AgentID: c.Turn.AgentID, TurnID: c.Turn.ID, SessionID: c.Turn.SessionID, Input: own[asked.BeforeCount:asked.InputCount], Idle: asked.Task == TaskNothing, DelegateEvents: true,
		Params: asked.Params, Overrides: asked.Overrides, Variables: asked.Variables, Depth: asked.Depth, Tenant: c.Turn.Owner.Tenant,
		TenantVariables: s.variables.LoginsOf(c.Turn.Owner.Tenant, c.Turn.Owner.Subject),
		Persistence: runtime.Persistence{
			Indeterminate: s.settings.Indeterminate, SnapshotID: c.Turn.SnapshotID, ParentSnapshotID: c.Turn.ParentSnapshotID,
			ShowCustom: s.customOf(c.Turn.ID),
		},
	}
	if req.Workspace, err = s.workspaces.openWorkspace(asked.Workspace); err != nil {
		return nil, &work.WorkspaceError{Err: err}
	}
	if err := restoreSession(req, c.Snapshot, conversation); err != nil {
		return nil, err
	}
	if len(asked.Custom) > 0 {
		req.Custom = asked.Custom
	}
	if asked.TextHistory {
		req.History = model.Spoken(req.History)
	}
	req.History = slices.Concat(contextMessages(asked.SessionContext), req.History, own[:asked.BeforeCount])
	order := &work.Order{
		Request: req, Trace: asked.Trace, Revision: asked.Revision, Added: len(own) - asked.InputCount,
		Patience: cmp.Or(asked.InteractionTimeout, s.settings.InteractionTimeout),
		Agent:    s.currentAgent(asked.Follow, c.Turn.AgentID, &c.Session, c.Snapshot),
	}
	if asked.Ephemeral != nil {
		req.Ephemeral = &resolve.Ephemeral{Agent: &asked.Ephemeral.Agent, Call: asked.Ephemeral.Call}
		order.MakeTools = func(ctx context.Context) (context.Context, func(), error) {
			return s.makeTools(ctx, c.Turn.ID, asked, req.Ephemeral)
		}
	}
	if len(c.State) == 0 {
		return order, nil
	}
	if req.State, err = restoreState(c, own[asked.InputCount:]); err != nil {
		return nil, err
	}
	req.Answers, err = unappliedAnswers(req.State, c.Interactions)
	return order, err
}

// contextMessages returns the message that precedes every turn of a session as a slice.
func contextMessages(m *model.Message) []model.Message {
	if m == nil {
		return nil
	}
	return []model.Message{*m}
}

// customOf returns a function that converts the application's state for followers of a turn; nil
// leaves it unchanged.
func (s *Turns) customOf(turnID string) func(json.RawMessage) (json.RawMessage, error) {
	if s.settings.StateTransform == nil {
		return nil
	}
	return func(custom json.RawMessage) (json.RawMessage, error) {
		return s.snapshots.shownCustom(s.ctx, turnID, custom)
	}
}

// restoreSession fills a request with the state of the session.
func restoreSession(req *runtime.Request, kept *store.Snapshot, conversation [][]byte) (err error) {
	if kept == nil {
		return nil
	}
	if req.History, err = work.DecodeMessages(conversation); err != nil {
		return err
	}
	req.Custom = kept.Custom
	if len(kept.State) > 0 {
		if err := json.Unmarshal(kept.State, &req.Session); err != nil {
			return fmt.Errorf("read the state of session %s: %w", req.SessionID, err)
		}
	}
	if len(kept.Artifacts) > 0 {
		if err := json.Unmarshal(kept.Artifacts, &req.Artifacts); err != nil {
			return fmt.Errorf("read the artifacts of session %s: %w", req.SessionID, err)
		}
	}
	return nil
}

// restoreState returns the last committed state, plus the messages recorded since.
func restoreState(c *store.Claimed, added []model.Message) (*backend.State, error) {
	journal := make([]backend.Recorded, len(c.Journal))
	for i := range c.Journal {
		if err := json.Unmarshal(c.Journal[i].Entry, &journal[i].Entry); err != nil {
			return nil, fmt.Errorf("read the journal of the turn: %w", err)
		}
		if len(c.Journal[i].Result) == 0 {
			continue
		}
		if err := json.Unmarshal(c.Journal[i].Result, &journal[i].Result); err != nil {
			return nil, fmt.Errorf("read the journal of the turn: %w", err)
		}
	}
	return backend.RestoreState(c.State, added, journal)
}

// unappliedAnswers returns the answers that the state does not have yet.
func unappliedAnswers(state *backend.State, interactions []*store.Interaction) ([]interaction.Answer, error) {
	open := make(map[string]bool)
	for _, t := range state.Interactions() {
		open[t.ID] = true
	}
	var list []interaction.Answer
	for _, i := range interactions {
		if !open[i.ID] || i.State != store.InteractionAnswered {
			continue
		}
		var r interaction.Answer
		if err := json.Unmarshal(i.Answer, &r); err != nil {
			return nil, fmt.Errorf("read the answer to interaction %s: %w", i.ID, err)
		}
		list = append(list, r)
	}
	return list, nil
}
