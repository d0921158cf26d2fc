package rules

import (
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// SessionCursor returns the list position of a session.
func SessionCursor(s *store.Session) store.Cursor {
	return store.Cursor{Time: s.ActiveAt, ID: s.ID}
}

// SnapshotCursor returns the list position of a snapshot.
func SnapshotCursor(s *store.Snapshot) store.Cursor {
	return store.Cursor{Time: s.CreatedAt, ID: s.ID}
}

// TurnCursor returns the position of a turn in the list of a query.
func TurnCursor(q *store.TurnQuery) func(*store.Turn) store.Cursor {
	if q.ByChange {
		return func(t *store.Turn) store.Cursor { return store.Cursor{Time: t.ChangedAt, ID: t.ID} }
	}
	return func(t *store.Turn) store.Cursor { return store.Cursor{Time: t.CreatedAt, ID: t.ID} }
}

// NumberCursor returns the place of a record in lists that are ordered by a number.
func NumberCursor(created time.Time, number int64) store.Cursor {
	return store.Cursor{Time: created, ID: strconv.FormatInt(number, 10)}
}

// CutPage cuts an ordered list to a page and returns where the next page begins; empty if absent.
func CutPage[T any](list []T, p store.Page, cursor func(T) store.Cursor) (page []T, next string) {
	n := p.Size()
	if len(list) <= n {
		return list, ""
	}
	return list[:n], cursor(list[n-1]).String()
}
