package service_test

import (
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/schedule"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

func TestASchedulesDueTimeGivesOneTurn(t *testing.T) {
	kept := newMemory(t)
	s := serve(t, echo(t), on(kept))
	for _, turns := range []*service.Service{s, serve(t, echo(t), on(kept))} {
		r, err := schedule.NewRunner(schedule.Settings{Turns: turns, Schedules: []schedule.Schedule{
			{ID: "tick", Cron: "@every 1s", AgentID: "parrot", Input: []model.Message{model.User("tick")}, SessionID: "ticks", Owner: alice},
		}})
		if err != nil {
			t.Fatal(err)
		}
		r.Start()
		t.Cleanup(r.Close)
	}
	eventually(t, func() string {
		if page, err := s.ListTurns(t.Context(), alice, store.TurnQuery{SessionID: "ticks", Statuses: []store.Status{store.Succeeded}}); err != nil || len(page.Turns) < 2 {
			return "no two turns were made"
		}
		return ""
	})
	page, err := s.ListTurns(t.Context(), alice, store.TurnQuery{SessionID: "ticks"})
	if err != nil {
		t.Fatal(err)
	}
	due := map[string]bool{}
	for _, turn := range page.Turns {
		if key := string(turn.Metadata); due[key] {
			t.Errorf("there are two turns for %s", key)
		} else {
			due[key] = true
		}
	}
}

func TestADelayedTurnIsNotRunBeforeItsTime(t *testing.T) {
	s := serve(t, echo(t))
	req := says(session(t, s, "parrot"), "later")
	req.NotBefore = time.Now().Add(80 * time.Millisecond)
	turn := ended(t, s, create(t, s, req).ID)
	if turn.StartedAt.Before(turn.NotBefore) {
		t.Errorf("it began at %s, which is before %s", turn.StartedAt, turn.NotBefore)
	}
}
