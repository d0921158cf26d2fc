package sqlstore

import (
	"bytes"
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// EndTurn ends a live turn from outside.
func (r *turnRecords) EndTurn(ctx context.Context, e *store.EndTurn) (*store.Turn, error) {
	if err := e.CheckText(); err != nil {
		return nil, err
	}
	return transact(ctx, r.core, "end turn", e.TurnID, func(ctx context.Context, s Session) (*store.Turn, error) {
		t, err := r.lockTurn(ctx, s, e.Scope, e.TurnID)
		if err != nil || !t.Status.Live() {
			return t, err
		}
		return t, r.endTurn(ctx, s, t, e)
	})
}

// lockTurn locks a turn that the scope sees, after its session and the room of its tenant.
func (r *turnRecords) lockTurn(ctx context.Context, s Session, scope store.Scope, id string) (*store.Turn, error) {
	if r.db.LockSession != nil {
		if err := r.db.LockSession(ctx, s, id); err != nil {
			return nil, err
		}
	}
	return FindTurn(ctx, s, scope, id, r.dialect.forUpdate)
}

// endTurn puts a turn into its final state and admits the turns that now have room.
func (r *turnRecords) endTurn(ctx context.Context, s Session, t *store.Turn, e *store.EndTurn) error {
	at := Truncate(e.Now)
	t.Status, t.Result, t.FinishedAt, t.UpdatedAt, t.ChangedAt = e.Status, bytes.Clone(e.Result), at, at, at
	t.Seq, t.Fence, t.Worker, t.LeaseUntil, t.Admitted = t.Seq+1, t.Fence+1, "", time.Time{}, false
	if err := r.insertLast(ctx, s, t, e); err != nil {
		return err
	}
	_, err := s.Exec(ctx, `UPDATE turns SET status = $1, result = $2, seq = $3, fence = $4, worker = '', lease_until = $5, admitted = FALSE,
		finished_at = $6, updated_at = $6, changed_at = $6 WHERE id = $7`, string(t.Status), []byte(t.Result), int64(t.Seq), t.Fence, Time{}, Time(at), t.ID)
	if err == nil {
		_, err = s.Exec(ctx, "UPDATE interactions SET state = 'canceled', resolved_at = $1 WHERE turn_id = $2 AND state = 'pending'", Time(at), t.ID)
	}
	if err == nil {
		_, err = s.Exec(ctx, "DELETE FROM turn_states WHERE turn_id = $1", t.ID)
	}
	if err == nil {
		_, err = s.Exec(ctx, "UPDATE sessions SET active_at = $1 WHERE id = $2 AND active_at < $1", Time(at), t.SessionID)
	}
	if err != nil {
		return err
	}
	if err := r.db.MakeRoom(ctx, s, t.Owner.Tenant, t.SessionID, e.Now); err != nil {
		return err
	}
	return r.AddUsage(ctx, s, &rules.EndedTurn{Tenant: t.Owner.Tenant, AgentID: t.AgentID, Status: t.Status, StartedAt: t.StartedAt, EndedAt: at, Agents: e.Agents})
}

// insertLast stores the terminal event of a turn.
func (r *turnRecords) insertLast(ctx context.Context, s Session, t *store.Turn, e *store.EndTurn) error {
	var path any
	if text := e.Event.PathText(); text != "" {
		path = text
	}
	columns, values := "turn_id, seq, at, type, data, path", "$1, $2, $3, $4, $5, $6"
	args := []any{t.ID, int64(t.Seq), Time(e.Event.Time), string(e.Event.Type), []byte(e.Event.Data), path}
	if r.dialect.eventSessions {
		columns, values, args = columns+", session_id", values+", $7", append(args, t.SessionID)
	}
	_, err := s.Exec(ctx, "INSERT INTO events ("+columns+") VALUES ("+values+")", args...)
	return err
}

// AnswerInteraction answers a pending interaction, and admits its turn if it is waiting and there
// is room.
func (r *turnRecords) AnswerInteraction(ctx context.Context, a *store.Answer) (*store.Interaction, error) {
	if err := a.CheckText(); err != nil {
		return nil, err
	}
	return transact(ctx, r.core, "answer interaction", a.ID+" of turn "+a.TurnID, func(ctx context.Context, s Session) (*store.Interaction, error) {
		t, err := r.lockTurn(ctx, s, a.Scope, a.TurnID)
		if err != nil {
			return nil, err
		}
		i, err := findInteraction(ctx, s, a.Scope, a.TurnID, a.ID)
		if err != nil {
			return nil, err
		}
		if i.State != store.InteractionPending {
			return i, rules.CheckAnswer(i, a)
		}
		return i, r.writeAnswer(ctx, s, t, i, a)
	})
}

// writeAnswer writes an answer and wakes the turn.
func (r *turnRecords) writeAnswer(ctx context.Context, s Session, t *store.Turn, i *store.Interaction, a *store.Answer) error {
	at := Truncate(a.Now)
	i.State, i.Answer, i.AnsweredBy, i.AnsweredAt = store.InteractionAnswered, bytes.Clone(a.Answer), a.By, at
	_, err := s.Exec(ctx, "UPDATE interactions SET state = 'resolved', resolution = $1, resolved_by = $2, resolved_at = $3 WHERE turn_id = $4 AND id = $5",
		[]byte(i.Answer), a.By, Time(at), a.TurnID, a.ID)
	if err != nil || t.Status != store.Waiting {
		return err
	}
	if _, err := s.Exec(ctx, "UPDATE turns SET status = 'pending', updated_at = $1, changed_at = $1 WHERE id = $2", Time(at), t.ID); err != nil {
		return err
	}
	return r.db.MakeRoom(ctx, s, t.Owner.Tenant, t.SessionID, a.Now)
}
