package service_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
)

// stranger is of another tenant than alice and bob.
var stranger = service.Caller{Tenant: "globex", Subject: "eve"}

func readUsage(t *testing.T, s *service.Service, c service.Caller, q service.UsageQuery) []service.UsageTotal {
	t.Helper()
	if q.To.IsZero() {
		q.From, q.To = time.Now().Add(-2*time.Hour), time.Now().Add(time.Hour)
	}
	totals, err := s.ReadUsage(t.Context(), c, q)
	if err != nil {
		t.Fatal(err)
	}
	return totals
}

func TestUsageIsOfTheCallersTenant(t *testing.T) {
	s := serve(t, turntest.Asking(t))
	b := possess(t, s)
	if totals := readUsage(t, s, alice, service.UsageQuery{}); len(totals) != 0 {
		t.Errorf("a live turn is counted: %+v", totals)
	}
	canceled, err := s.CancelTurn(t.Context(), alice, b.turn, "enough")
	if err != nil {
		t.Fatal(err)
	}
	used := canceled.Outcome.Usage
	if used == (event.Usage{}) || canceled.Outcome.Steps == 0 {
		t.Errorf("the outcome of a canceled turn lacks its usage: %+v", canceled.Outcome)
	}
	for who, c := range map[string]service.Caller{"the owner": alice, "another subject of the tenant": bob, "the operator": service.Operator()} {
		totals := readUsage(t, s, c, service.UsageQuery{By: store.UsageByTenant | store.UsageByAgent | store.UsageByModel})
		if len(totals) != 1 || totals[0].Tenant != alice.Tenant || totals[0].AgentID != "clerk" || totals[0].ModelID == "" || totals[0].Turns != 1 ||
			totals[0].Canceled != 1 || totals[0].Failed != 0 || totals[0].Usage != used {
			t.Errorf("%s sees %+v", who, totals)
		}
	}
	for who, c := range map[string]service.Caller{"another tenant": stranger, "a key for one agent": mayUse("clerk")} {
		for _, q := range []service.UsageQuery{{}, {Tenant: alice.Tenant}, {By: store.UsageByTenant}} {
			if totals := readUsage(t, s, c, q); len(totals) != 0 {
				t.Errorf("%s sees %+v", who, totals)
			}
		}
	}
	if totals := readUsage(t, s, alice, service.UsageQuery{Tenant: stranger.Tenant}); len(totals) != 0 {
		t.Errorf("alice sees %+v of another tenant", totals)
	}
	var invalid *service.InvalidError
	if _, err := s.ReadUsage(t.Context(), alice, service.UsageQuery{From: time.Now(), To: time.Now().Add(-time.Hour)}); !errors.As(err, &invalid) || invalid.Field != "from" {
		t.Errorf("an empty span of time: %v", err)
	}
}

// groupsOf is a store with some groups of usage.
type groupsOf struct {
	store.Store
	groups []*store.UsageGroup
}

func (g groupsOf) Usage(context.Context, store.UsageQuery) ([]*store.UsageGroup, error) {
	return g.groups, nil
}

func TestUsageMergesCurrenciesAndEstimatesPercentiles(t *testing.T) {
	euro := &store.UsageGroup{AgentID: "clerk", Currency: "EUR", UsageCounts: store.UsageCounts{Turns: 90, Cost: 1}}
	dollar := &store.UsageGroup{AgentID: "clerk", Currency: "USD", UsageCounts: store.UsageCounts{Turns: 10, Cost: 2}}
	euro.Latency[4], dollar.Latency[len(dollar.Latency)-1] = 90, 10 // from 0.5 s to 1 s, and more than an hour
	none := &store.UsageGroup{AgentID: "idle", UsageCounts: store.UsageCounts{Usage: event.Usage{Input: 5}}}
	s := serve(t, turntest.Asking(t), on(groupsOf{memory.New(store.Settings{}), []*store.UsageGroup{euro, dollar, none}}))
	totals := readUsage(t, s, alice, service.UsageQuery{By: store.UsageByAgent})
	if len(totals) != 2 || totals[0].AgentID != "idle" || totals[1].Turns != 100 || len(totals[1].Costs) != 2 {
		t.Fatalf("the totals are %+v", totals)
	}
	if _, ok := totals[0].Percentile(0.5); ok {
		t.Error("turns that were not started have a latency")
	}
	for share, want := range map[float64]time.Duration{0: 500 * time.Millisecond, 0.45: 750 * time.Millisecond, 0.9: time.Second, 0.95: time.Hour, 1: time.Hour} {
		if got, ok := totals[1].Percentile(share); !ok || got != want {
			t.Errorf("percentile %v is %v, %v; want %v", share, got, ok, want)
		}
	}
}
