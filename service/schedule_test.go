package runtime_test

import (
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/store"
)

func TestASchedulesDueTimeGivesOneTurn(t *testing.T) {
	kept := newMemory(t)
	settings := []setting{on(kept), func(v *runtime.ServiceSettings) {
		v.Schedules = []runtime.Schedule{{ID: "tick", Cron: "@every 1s", AgentID: "parrot", Input: []model.Message{model.User("tick")}, SessionID: "ticks", Owner: alice}}
	}}
	s := serve(t, echo(t), settings...)
	serve(t, echo(t), settings...)
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
	if err := runtime.CheckSchedule("every day", ""); err == nil {
		t.Error("a bad expression is taken")
	}
	if err := runtime.CheckSchedule("TZ=0", ""); err == nil {
		t.Error("a time zone in the expression is taken")
	}
	if err := runtime.CheckSchedule("0 9 * * *", "Europe/Atlantis"); err == nil {
		t.Error("a bad time zone is taken")
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
