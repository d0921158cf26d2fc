package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"pgregory.net/rapid"
)

func (m *model) createTurn() {
	session := rapid.SampledFrom(m.sessions).Draw(m.T, "session")
	reject := rapid.Bool().Draw(m.T, "reject")
	t := &modelTurn{id: fmt.Sprintf("%s-turn-%d", session, len(m.turns)), session: session, status: store.Pending}
	_, err := m.store.CreateTurn(m.Context(), &store.NewTurn{Reject: reject, Input: textMessages("input"), Turn: store.Turn{
		ID: t.id, SessionID: session, Owner: m.owner, AgentID: "helper", SnapshotID: t.id + "-snapshot", CreatedAt: m.now,
	}})
	if reject && m.liveTurn(session) != nil {
		wantRefused[*store.BusyError](m, err)
		return
	}
	m.wantNoError(err)
	m.turns = append(m.turns, t)
	m.settleAdmission()
}

func (m *model) claimTurn() { m.claimFor(m.pickTurn(), time.Hour) }

// claimFor reports whether a turn could be claimed.
func (m *model) claimFor(t *modelTurn, lease time.Duration) bool {
	claimed, err := m.store.Claim(m.Context(), &store.Claim{TurnID: t.id, Worker: worker, Lease: lease, Now: m.now})
	switch {
	case t.status != store.Pending:
		wantRefused[*store.StateError](m, err)
		return false
	case !t.admitted:
		wantError(m, err, store.ErrHeld)
		return false
	}
	m.wantNoError(err)
	if !t.started {
		t.parent = m.tips[t.session]
	}
	t.status, t.started = store.Running, true
	t.fence++
	wantEqual(m, "the seq that a worker is given", claimed.Turn.Seq, t.seq)
	wantEqual(m, "how many interactions a worker is given", len(claimed.Interactions), len(t.questions))
	for i, q := range claimed.Interactions {
		wantEqual(m, "the state of an interaction", q.State, t.questions[i].state)
	}
	return true
}

// commitTurn commits to a turn, under its fence or an older one, and reports whether it was
// accepted. It always adds an event.
func (m *model) commitTurn(t *modelTurn, change func(c *store.Commit)) bool {
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
		wantRefused[*store.FencedError](m, err)
		return false
	}
	m.wantNoError(err)
	t.seq++
	if c.State != nil {
		t.strikes = 0
	}
	return true
}

func (m *model) appendEvents() {
	t := m.pickTurn()
	state, ask := rapid.Bool().Draw(m.T, "state"), rapid.Bool().Draw(m.T, "ask")
	q := m.nextQuestion(t)
	taken := m.commitTurn(t, func(c *store.Commit) {
		if state {
			c.State = []byte("state")
		}
		if ask {
			c.Asked = m.interactionOf(t, q)
		}
	})
	if taken && ask {
		t.questions = append(t.questions, q)
	}
}

// nextQuestion returns the next interaction of a turn.
func (m *model) nextQuestion(t *modelTurn) *modelQuestion {
	return &modelQuestion{id: fmt.Sprint("q", len(t.questions)), state: store.InteractionPending}
}

// interactionOf returns an interaction in the form for a commit.
func (m *model) interactionOf(t *modelTurn, q *modelQuestion) []*store.Interaction {
	return []*store.Interaction{{
		ID: q.id, TurnID: t.id, SessionID: t.session, Owner: m.owner, State: store.InteractionPending, Action: "approve",
		Request: json.RawMessage(`{}`), CreatedAt: m.now,
	}}
}

func (m *model) yieldTurn() {
	t := m.pickTurn()
	if m.commitTurn(t, func(c *store.Commit) { c.Yield = true }) {
		m.goOn(t)
	}
}

// goOn makes a running turn pending; it keeps its room.
func (m *model) goOn(t *modelTurn) {
	t.status = store.Pending
	m.queued = append(m.queued, t.id)
}

func (m *model) suspendTurn() {
	t := m.pickTurn()
	q := m.nextQuestion(t)
	open := []string{q.id}
	answered := false
	for _, old := range t.questions {
		if rapid.Bool().Draw(m.T, "open") {
			open = append(open, old.id)
			answered = answered || old.state != store.InteractionPending
		}
	}
	taken := m.commitTurn(t, func(c *store.Commit) {
		c.Asked, c.Suspend = m.interactionOf(t, q), &store.Suspend{Open: open}
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
	m.settleAdmission()
}

func (m *model) answerQuestion() {
	t := m.pickTurn()
	if len(t.questions) == 0 {
		m.Skip("there is no interaction")
	}
	q := rapid.SampledFrom(t.questions).Draw(m.T, "interaction")
	answer := rapid.SampledFrom([]string{`"yes"`, `"no"`}).Draw(m.T, "answer")
	_, err := m.store.AnswerInteraction(m.Context(), &store.Answer{
		Scope: store.Of(m.owner), TurnID: t.id, ID: q.id, Answer: json.RawMessage(answer), By: "ann", Now: m.now,
	})
	switch {
	case q.state == store.InteractionCanceled:
		wantRefused[*store.StateError](m, err)
		return
	case q.state == store.InteractionAnswered && q.answer != answer:
		wantRefused[*store.ConflictError](m, err)
		return
	}
	m.wantNoError(err)
	again := q.state == store.InteractionAnswered
	q.state, q.answer = store.InteractionAnswered, answer
	if t.status == store.Waiting && !again {
		t.status = store.Pending
		m.settleAdmission()
	}
}

func (m *model) finishTurn() {
	t := m.pickTurn()
	taken := m.commitTurn(t, func(c *store.Commit) {
		c.Finish = &store.Finish{Status: store.Succeeded, Result: json.RawMessage(`{}`), Snapshot: &store.Snapshot{
			ID: t.id + "-snapshot", SessionID: t.session, Owner: m.owner, ParentID: t.parent, TurnID: t.id, CreatedAt: m.now,
		}}
	})
	if taken {
		m.tips[t.session] = t.id + "-snapshot"
		m.endModelTurn(t, store.Succeeded)
	}
}

func (m *model) failTurn() {
	t := m.pickTurn()
	if m.commitTurn(t, func(c *store.Commit) { c.Finish = &store.Finish{Status: store.Failed, Result: json.RawMessage(`{}`)} }) {
		m.endModelTurn(t, store.Failed)
	}
}

func (m *model) endTurn() {
	t := m.pickTurn()
	_, err := m.store.EndTurn(m.Context(), &store.EndTurn{
		Scope: store.Of(m.owner), TurnID: t.id, Status: store.Canceled, Result: json.RawMessage(`{}`), Now: m.now,
		Event: event.Record{Time: m.now, Type: event.TypeRunFinish, Data: json.RawMessage(`{}`)},
	})
	m.wantNoError(err)
	if t.status.Live() {
		t.fence++
		t.seq++
		m.endModelTurn(t, store.Canceled)
	}
}

// endModelTurn ends a turn.
func (m *model) endModelTurn(t *modelTurn, status store.Status) {
	t.status, t.admitted = status, false
	for _, q := range t.questions {
		if q.state == store.InteractionPending {
			q.state = store.InteractionCanceled
		}
	}
	m.settleAdmission()
}

// loseWorker claims a turn for a worker that then disappears.
func (m *model) loseWorker() {
	t := m.pickTurn()
	if !m.claimFor(t, time.Microsecond) {
		return
	}
	for late := time.Now().Add(patience); ; {
		n, err := m.store.Reap(m.Context(), m.now)
		m.wantNoError(err)
		if n > 0 {
			wantEqual(m, "how many turns were taken", n, 1)
			break
		}
		if time.Now().After(late) {
			m.Fatal("a lease does not end")
		}
	}
	t.strikes++
	m.goOn(t)
}

// moveSession moves a session back to an earlier snapshot.
func (m *model) moveSession() {
	t := m.pickTurn()
	if t.status != store.Succeeded {
		m.Skip("the turn left no snapshot")
	}
	tip := t.id + "-snapshot"
	_, err := m.store.UpdateSession(m.Context(), store.Of(m.owner), t.session, store.SessionPatch{Tip: &tip, Now: m.now})
	if first := m.liveTurn(t.session); first != nil && first.started {
		wantRefused[*store.BusyError](m, err)
		return
	}
	m.wantNoError(err)
	m.tips[t.session] = tip
}
