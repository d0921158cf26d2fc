package sqlite

import (
	"context"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

// maxRows is the maximum number of rows that a statement inserts. The driver's cost of binding
// grows quadratically with the parameters.
const maxRows = 8

// rowInserts are statements that insert rows; the one at index n inserts n+1 rows.
type rowInserts [maxRows]string

// Events and messages are inserted several rows at a time because a statement costs more than a
// row.
var (
	eventInserts = makeRowInserts("INSERT INTO events (turn_id, seq, at, type, data) VALUES ", "(?, ?, ?, ?, ?)")
	// delegateEventInserts are for events some of which have a path. Each parameter makes a
	// statement slower, and most turns have no delegates.
	delegateEventInserts = makeRowInserts("INSERT INTO events (turn_id, seq, at, type, data, path) VALUES ", "(?, ?, ?, ?, ?, ?)")
	messageInserts       = makeRowInserts("INSERT INTO messages (owner_id, n, body) VALUES ", "(?, ?, ?)")
)

func makeRowInserts(into, row string) (texts rowInserts) {
	for n := range texts {
		texts[n] = into + strings.Repeat(row+", ", n) + row
	}
	return texts
}

// insertRows inserts n rows. add appends the values of a row to the arguments.
func (r *rowInserts) insertRows(ctx context.Context, tx *tx, n int, add func(args []any, i int) []any) error {
	var args []any
	for begin := 0; begin < n; begin += maxRows {
		end := min(n, begin+maxRows)
		args = args[:0]
		for i := begin; i < end; i++ {
			args = add(args, i)
		}
		if _, err := tx.Exec(ctx, r[end-begin-1], args...); err != nil {
			return err
		}
	}
	return nil
}

func insertEvents(ctx context.Context, tx *tx, turnID string, events []event.Record) error {
	isDelegated := func(r event.Record) bool { return len(r.Path) > 0 }
	if !slices.ContainsFunc(events, isDelegated) {
		return eventInserts.insertRows(ctx, tx, len(events), func(args []any, i int) []any {
			r := &events[i]
			return append(args, turnID, int64(r.Seq), sqlstore.ToMicros(r.Time), string(r.Type), r.Data)
		})
	}
	return delegateEventInserts.insertRows(ctx, tx, len(events), func(args []any, i int) []any {
		r := &events[i]
		var path any
		if text := r.PathText(); text != "" {
			path = text
		}
		return append(args, turnID, int64(r.Seq), sqlstore.ToMicros(r.Time), string(r.Type), r.Data, path)
	})
}

// insertMessages inserts the messages of an owner, numbered from n.
func insertMessages(ctx context.Context, tx *tx, ownerID string, n int64, bodies [][]byte) error {
	return messageInserts.insertRows(ctx, tx, len(bodies), func(args []any, i int) []any {
		return append(args, ownerID, n+int64(i), bodies[i])
	})
}

// insertSnapshot stores a snapshot of a session. A turn's snapshot has the turn's id.
func insertSnapshot(ctx context.Context, tx *tx, s *store.Snapshot, sessionID, turnID string, owner store.Owner) error {
	_, err := tx.Exec(ctx, "INSERT INTO snapshots ("+sqlstore.SnapshotColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		s.ID, sessionID, owner.Tenant, owner.Subject, s.ParentID, turnID, s.FinishReason,
		[]byte(s.Custom), []byte(s.State), []byte(s.Artifacts), sqlstore.ToMicros(s.CreatedAt), s.AgentID, s.CurrentAgentID)
	return err
}

// insertArtifacts stores artifacts of a session. A turn's artifacts have the turn's id.
func insertArtifacts(ctx context.Context, tx *tx, list []*store.Artifact, sessionID, turnID string, owner store.Owner) error {
	for _, a := range list {
		_, err := tx.Exec(ctx, `INSERT INTO artifacts (id, session_id, turn_id, tenant, subject, name, media_type, size, created_at, metadata, data)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			a.ID, sessionID, turnID, owner.Tenant, owner.Subject, a.Name, a.MediaType, len(a.Data), sqlstore.ToMicros(a.CreatedAt), []byte(a.Metadata), a.Data)
		if err != nil {
			return err
		}
	}
	return nil
}
