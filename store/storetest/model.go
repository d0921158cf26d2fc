package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"pgregory.net/rapid"
)

// checkModel holds a store against a model of turns: whatever is done to them, in
// whatever order and by whomever, they are in the states that the model says,
// and the queue is told of just the turns that it admits.
func checkModel(t *testing.T, s store.Store, room int) {
	queue := new(Queue)
	s.Attach(queue)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		m := &model{
			T: rt, store: s, queue: queue, room: room, now: time.Now().UTC().Truncate(time.Microsecond),
			owner: store.Owner{Tenant: fmt.Sprint("tenant-", n), Subject: "ann"}, tips: make(map[string]string),
		}
		queue.Take() // of the attempt before, which may have failed
		for i := range 3 {
			m.session(fmt.Sprintf("session-%d-%d", n, i))
		}
		rt.Repeat(map[string]func(*rapid.T){
			"":        func(*rapid.T) { m.check() },
			"create":  func(*rapid.T) { m.create() },
			"claim":   func(*rapid.T) { m.claim() },
			"append":  func(*rapid.T) { m.append() },
			"yield":   func(*rapid.T) { m.yield() },
			"suspend": func(*rapid.T) { m.suspend() },
			"answer":  func(*rapid.T) { m.answer() },
			"finish":  func(*rapid.T) { m.finish() },
			"fail":    func(*rapid.T) { m.fail() },
			"end":     func(*rapid.T) { m.end() },
			"die":     func(*rapid.T) { m.die() },
			"move":    func(*rapid.T) { m.move() },
		})
	})
}

// model is what a store should have of one tenant.
type model struct {
	*rapid.T
	store    store.Store
	queue    *Queue
	owner    store.Owner
	now      time.Time
	room     int
	sessions []string
	tips     map[string]string
	turns    []*modelTurn
	// queued are the turns that the queue should have been told of.
	queued []string
}

// modelTurn is what a store should say of a turn.
type modelTurn struct {
	id, session, parent string
	status              store.Status
	fence               int64
	seq                 uint64
	strikes             int
	started, admitted   bool
	questions           []*modelQuestion
}

// modelQuestion is an interaction.
type modelQuestion struct {
	id, answer string
	state      store.InteractionState
}

func (m *model) session(id string) {
	_, err := m.store.CreateSession(m.Context(), &store.NewSession{Session: store.Session{
		ID: id, Owner: m.owner, AgentID: "helper", State: store.SessionActive, CreatedAt: m.now, UpdatedAt: m.now, ActiveAt: m.now,
	}})
	m.none(err)
	m.sessions = append(m.sessions, id)
}

// none wants no error.
func (m *model) none(err error) {
	m.Helper()
	if err != nil {
		m.Fatalf("unexpected error: %v", err)
	}
}

// refused wants an error of a type.
func refused[E error](m *model, err error) {
	m.Helper()
	var want E
	if !errors.As(err, &want) {
		m.Fatalf("the error is %v, want a %T", err, want)
	}
}

// pick returns any turn, and skips the action when there is none.
func (m *model) pick() *modelTurn {
	if len(m.turns) == 0 {
		m.Skip("there is no turn")
	}
	return rapid.SampledFrom(m.turns).Draw(m.T, "turn")
}

// live returns the live turn of a session that comes first: the one that has
// started, and else the oldest.
func (m *model) live(session string) (first *modelTurn) {
	for _, t := range m.turns {
		if t.session == session && t.status.Live() && (first == nil || t.started) {
			first = t
		}
	}
	return first
}

// settle admits what has room, the oldest first.
func (m *model) settle() {
	taken := 0
	for _, t := range m.turns {
		if t.admitted {
			taken++
		}
	}
	for _, t := range m.turns {
		if t.status == store.Pending && !t.admitted && m.live(t.session) == t && (m.room == 0 || taken < m.room) {
			t.admitted = true
			taken++
			m.queued = append(m.queued, t.id)
		}
	}
}

func (m *model) create() {
	session := rapid.SampledFrom(m.sessions).Draw(m.T, "session")
	reject := rapid.Bool().Draw(m.T, "reject")
	t := &modelTurn{id: fmt.Sprintf("%s-turn-%d", session, len(m.turns)), session: session, status: store.Pending}
	_, err := m.store.CreateTurn(m.Context(), &store.NewTurn{Reject: reject, Input: messages("input"), Turn: store.Turn{
		ID: t.id, SessionID: session, Owner: m.owner, AgentID: "helper", SnapshotID: t.id + "-snapshot", CreatedAt: m.now,
	}})
	if reject && m.live(session) != nil {
		refused[*store.BusyError](m, err)
		return
	}
	m.none(err)
	m.turns = append(m.turns, t)
	m.settle()
}

func (m *model) claim() { m.claimFor(m.pick(), time.Hour) }

// claimFor reports whether a turn could be claimed.
func (m *model) claimFor(t *modelTurn, lease time.Duration) bool {
	claimed, err := m.store.Claim(m.Context(), &store.Claim{TurnID: t.id, Worker: worker, Lease: lease, Now: m.now})
	switch {
	case t.status != store.Pending:
		refused[*store.StateError](m, err)
		return false
	case !t.admitted:
		is(m, err, store.ErrHeld)
		return false
	}
	m.none(err)
	if !t.started {
		t.parent = m.tips[t.session]
	}
	t.status, t.started = store.Running, true
	t.fence++
	equal(m, "the seq that a worker is given", claimed.Turn.Seq, t.seq)
	equal(m, "how many interactions a worker is given", len(claimed.Interactions), len(t.questions))
	for i, q := range claimed.Interactions {
		equal(m, "the state of an interaction", q.State, t.questions[i].state)
	}
	return true
}

// commit commits to a turn, under its fence or an older one, and reports whether
// it was taken. It always has an event.
func (m *model) commit(t *modelTurn, change func(c *store.Commit)) bool {
	stale := rapid.IntRange(0, 3).Draw(m.T, "stale") == 0
	c := &store.Commit{TurnID: t.id, Fence: t.fence, Now: m.now, Events: []event.Record{{
		Seq: t.seq + 1, Time: m.now, TurnID: t.id, SessionID: t.session, Type: event.TypeTextDelta, Data: json.RawMessage(`{}`),
	}}}
	if stale {
		c.Fence--
	}
	change(c)
	err := m.store.Commit(m.Context(), c)
	if stale || t.status != store.Running {
		refused[*store.FencedError](m, err)
		return false
	}
	m.none(err)
	t.seq++
	if c.State != nil {
		t.strikes = 0
	}
	return true
}

func (m *model) append() {
	state := rapid.Bool().Draw(m.T, "state")
	m.commit(m.pick(), func(c *store.Commit) {
		if state {
			c.State = []byte("state")
		}
	})
}

func (m *model) yield() {
	t := m.pick()
	if m.commit(t, func(c *store.Commit) { c.Yield = true }) {
		m.goOn(t)
	}
}

// goOn makes a running turn pending, which keeps its room.
func (m *model) goOn(t *modelTurn) {
	t.status = store.Pending
	m.queued = append(m.queued, t.id)
}

func (m *model) suspend() {
	t := m.pick()
	q := &modelQuestion{id: fmt.Sprint("q", len(t.questions)), state: store.InteractionPending}
	open := []string{q.id}
	answered := false
	for _, old := range t.questions {
		if rapid.Bool().Draw(m.T, "open") {
			open = append(open, old.id)
			answered = answered || old.state != store.InteractionPending
		}
	}
	taken := m.commit(t, func(c *store.Commit) {
		c.Suspend = &store.Suspend{Open: open, Asked: []*store.Interaction{{
			ID: q.id, TurnID: t.id, SessionID: t.session, Owner: m.owner, State: store.InteractionPending, Action: "approve",
			Request: json.RawMessage(`{}`), CreatedAt: m.now,
		}}}
	})
	if !taken {
		return
	}
	t.questions = append(t.questions, q)
	if answered {
		m.goOn(t)
		return
	}
	t.status, t.admitted = store.Waiting, false
	m.settle()
}

func (m *model) answer() {
	t := m.pick()
	if len(t.questions) == 0 {
		m.Skip("there is no interaction")
	}
	q := rapid.SampledFrom(t.questions).Draw(m.T, "interaction")
	answer := rapid.SampledFrom([]string{`"yes"`, `"no"`}).Draw(m.T, "answer")
	_, err := m.store.ResolveInteraction(m.Context(), &store.Resolve{
		Scope: store.Of(m.owner), TurnID: t.id, ID: q.id, Resolution: json.RawMessage(answer), By: "ann", Now: m.now,
	})
	switch {
	case q.state == store.InteractionCanceled:
		refused[*store.StateError](m, err)
		return
	case q.state == store.InteractionResolved && q.answer != answer:
		refused[*store.ConflictError](m, err)
		return
	}
	m.none(err)
	q.state, q.answer = store.InteractionResolved, answer
	if t.status == store.Waiting {
		t.status = store.Pending
		m.settle()
	}
}

func (m *model) finish() {
	t := m.pick()
	taken := m.commit(t, func(c *store.Commit) {
		c.Finish = &store.Finish{Status: store.Succeeded, Result: json.RawMessage(`{}`), Snapshot: &store.Snapshot{
			ID: t.id + "-snapshot", SessionID: t.session, Owner: m.owner, ParentID: t.parent, TurnID: t.id, CreatedAt: m.now,
		}}
	})
	if taken {
		m.tips[t.session] = t.id + "-snapshot"
		m.over(t, store.Succeeded)
	}
}

func (m *model) fail() {
	t := m.pick()
	if m.commit(t, func(c *store.Commit) { c.Finish = &store.Finish{Status: store.Failed, Result: json.RawMessage(`{}`)} }) {
		m.over(t, store.Failed)
	}
}

func (m *model) end() {
	t := m.pick()
	_, err := m.store.EndTurn(m.Context(), &store.EndTurn{
		Scope: store.Of(m.owner), TurnID: t.id, Status: store.Canceled, Result: json.RawMessage(`{}`), Now: m.now,
		Event: event.Record{Time: m.now, Type: event.TypeRunFinish, Data: json.RawMessage(`{}`)},
	})
	m.none(err)
	if t.status.Live() {
		t.fence++
		t.seq++
		m.over(t, store.Canceled)
	}
}

// over ends a turn.
func (m *model) over(t *modelTurn, status store.Status) {
	t.status, t.admitted = status, false
	for _, q := range t.questions {
		if q.state == store.InteractionPending {
			q.state = store.InteractionCanceled
		}
	}
	m.settle()
}

// die claims a turn for a worker that is never heard of again.
func (m *model) die() {
	t := m.pick()
	if !m.claimFor(t, time.Microsecond) {
		return
	}
	for late := time.Now().Add(patience); ; {
		n, err := m.store.Reap(m.Context(), m.now)
		m.none(err)
		if n > 0 {
			equal(m, "how many turns were taken", n, 1)
			break
		}
		if time.Now().After(late) {
			m.Fatal("a lease does not end")
		}
	}
	t.strikes++
	m.goOn(t)
}

// move moves a session back to an earlier snapshot.
func (m *model) move() {
	t := m.pick()
	if t.status != store.Succeeded {
		m.Skip("the turn left no snapshot")
	}
	tip := t.id + "-snapshot"
	_, err := m.store.UpdateSession(m.Context(), store.Of(m.owner), t.session, store.SessionPatch{Tip: &tip, Now: m.now})
	if first := m.live(t.session); first != nil && first.started {
		refused[*store.BusyError](m, err)
		return
	}
	m.none(err)
	m.tips[t.session] = tip
}

// check compares the store with the model.
func (m *model) check() {
	page, err := m.store.Turns(m.Context(), store.TurnQuery{Scope: store.Of(m.owner), Page: store.Page{Limit: store.MaxPage}})
	m.none(err)
	equal(m, "how many turns there are", len(page.Turns), len(m.turns))
	running := make(map[string]string)
	for _, got := range page.Turns {
		i := slices.IndexFunc(m.turns, func(t *modelTurn) bool { return t.id == got.ID })
		m.compare(got, m.turns[i])
		if got.Status.Live() && !got.StartedAt.IsZero() {
			if other := running[got.SessionID]; other != "" {
				m.Fatalf("turns %s and %s of one session have both started", other, got.ID)
			}
			running[got.SessionID] = got.ID
		}
	}
	for _, id := range m.sessions {
		session, err := m.store.Session(m.Context(), store.Of(m.owner), id)
		m.none(err)
		equal(m, "the tip of "+id, session.Tip, m.tips[id])
	}
	var queued []string
	for _, j := range m.queue.Take() {
		queued = append(queued, j.TurnID)
	}
	slices.Sort(queued)
	slices.Sort(m.queued)
	equal(m, "the turns that were queued", queued, m.queued)
	m.queued = nil
}

// compare compares a turn of the store with that of the model.
func (m *model) compare(got *store.Turn, want *modelTurn) {
	what := " of " + want.id
	equal(m, "the state"+what, got.Status, want.status)
	equal(m, "the fence"+what, got.Fence, want.fence)
	equal(m, "the strikes"+what, got.Strikes, want.strikes)
	equal(m, "whether it started"+what, !got.StartedAt.IsZero(), want.started)
	equal(m, "whether it is admitted"+what, got.Admitted, want.admitted)
	equal(m, "whether it has a worker"+what, got.Worker != "", want.status == store.Running)
	equal(m, "whether it ended"+what, !got.FinishedAt.IsZero(), !want.status.Live())
	equal(m, "what it goes on from"+what, got.ParentSnapshotID, want.parent)
	equal(m, "the latest event"+what, got.Seq, want.seq)
	list, err := m.store.Events(m.Context(), want.id, 0, 1000)
	m.none(err)
	for i, ev := range list {
		equal(m, "the seq of an event"+what, ev.Seq, uint64(i+1))
	}
	equal(m, "how many events there are"+what, len(list), int(want.seq))
}
