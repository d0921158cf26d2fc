package fleet_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

// startIn makes a turn of the clerk that starts in a published revision.
func (p *process) startIn(caller service.Caller, hash string) (*service.Turn, error) {
	p.t.Helper()
	session, err := p.service.CreateSession(p.t.Context(), caller, service.CreateSession{AgentID: "clerk"})
	if err != nil {
		p.t.Fatal(err)
	}
	return p.service.CreateTurn(p.t.Context(), caller, service.CreateTurn{
		SessionID: session.ID, Input: []model.Message{model.User("go")}, Published: hash,
	})
}

// A turn can start in an earlier revision, and another process continues it there.
func TestATurnStartsInAnEarlierRevision(t *testing.T) {
	answers := []turntest.Answer{turntest.Calls("a", "risky", "{}"), {Text: "all done"}}
	exec := turntest.Scripts(map[string][]turntest.Answer{"up": slices.Concat(answers, answers)})
	p := program{store: newStore(t), fromStore: true, risky: true, exec: exec}
	one := p.start(t, oldConfig)
	old := one.fleet.Running().Hash
	if _, err := one.change(newConfig); err != nil {
		t.Fatal(err)
	}
	made, err := one.startIn(alice, old)
	if err != nil {
		t.Fatal(err)
	}
	one.until("the turn waits", func() bool {
		turn, err := one.service.GetTurn(t.Context(), alice, made.ID)
		return err == nil && turn.Status == store.Waiting
	})
	one.stop()
	two := p.start(t, oldConfig)
	if turn := two.approve(made.ID); turn.Status != store.Succeeded || two.prompts() != "old, old" {
		t.Errorf("the turn is %s with the prompts %s", turn.Status, two.prompts())
	}
	if two.promptOf("clerk") != "new" {
		t.Error("the current revision changed")
	}
}

func TestTurnsThatCannotStartInARevision(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, exec: answersDone()}
	one := p.start(t, tenantBase)
	base := one.fleet.Running().Hash
	one.mustPublishFor("acme", overlayOf("own"))
	for name, try := range map[string]struct {
		caller service.Caller
		hash   string
	}{
		"unknown":               {service.Caller{Tenant: "other", Subject: "bob"}, "none"},
		"of a tenant's overlay": {alice, base},
	} {
		_, err := one.startIn(try.caller, try.hash)
		if invalid, ok := errors.AsType[*service.InvalidError](err); !ok || invalid.Field != "revision" {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
