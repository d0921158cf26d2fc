package service

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
)

// turnRights are the rights of the caller that created a turn.
type turnRights struct {
	// Known distinguishes these rights from those of turns that were stored without any.
	Known       bool     `json:"known,omitempty"`
	Agents      []string `json:"agents,omitzero"`
	Scopes      []string `json:"scopes,omitzero"`
	ExtraScopes []string `json:"extra_scopes,omitzero"`
}

func rightsOf(c Caller) turnRights {
	r := turnRights{Known: true, Scopes: c.Scopes, ExtraScopes: c.ExtraScopes}
	if c.Agents != nil {
		r.Agents = append([]string{}, c.Agents.sources()...)
	}
	return r
}

// TurnCaller returns the caller that created a live turn, with its rights, and the turn's depth.
// Turns of delegates, and turns stored by earlier versions, are not found.
func (s *Turns) TurnCaller(ctx context.Context, id string) (caller Caller, depth int, err error) {
	t, err := s.settings.Store.Turn(ctx, store.Everything, id)
	if err != nil {
		return Caller{}, 0, nameNotFound(err, "turn", id)
	}
	asked, err := decodeRequest(t)
	if err != nil {
		return Caller{}, 0, err
	}
	if !asked.Rights.Known || !t.Status.Live() {
		return Caller{}, 0, nameNotFound(store.ErrNotFound, "turn", id)
	}
	r := &asked.Rights
	return Caller{Tenant: t.Owner.Tenant, Subject: t.Owner.Subject, Agents: NewAgentSet(r.Agents), Scopes: r.Scopes, ExtraScopes: r.ExtraScopes}, asked.Depth, nil
}
