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

// checkModel compares a store with a model of turns: after any operations, in any order and by any
// worker, the turns have the states of the model, and the queue has received exactly the turns that
// it admits.
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
		queue.Take() // of the previous attempt, which may have failed
		for i := range 3 {
			m.createSession(fmt.Sprintf("session-%d-%d", n, i))
		}
		m.createTurn()
		rt.Repeat(map[string]func(*rapid.T){
			"":        func(*rapid.T) { m.checkStore() },
			"create":  func(*rapid.T) { m.createTurn() },
			"claim":   func(*rapid.T) { m.claimTurn() },
			"append":  func(*rapid.T) { m.appendEvents() },
			"yield":   func(*rapid.T) { m.yieldTurn() },
			"suspend": func(*rapid.T) { m.suspendTurn() },
			"answer":  func(*rapid.T) { m.answerQuestion() },
			"finish":  func(*rapid.T) { m.finishTurn() },
			"fail":    func(*rapid.T) { m.failTurn() },
			"end":     func(*rapid.T) { m.endTurn() },
			"die":     func(*rapid.T) { m.loseWorker() },
			"move":    func(*rapid.T) { m.moveSession() },
		})
	})
}

// model is the expected content of a store for one tenant.
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
	// queued are the turns that the queue should have received.
	queued []string
}

// modelTurn is the expected content of a turn.
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

func (m *model) createSession(id string) {
	_, err := m.store.CreateSession(m.Context(), &store.NewSession{Session: store.Session{
		ID: id, Owner: m.owner, AgentID: "helper", State: store.SessionActive, CreatedAt: m.now, UpdatedAt: m.now, ActiveAt: m.now,
	}})
	m.wantNoError(err)
	m.sessions = append(m.sessions, id)
}

// wantNoError wants no error.
func (m *model) wantNoError(err error) {
	m.Helper()
	if err != nil {
		m.Fatalf("unexpected error: %v", err)
	}
}

// wantRefused checks that an error has a type.
func wantRefused[E error](m *model, err error) {
	m.Helper()
	var want E
	if !errors.As(err, &want) {
		m.Fatalf("the error is %v, want a %T", err, want)
	}
}

// pickTurn returns any turn.
func (m *model) pickTurn() *modelTurn { return rapid.SampledFrom(m.turns).Draw(m.T, "turn") }

// liveTurn returns a session's first live turn: the started turn, or else the oldest.
func (m *model) liveTurn(session string) (first *modelTurn) {
	for _, t := range m.turns {
		if t.session == session && t.status.Live() && (first == nil || t.started) {
			first = t
		}
	}
	return first
}

// settleAdmission admits turns that have room, oldest first.
func (m *model) settleAdmission() {
	taken := 0
	for _, t := range m.turns {
		if t.admitted {
			taken++
		}
	}
	for _, t := range m.turns {
		if t.status == store.Pending && !t.admitted && m.liveTurn(t.session) == t && (m.room == 0 || taken < m.room) {
			t.admitted = true
			taken++
			m.queued = append(m.queued, t.id)
		}
	}
}

// checkStore compares the store with the model.
func (m *model) checkStore() {
	page, err := m.store.Turns(m.Context(), store.TurnQuery{Scope: store.Of(m.owner), Page: store.Page{Limit: store.MaxPage}})
	m.wantNoError(err)
	wantEqual(m, "how many turns there are", len(page.Turns), len(m.turns))
	running := make(map[string]string)
	for _, got := range page.Turns {
		i := slices.IndexFunc(m.turns, func(t *modelTurn) bool { return t.id == got.ID })
		m.compareTurn(got, m.turns[i])
		if got.Status.Live() && !got.StartedAt.IsZero() {
			if other := running[got.SessionID]; other != "" {
				m.Fatalf("turns %s and %s of one session have both started", other, got.ID)
			}
			running[got.SessionID] = got.ID
		}
	}
	for _, id := range m.sessions {
		session, err := m.store.Session(m.Context(), store.Of(m.owner), id)
		m.wantNoError(err)
		wantEqual(m, "the tip of "+id, session.Tip, m.tips[id])
	}
	var queued []string
	for _, j := range m.queue.Take() {
		// A store may requeue turns that have long been unclaimed, in other attempts.
		if slices.ContainsFunc(m.sessions, func(session string) bool { return strings.HasPrefix(j.TurnID, session+"-") }) {
			queued = append(queued, j.TurnID)
		}
	}
	slices.Sort(queued)
	slices.Sort(m.queued)
	wantEqual(m, "the turns that were queued", queued, m.queued)
	m.queued = nil
}

// compareTurn compares a turn of the store with the model.
func (m *model) compareTurn(got *store.Turn, want *modelTurn) {
	what := " of " + want.id
	wantEqual(m, "the state"+what, got.Status, want.status)
	wantEqual(m, "the fence"+what, got.Fence, want.fence)
	wantEqual(m, "the strikes"+what, got.Strikes, want.strikes)
	wantEqual(m, "whether it started"+what, !got.StartedAt.IsZero(), want.started)
	wantEqual(m, "whether it is admitted"+what, got.Admitted, want.admitted)
	wantEqual(m, "whether it has a worker"+what, got.Worker != "", want.status == store.Running)
	wantEqual(m, "whether it ended"+what, !got.FinishedAt.IsZero(), !want.status.Live())
	wantEqual(m, "what it goes on from"+what, got.ParentSnapshotID, want.parent)
	wantEqual(m, "the latest event"+what, got.Seq, want.seq)
	list, err := m.store.Events(m.Context(), want.id, 0, 1000)
	m.wantNoError(err)
	for i, ev := range list {
		wantEqual(m, "the seq of an event"+what, ev.Seq, uint64(i+1))
	}
	wantEqual(m, "how many events there are"+what, len(list), int(want.seq))
}
