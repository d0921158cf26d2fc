package sqlstore

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
)

// InteractionColumns are the columns of an interaction, in the order of InteractionFields.
const InteractionColumns = "turn_id, id, session_id, tenant, subject, state, action, request, resolution, resolved_by, created_at, expires_at, resolved_at"

// InteractionFields returns the scan destinations of an interaction.
func InteractionFields(i *store.Interaction) []any {
	return []any{
		&i.TurnID, &i.ID, &i.SessionID, &i.Owner.Tenant, &i.Owner.Subject, (*string)(&i.State), &i.Action, (*[]byte)(&i.Request), (*[]byte)(&i.Answer), &i.AnsweredBy,
		(*Time)(&i.CreatedAt), (*Time)(&i.ExpiresAt), (*Time)(&i.AnsweredAt),
	}
}

// Interaction returns an interaction.
func (r *turnRecords) Interaction(ctx context.Context, scope store.Scope, turnID, id string) (*store.Interaction, error) {
	found, err := findInteraction(ctx, r.db.Reader, scope, turnID, id)
	return found, r.db.WrapError("read interaction", id+" of turn "+turnID, err)
}

// findInteraction returns an interaction that the scope sees.
func findInteraction(ctx context.Context, s Session, scope store.Scope, turnID, id string) (*store.Interaction, error) {
	return findVisible(ctx, s, scope, func(i *store.Interaction) *store.Owner { return &i.Owner }, InteractionFields,
		"SELECT "+InteractionColumns+" FROM interactions WHERE turn_id = $1 AND id = $2", turnID, id)
}

// Interactions returns interactions, oldest first.
func (r *turnRecords) Interactions(ctx context.Context, q store.InteractionQuery) ([]*store.Interaction, error) {
	f := r.dialect.newFilter("SELECT " + InteractionColumns + ", (SELECT agent_id FROM turns t WHERE t.id = interactions.turn_id) FROM interactions")
	f.Scope(q.Scope)
	f.equals("turn_id", q.TurnID)
	f.equals("session_id", q.SessionID)
	f.equalsLiteral("state", string(q.State), string(store.InteractionPending))
	if !q.ExpiredBy.IsZero() {
		f.where("expires_at <= " + f.Time(q.ExpiredBy) + " AND " + r.dialect.isSet("expires_at"))
	}
	fields := func(i *store.Interaction) []any { return append(InteractionFields(i), &i.AgentID) }
	list, err := CollectRecords(ctx, r.db.Reader, fields, f.statement("ORDER BY created_at, n "+f.limit(limitOf(q.Limit))), f.args...)
	return list, r.db.WrapError("list interactions", q.TurnID, err)
}
