package storetest

import (
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// snapshotIDs returns the ids of a page of a session's snapshots.
func (f *fixture) snapshotIDs(session string, p store.Page) ([]string, string) {
	f.Helper()
	page, err := f.Snapshots(f.Context(), store.SnapshotQuery{Scope: store.Everything, SessionID: session, Page: p})
	ok(f, err)
	var ids []string
	for _, s := range page.Snapshots {
		ids = append(ids, s.ID)
	}
	return ids, page.Next
}

// artifactOf returns an artifact of a turn.
func (f *fixture) artifactOf(t *store.Turn, id, data string) *store.Artifact {
	return &store.Artifact{ID: id, SessionID: t.SessionID, TurnID: t.ID, Owner: t.Owner, Name: id, MediaType: "text/plain", Size: len(data), Data: []byte(data), CreatedAt: f.now}
}

// lapse claims a turn and waits until its lease has ended and it was reaped.
func (f *fixture) lapse(turn string) {
	f.Helper()
	c := f.claimOf(turn)
	c.Lease, c.Now = time.Millisecond, time.Now()
	_, err := f.Claim(f.Context(), c)
	ok(f, err)
	deadline := time.Now().Add(20 * time.Second)
	for {
		n, err := f.Reap(f.Context(), time.Now())
		ok(f, err)
		if n > 0 {
			return
		}
		if time.Now().After(deadline) {
			f.Fatalf("the lease of turn %s never ends", turn)
		}
	}
}
