package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// runTable has the runs of workflows and their triggers.
type runTable struct {
	runs map[runKey]*run
	// ordered has the runs in creation order, and begun counts them; liveRuns has those that have
	// not ended.
	ordered  []*run
	begun    int64
	liveRuns map[*run]struct{}
	cursors  map[triggerKey]time.Time
	triggers map[triggerKey]*trigger
}

type runKey struct{ tenant, id string }

type triggerKey struct{ tenant, kind, id string }

// run is a run with its position in creation order.
type run struct {
	store.WorkflowRun
	order      int64
	leaseUntil time.Time
}

// trigger is a trigger with its position in the same order.
type trigger struct {
	store.WorkflowTrigger
	order int64
}

func newRunTable() runTable {
	return runTable{runs: make(map[runKey]*run), liveRuns: make(map[*run]struct{}), cursors: make(map[triggerKey]time.Time), triggers: make(map[triggerKey]*trigger)}
}

// copyRun returns a copy of a run, as the store keeps it.
func copyRun(r *store.WorkflowRun) *store.WorkflowRun {
	c := *r
	c.Definition, c.Trigger = bytes.Clone(r.Definition), bytes.Clone(r.Trigger)
	c.Input, c.State = bytes.Clone(r.Input), bytes.Clone(r.State)
	c.DueAt, c.CreatedAt, c.UpdatedAt = truncateTime(r.DueAt), truncateTime(r.CreatedAt), truncateTime(r.UpdatedAt)
	c.StartedAt, c.FinishedAt = truncateTime(r.StartedAt), truncateTime(r.FinishedAt)
	return &c
}

// CreateRuns stores new runs and moves cursors.
func (m *Store) CreateRuns(ctx context.Context, runs []*store.WorkflowRun, cursors []store.ScheduleCursor) (created []string, err error) {
	for _, r := range runs {
		if err := r.CheckText(); err != nil {
			return nil, err
		}
	}
	err = m.withLock(ctx, func() error {
		for _, r := range runs {
			key := runKey{r.Owner.Tenant, r.ID}
			if _, taken := m.runs[key]; taken {
				continue
			}
			m.begun++
			made := &run{WorkflowRun: *copyRun(r), order: m.begun}
			made.Version = 1
			m.runs[key], m.ordered = made, append(m.ordered, made)
			if made.Status.Live() {
				m.liveRuns[made] = struct{}{}
			}
			created = append(created, r.ID)
		}
		for _, c := range cursors {
			key := triggerKey{c.Tenant, "schedule", c.ID}
			if last := truncateTime(c.Last); last.After(m.cursors[key]) {
				m.cursors[key] = last
			}
		}
		return nil
	})
	return created, err
}

// findRun returns a run that the scope sees.
func (m *Store) findRun(scope store.RunScope, tenant, id string) (*run, error) {
	r, ok := m.runs[runKey{tenant, id}]
	if !ok || !scope.Sees(r.Owner, r.Shared) {
		return nil, store.ErrNotFound
	}
	return r, nil
}

// GetRun returns a run.
func (m *Store) GetRun(ctx context.Context, scope store.RunScope, tenant, id string) (found *store.WorkflowRun, err error) {
	err = m.withLock(ctx, func() error {
		r, err := m.findRun(scope, tenant, id)
		if err == nil {
			found = copyRun(&r.WorkflowRun)
		}
		return err
	})
	return found, err
}

// ListRuns returns a page of runs.
func (m *Store) ListRuns(ctx context.Context, q store.RunQuery) (page store.RunPage, err error) {
	err = m.withLock(ctx, func() error {
		before, err := q.Page.Place()
		if err != nil {
			return err
		}
		var list []*run
		end, _ := slices.BinarySearchFunc(m.ordered, before, func(r *run, order int64) int { return cmp.Compare(r.order, order) })
		for _, r := range slices.Backward(m.ordered[:end]) {
			if q.Scope.Sees(r.Owner, r.Shared) && (q.WorkflowID == "" || q.WorkflowID == r.WorkflowID) && (q.Status == "" || q.Status == r.Status) {
				list = append(list, r)
			}
			if len(list) > q.Page.Size() {
				break
			}
		}
		list, page.Next = rules.CutPage(list, q.Page, func(r *run) store.Cursor { return rules.NumberCursor(r.CreatedAt, r.order) })
		for _, r := range list {
			c := copyRun(&r.WorkflowRun)
			if !q.Whole {
				c.Definition, c.Input, c.State = nil, nil, nil
			}
			page.Runs = append(page.Runs, c)
		}
		return nil
	})
	return page, err
}

// isDue reports whether a claim selects a run.
func (m *Store) isDue(r *run, c *store.ClaimRuns) bool {
	switch {
	case !r.Status.Live() || r.leaseUntil.After(time.Now()):
		return false
	case !c.Part.Has(r.Status), len(c.TurnIDs) > 0 && !slices.Contains(c.TurnIDs, r.TurnID):
		return false
	case !r.DueAt.IsZero() && !r.DueAt.After(c.Now):
		return true
	case r.TurnID == "":
		return false
	}
	t, ok := m.turns[r.TurnID]
	return !ok || !t.Status.Live() || (t.Status == store.Waiting) != (r.Status == store.RunWaiting)
}

// ClaimRuns returns runs that are due.
func (m *Store) ClaimRuns(ctx context.Context, c *store.ClaimRuns) (claimed []*store.WorkflowRun, err error) {
	err = m.withLock(ctx, func() error {
		var list []*run
		for r := range m.liveRuns {
			if m.isDue(r, c) {
				list = append(list, r)
			}
		}
		slices.SortFunc(list, func(a, b *run) int { return cmp.Compare(a.order, b.order) })
		for _, r := range list[:min(len(list), c.Limit)] {
			r.leaseUntil = time.Now().Add(c.Lease)
			r.Version++
			claimed = append(claimed, copyRun(&r.WorkflowRun))
		}
		return nil
	})
	return claimed, err
}

// SaveRun replaces a run.
func (m *Store) SaveRun(ctx context.Context, saved *store.WorkflowRun) error {
	if err := saved.CheckText(); err != nil {
		return err
	}
	return m.withLock(ctx, func() error {
		r, ok := m.runs[runKey{saved.Owner.Tenant, saved.ID}]
		if !ok || r.Version != saved.Version {
			return &store.StateError{Kind: "run", ID: saved.ID, State: "changed", Want: "saved"}
		}
		if r.Status == store.RunPending && saved.Status == store.RunRunning && saved.Limit > 0 && m.countRuns(saved) >= saved.Limit {
			r.DueAt, r.leaseUntil = time.Time{}, time.Time{}
			r.Version++
			saved.Version = r.Version
			return store.ErrRunLimit
		}
		saved.Version++
		r.WorkflowRun, r.leaseUntil = *copyRun(saved), time.Time{}
		if saved.Status.Live() {
			return nil
		}
		delete(m.liveRuns, r)
		if saved.Limit > 0 {
			m.releaseHeld(saved)
		}
		return nil
	})
}

// countRuns returns how many runs of the same workflow are under way.
func (m *Store) countRuns(of *store.WorkflowRun) (n int) {
	for r := range m.liveRuns {
		if r.Owner == of.Owner && r.WorkflowID == of.WorkflowID && (r.Status == store.RunRunning || r.Status == store.RunWaiting) {
			n++
		}
	}
	return n
}

// releaseHeld makes the oldest run due that the limit held back.
func (m *Store) releaseHeld(of *store.WorkflowRun) {
	var oldest *run
	for r := range m.liveRuns {
		if r.Owner == of.Owner && r.WorkflowID == of.WorkflowID && r.Status == store.RunPending && r.DueAt.IsZero() &&
			(oldest == nil || r.order < oldest.order) {
			oldest = r
		}
	}
	if oldest != nil {
		oldest.DueAt = truncateTime(of.UpdatedAt)
	}
}

// CancelRun requests the end of a run.
func (m *Store) CancelRun(ctx context.Context, scope store.RunScope, tenant, id, reason string, now time.Time) (changed *store.WorkflowRun, err error) {
	if err := (&store.WorkflowRun{CancelReason: reason}).CheckText(); err != nil {
		return nil, err
	}
	err = m.withLock(ctx, func() error {
		r, err := m.findRun(scope, tenant, id)
		if err != nil {
			return err
		}
		if !r.Status.Live() {
			return &store.StateError{Kind: "run", ID: id, State: string(r.Status), Want: "canceled"}
		}
		r.CancelReason, r.DueAt, r.UpdatedAt, r.leaseUntil = reason, truncateTime(now), truncateTime(now), time.Time{}
		r.Version++
		changed = copyRun(&r.WorkflowRun)
		return nil
	})
	return changed, err
}

// eachLiveRevision calls do for the revisions in which live turns and runs began.
func (m *Store) eachLiveRevision(do func(hash string)) {
	for _, t := range m.live {
		if t.Revision != "" {
			do(t.Revision)
		}
	}
	for r := range m.liveRuns {
		if r.Revision != "" {
			do(r.Revision)
		}
	}
}

// PruneRuns deletes old runs.
func (m *Store) PruneRuns(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = m.withLock(ctx, func() error {
		gone := make(map[*run]bool)
		for key, r := range m.runs {
			if n < limit && !r.Status.Live() && r.FinishedAt.Before(before) {
				delete(m.runs, key)
				gone[r] = true
				n++
			}
		}
		m.ordered = slices.DeleteFunc(m.ordered, func(r *run) bool { return gone[r] })
		return nil
	})
	return n, err
}

// Cursors returns the cursors of all schedules.
func (m *Store) Cursors(ctx context.Context) (list []store.ScheduleCursor, err error) {
	err = m.withLock(ctx, func() error {
		for key, last := range m.cursors {
			list = append(list, store.ScheduleCursor{Tenant: key.tenant, ID: key.id, Last: last})
		}
		return nil
	})
	return list, err
}

// SaveTrigger stores a trigger.
func (m *Store) SaveTrigger(ctx context.Context, t *store.WorkflowTrigger, isNew bool) error {
	if err := t.CheckText(); err != nil {
		return err
	}
	return m.withLock(ctx, func() error {
		key := triggerKey{t.Owner.Tenant, t.Kind, t.ID}
		known, taken := m.triggers[key]
		if taken && isNew {
			return &store.ExistsError{Kind: t.Kind, ID: t.ID}
		}
		if !taken {
			m.begun++
			known = &trigger{order: m.begun}
			m.triggers[key] = known
		}
		known.WorkflowTrigger = *copyTrigger(t)
		return nil
	})
}

func copyTrigger(t *store.WorkflowTrigger) *store.WorkflowTrigger {
	c := *t
	c.Definition = bytes.Clone(t.Definition)
	c.CreatedAt, c.UpdatedAt = truncateTime(t.CreatedAt), truncateTime(t.UpdatedAt)
	return &c
}

// Triggers returns the triggers that the scope sees.
func (m *Store) Triggers(ctx context.Context, scope store.RunScope) (list []*store.WorkflowTrigger, err error) {
	err = m.withLock(ctx, func() error {
		var found []*trigger
		for _, t := range m.triggers {
			if scope.Sees(t.Owner, t.Declared) {
				found = append(found, t)
			}
		}
		slices.SortFunc(found, func(a, b *trigger) int { return cmp.Compare(a.order, b.order) })
		for _, t := range found {
			list = append(list, copyTrigger(&t.WorkflowTrigger))
		}
		return nil
	})
	return list, err
}

// DeleteTrigger deletes a trigger, and the cursor of a schedule.
func (m *Store) DeleteTrigger(ctx context.Context, scope store.RunScope, tenant, kind, id string) error {
	return m.withLock(ctx, func() error {
		key := triggerKey{tenant, kind, id}
		t, ok := m.triggers[key]
		if !ok || !scope.Sees(t.Owner, t.Declared) {
			return store.ErrNotFound
		}
		delete(m.triggers, key)
		delete(m.cursors, key)
		return nil
	})
}
