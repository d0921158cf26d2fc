package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
		m.create()
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

// pick returns any turn.
func (m *model) pick() *modelTurn { return rapid.SampledFrom(m.turns).Draw(m.T, "turn") }

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
		// A store may queue again what nobody claimed for long, in other attempts.
		if slices.ContainsFunc(m.sessions, func(session string) bool { return strings.HasPrefix(j.TurnID, session+"-") }) {
			queued = append(queued, j.TurnID)
		}
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
