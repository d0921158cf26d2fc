package service

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/store"
)

// ListModelRequests returns the stored model requests that led to a message of a turn, in the order
// in which they were sent: none unless Settings.KeepRequests is set, and none for callers without
// the scope config:read, because requests contain system prompts. Those of delegates that the
// caller may not use are left out. The error is a *NotFoundError for the turn.
func (s *Turns) ListModelRequests(ctx context.Context, caller Caller, turnID, messageID string) ([]*store.ModelRequest, error) {
	turn, err := s.readTurn(ctx, caller, turnID)
	if err != nil || !caller.HasScope(settings.ScopeConfigRead) {
		return nil, err
	}
	list, err := s.settings.Store.ModelRequests(ctx, turn.ID, messageID)
	return slices.DeleteFunc(list, func(r *store.ModelRequest) bool { return !caller.seesTurnsOf(r.AgentID) }), err
}
