package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

var usageTests = []test{
	{name: "AnEndedTurnIsCountedOnce", run: anEndedTurnIsCountedOnce},
	{name: "SharesCountForTheirAgentsAndModels", run: sharesCountForTheirAgentsAndModels},
	{name: "UsageIsFilteredAndGrouped", run: usageIsFilteredAndGrouped},
	{name: "OldUsageIsDeleted", run: oldUsageIsDeleted},
}

// agentUsage is a usage of an agent with a model, at one EUR for each token.
func agentUsage(agent, model string, tokens int) event.AgentUsage {
	return event.AgentUsage{
		Agent: agent, ModelID: model, Usage: event.Usage{Input: tokens, Output: 1, CacheRead: 2, CacheWrite: 3, Reasoning: 4},
		Cost: &event.Cost{Amount: float64(tokens), Currency: "EUR"},
	}
}

// listUsage returns groups as text: fields, counts, tokens, cost, and the latency buckets that are
// not empty.
func listUsage(f *fixture, q store.UsageQuery) (lines []string) {
	f.Helper()
	if q.From.IsZero() {
		q.From, q.To = f.now.Add(-1000*time.Hour), f.now.Add(1000*time.Hour)
	}
	if q.Limit == 0 {
		q.Limit = 100
	}
	groups := try(f.Usage(f.Context(), q)).wantOK(f)
	for _, g := range groups {
		var fields []string
		if !g.Hour.IsZero() {
			fields = append(fields, g.Hour.UTC().Format("15h"))
		}
		for _, text := range []string{g.Tenant, g.AgentID, g.ModelID, g.Currency} {
			if text != "" {
				fields = append(fields, text)
			}
		}
		line := fmt.Sprintf("%s: %d/%d/%d %v %v", strings.Join(fields, " "), g.Turns, g.Failed, g.Canceled, g.Usage, g.Cost)
		for bucket, n := range g.Latency {
			if n > 0 {
				line += fmt.Sprintf(" %d@%d", n, bucket)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func anEndedTurnIsCountedOnce(f *fixture) {
	c := f.createRunning("s", "t")
	last := f.finishOf(c)
	last.Now = f.now.Add(1500 * time.Millisecond)
	last.Finish.Agents = event.AgentUsages{agentUsage("helper", "m", 10)}
	stale := *last
	stale.Fence--
	var fenced *store.FencedError
	if err := f.Commit(f.Context(), &stale); !errors.As(err, &fenced) {
		f.Errorf("a lost worker: %v", err)
	}
	wantEqual(f, "before the end", listUsage(f, store.UsageQuery{}), nil)
	f.commitTurn(last)
	if err := f.Commit(f.Context(), last); !errors.As(err, &fenced) {
		f.Errorf("a second end: %v", err)
	}
	f.endTurn("t")
	one := []string{"EUR: 1/0/0 {10 1 2 3 4} 10 1@5"}
	wantEqual(f, "after the end", listUsage(f, store.UsageQuery{}), one)
	wantOK(f, f.DeleteSession(f.Context(), store.Everything, "s"))
	wantEqual(f, "without the session", listUsage(f, store.UsageQuery{}), one)

	f.createQueued("s2", "t2", "t3")
	f.endTurn("t3") // it never started
	failed := f.commitOf(f.claimTurn("t2"))
	failed.Finish = &store.Finish{Status: store.Failed}
	f.commitTurn(failed)
	wantEqual(f, "with others", listUsage(f, store.UsageQuery{By: store.UsageByTenant | store.UsageByAgent | store.UsageByModel}),
		[]string{"acme helper: 2/1/1 {0 0 0 0 0} 0 1@0", "acme helper m EUR: 1/0/0 {10 1 2 3 4} 10 1@5"})
}

func sharesCountForTheirAgentsAndModels(f *fixture) {
	dollars := agentUsage("orders", "large", 7)
	dollars.Cost.Currency = "USD"
	for i, agents := range []event.AgentUsages{
		{agentUsage("helper", "small", 10), agentUsage("orders", "large", 5), dollars},
		{agentUsage("helper", "small", 10), agentUsage("helper", "large", 1), {Agent: "orders", ToolCalls: 2}},
		{agentUsage("orders", "large", 5)}, // holds the conversation instead of the turn's agent
	} {
		id := fmt.Sprint("t", i)
		c := f.createRunning("s"+id, id)
		if i == 1 {
			e := f.endOf(id)
			e.Agents = agents
			try(f.EndTurn(f.Context(), e)).wantOK(f)
			continue
		}
		last := f.finishOf(c)
		last.Finish.Agents = agents
		f.commitTurn(last)
	}
	wantEqual(f, "by agent", listUsage(f, store.UsageQuery{By: store.UsageByAgent}), []string{
		"helper EUR: 3/0/1 {21 3 6 9 12} 21 3@0", "orders EUR: 0/0/0 {10 2 4 6 8} 10", "orders USD: 0/0/0 {7 1 2 3 4} 7",
	})
	wantEqual(f, "by model", listUsage(f, store.UsageQuery{By: store.UsageByModel}), []string{
		"large EUR: 1/0/0 {11 3 6 9 12} 11 1@0", "large USD: 0/0/0 {7 1 2 3 4} 7", "small EUR: 2/0/1 {20 2 4 6 8} 20 2@0",
	})
}

func usageIsFilteredAndGrouped(f *fixture) {
	begun := f.now.Truncate(time.Hour)
	for i, owner := range []store.Owner{ann, eve, bob} {
		id := fmt.Sprint("t", i)
		f.now = begun.Add(time.Duration(i) * 59 * time.Minute)
		f.sessionFor(owner, "s"+id)
		n := f.turnOf("s"+id, id)
		n.Turn.Owner = owner
		f.createTurn(n)
		last := f.finishOf(f.claimTurn(id))
		last.Finish.Agents = event.AgentUsages{agentUsage("helper", "m", 1)}
		f.commitTurn(last)
	}
	hour := func(n int) time.Time { return begun.Add(time.Duration(n) * time.Hour) }
	h := func(n int) string { return hour(n).UTC().Format("15h") }
	const one = " EUR: 1/0/0 {1 1 2 3 4} 1 1@0"
	for what, want := range map[string]struct {
		q    store.UsageQuery
		list []string
	}{
		"by hour":        {store.UsageQuery{By: store.UsageByHour}, []string{h(0) + " EUR: 2/0/0 {2 2 4 6 8} 2 2@0", h(1) + one}},
		"an hour":        {store.UsageQuery{By: store.UsageByHour, From: hour(1), To: hour(2)}, []string{h(1) + one}},
		"by tenant":      {store.UsageQuery{By: store.UsageByTenant}, []string{"acme EUR: 2/0/0 {2 2 4 6 8} 2 2@0", "umbra" + one}},
		"a tenant":       {store.UsageQuery{By: store.UsageByTenant, Tenant: "umbra"}, []string{"umbra" + one}},
		"another tenant": {store.UsageQuery{Tenant: "other"}, nil},
		"another agent":  {store.UsageQuery{AgentID: "other"}, nil},
		"a model":        {store.UsageQuery{ModelID: "m", AgentID: "helper"}, []string{"EUR: 3/0/0 {3 3 6 9 12} 3 3@0"}},
		"another model":  {store.UsageQuery{ModelID: "other"}, nil},
		"a limit":        {store.UsageQuery{By: store.UsageByTenant, Limit: 1}, []string{"acme EUR: 2/0/0 {2 2 4 6 8} 2 2@0"}},
	} {
		wantEqual(f, what, listUsage(f, want.q), want.list)
	}
}

func oldUsageIsDeleted(f *fixture) {
	begun := f.now.Truncate(time.Hour)
	for i := range 4 {
		f.now = begun.Add(time.Duration(i) * time.Hour)
		id := fmt.Sprint("t", i)
		f.createSessions("s" + id)
		f.createSucceeded("s"+id, id)
	}
	r := store.Retention{Now: begun.Add(100*time.Hour + 3*time.Hour/2), Usage: 100 * time.Hour, Limit: 1}
	wantEqual(f, "what was deleted", pruneStore(f, r), store.Pruned{Usage: 1}) // the hour of the cutoff is kept
	wantEqual(f, "what was deleted once more", pruneStore(f, r), store.Pruned{})
	r.Now, r.Limit = r.Now.Add(time.Hour), 0
	wantEqual(f, "what was deleted an hour later", pruneStore(f, r), store.Pruned{Usage: 1})
	wantEqual(f, "what is left", listUsage(f, store.UsageQuery{}), []string{": 2/0/0 {0 0 0 0 0} 0 2@0"})
}
