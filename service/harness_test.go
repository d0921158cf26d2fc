package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
)

var (
	alice = service.Caller{Tenant: "acme", Subject: "alice"}
	bob   = service.Caller{Tenant: "acme", Subject: "bob"}
)

// setting changes what a service is made of.
type setting func(*service.Settings)

// on makes a service use a store that others use, too.
func on(s store.Store) setting { return func(v *service.Settings) { v.Store = s } }

// serve returns a service that works on turns until the test ends.
func serve(t testing.TB, rt *runtime.AgentRuntime, settings ...setting) *service.Service {
	t.Helper()
	s := idle(t, rt, settings...)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// idle returns a service that does not work yet.
func idle(t testing.TB, rt *runtime.AgentRuntime, settings ...setting) *service.Service {
	t.Helper()
	v := service.Settings{Runtime: rt, Dispatcher: local.New(local.Settings{Concurrency: 16})}
	for _, set := range settings {
		set(&v)
	}
	if v.Store == nil {
		m := memory.New(store.Settings{})
		t.Cleanup(func() { _ = m.Close() })
		v.Store = m
	}
	s := service.New(v)
	t.Cleanup(s.Close)
	return s
}

// session makes a session of alice.
func session(t testing.TB, s *service.Service, agent string) string {
	t.Helper()
	made, err := s.CreateSession(t.Context(), alice, service.CreateSession{AgentID: agent})
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// says is a turn of a session whose input is one message.
func says(sessionID, text string) service.CreateTurn {
	return service.CreateTurn{SessionID: sessionID, Input: []model.Message{model.User(text)}}
}

// create makes a turn of alice.
func create(t testing.TB, s *service.Service, req service.CreateTurn) *service.Turn {
	t.Helper()
	made, err := s.CreateTurn(t.Context(), alice, req)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// ended waits for the end of a turn.
func ended(t testing.TB, s *service.Service, id string) *service.Turn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	turn, err := s.WaitTurn(ctx, alice, id)
	if err != nil {
		t.Fatalf("turn %s does not end: %v", id, err)
	}
	return turn
}

// until waits for a turn to be in a state.
func until(t testing.TB, s *service.Service, id string, status store.Status) *service.Turn {
	t.Helper()
	var turn *service.Turn
	eventually(t, func() string {
		var err error
		if turn, err = s.GetTurn(t.Context(), alice, id); err != nil {
			return err.Error()
		}
		if turn.Status != status {
			return fmt.Sprintf("turn %s is %s, not %s", id, turn.Status, status)
		}
		return ""
	})
	return turn
}

// eventually asks again until nothing is missing any more.
func eventually(t testing.TB, missing func() string) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		text := missing()
		if text == "" {
			return
		}
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatal(text)
		}
	}
}

// log returns the events of a turn that has ended, without those of delegates, and checks
// that all of them together are those of one whole turn.
func log(t testing.TB, s *service.Service, id string) []event.Record {
	t.Helper()
	var records []event.Record
	for r, err := range s.Events(t.Context(), alice, id, 0, service.WithDelegates) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	for i := range records {
		if records[i].Seq != uint64(i+1) {
			t.Errorf("event %d has seq %d", i+1, records[i].Seq)
		}
		if records[i].Terminal() != (i == len(records)-1) {
			t.Errorf("event %d of %d is %s", i+1, len(records), records[i].Type)
		}
	}
	return slices.DeleteFunc(records, func(r event.Record) bool { return len(r.Path) > 0 })
}

func typesOf(records []event.Record) []event.Type {
	types := make([]event.Type, len(records))
	for i := range records {
		types[i] = records[i].Type
	}
	return types
}

// conversation returns the texts of a session's conversation.
func conversation(t testing.TB, s *service.Service, sessionID string) []string {
	t.Helper()
	kept, err := s.GetSession(t.Context(), alice, sessionID)
	if err != nil {
		t.Fatal(err)
	}
	if kept.Tip == "" {
		return nil
	}
	tip, err := s.GetSnapshot(t.Context(), alice, kept.Tip)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i := range tip.State.Messages {
		texts = append(texts, tip.State.Messages[i].Text())
	}
	return texts
}

// mortal is a store that a worker loses at some point, as if its machine were
// gone: what it commits from then on is lost.
type mortal struct {
	store.Store
	dead atomic.Bool
}

var errDead = errors.New("the machine is gone")

func (m *mortal) Commit(ctx context.Context, c *store.Commit) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Store.Commit(ctx, c)
}

func (m *mortal) Heartbeat(ctx context.Context, worker string, lease time.Duration, held []store.Held) ([]string, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Store.Heartbeat(ctx, worker, lease, held)
}

// Attach is not passed on: there is one queue, that of the process that goes on.
func (m *mortal) Attach(q store.Queue) {
	if !m.dead.Load() {
		m.Store.Attach(q)
	}
}

func refuse(target, reason string) interaction.Answer {
	return interaction.Answer{Target: target, Action: interaction.Cancel, Reason: reason}
}

// callOutcome returns how a call of a turn ended, and its text.
func callOutcome(t testing.TB, records []event.Record, callID string) (event.CallOutcome, string) {
	t.Helper()
	for i := range records {
		var done event.ToolCallDone
		if records[i].Type != event.TypeToolCallDone {
			continue
		}
		if err := json.Unmarshal(records[i].Data, &done); err != nil {
			t.Fatal(err)
		}
		if done.ID == callID {
			return done.Outcome, done.Result.Text()
		}
	}
	t.Fatalf("call %s was never done: %v", callID, typesOf(records))
	return "", ""
}

func count[T comparable](list []T, x T) int {
	n := 0
	for len(list) > 0 {
		i := slices.Index(list, x)
		if i < 0 {
			break
		}
		n, list = n+1, list[i+1:]
	}
	return n
}

func newMemory(t testing.TB) *memory.Store {
	t.Helper()
	m := memory.New(store.Settings{})
	t.Cleanup(func() { _ = m.Close() })
	return m
}
