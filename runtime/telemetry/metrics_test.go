package telemetry

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
)

func TestModelCallsAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(t, Settings{})
		ctx, turn := w.StartTurn(t.Context(), aTurn)
		_, call := turn.StartModel(ctx, anInference)
		time.Sleep(time.Second)
		call.Observe(&model.Event{Type: model.EventRetry, Retry: aRetry})
		call.Observe(&model.Event{Type: model.EventReasoning})
		time.Sleep(2 * time.Second)
		call.Observe(&model.Event{Type: model.EventText})
		call.End(ModelOutcome{Usage: someUsage, Cost: 0.25, Currency: "EUR"})
		turn.End(TurnOutcome{Outcome: event.Outcome{Steps: 3}})

		by := map[string]string{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
			"gen_ai.request.model": "gpt-5", "gen_ai.response.model": "gpt-5",
		}
		w.wantPoint(metricModelDuration, "s", 3, by)
		w.wantPoint(metricFirstChunk, "s", 1, by)
		w.wantPoint(metricRetries, "{retry}", 1, map[string]string{
			"gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5",
			"agentruntime.retry.class": "overloaded", "agentruntime.retry.plan": "continue_text",
		})
		w.wantPoint(metricCost, "{currency}", 0.25, map[string]string{
			"gen_ai.agent.name": "helper", "agentruntime.model.id": "main", "agentruntime.usage.currency": "EUR",
		})
		w.wantPoint(metricSteps, "{step}", 3, map[string]string{"gen_ai.agent.name": "helper"})
		w.wantPoint(metricActive, "{turn}", 0, map[string]string{"gen_ai.agent.name": "helper"})

		tokens, unit := w.metric(metricTokens)
		sums := map[string]float64{}
		for _, p := range tokens {
			sums[p.attributes["gen_ai.agent.name"]+" "+p.attributes["gen_ai.token.type"]] = p.sum
			if diff := cmp.Diff(tokenBuckets, p.bounds); diff != "" {
				t.Error(diff)
			}
		}
		if diff := cmp.Diff(map[string]float64{"helper input": 100, "helper output": 20}, sums); diff != "" || unit != "{token}" {
			t.Errorf("unit %s, %s", unit, diff)
		}
	})
}

// wantPoint checks the one value of a metric.
func (w *watch) wantPoint(name, unit string, sum float64, attributes map[string]string) {
	w.t.Helper()
	points, got := w.metric(name)
	if len(points) != 1 || got != unit || points[0].sum != sum {
		w.t.Errorf("%s: unit %q, %v; want %v", name, got, points, sum)
		return
	}
	if diff := cmp.Diff(attributes, points[0].attributes); diff != "" {
		w.t.Errorf("%s: %s", name, diff)
	}
}

func TestAModelCallWithoutUsageCountsNoTokens(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{})
	ctx, turn := w.StartTurn(t.Context(), aTurn)
	_, call := turn.StartModel(ctx, anInference)
	call.End(ModelOutcome{})
	turn.End(TurnOutcome{})
	for _, name := range []string{metricTokens, metricCost, metricFirstChunk} {
		if points, _ := w.metric(name); len(points) != 0 {
			t.Errorf("%s is %v", name, points)
		}
	}
}

func TestARunningTurnIsActive(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{})
	_, turn := w.StartTurn(t.Context(), aTurn)
	w.wantPoint(metricActive, "{turn}", 1, map[string]string{"gen_ai.agent.name": "helper"})
	turn.End(TurnOutcome{})
}

func TestAnAgentThatCannotBeResolvedIsNotNamed(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{})
	w.Resolved(t.Context(), "whatever a caller likes", 2*time.Second, "unknown_agent")
	w.wantPoint(metricResolve, "s", 2, map[string]string{"error.type": "unknown_agent"})
}

func TestResolvingIsMeasuredByAgent(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{})
	w.Resolved(t.Context(), "helper", 2*time.Second, "")
	w.wantPoint(metricResolve, "s", 2, map[string]string{"gen_ai.agent.name": "helper"})
}

func TestACacheKeepsNoMoreThanItsLimit(t *testing.T) {
	t.Parallel()
	var c cache[string, string]
	made := func(key string) *string { return &key }
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range maxCached + 100 {
				if key := fmt.Sprint(i); *c.get(key, made) != key {
					t.Errorf("%s has the value of another", key)
				}
			}
		})
	}
	all.Wait()
	if n := len(*c.kept.Load()); n != maxCached {
		t.Errorf("%d keys are kept", n)
	}
	if first, second := c.get("0", made), c.get("0", made); first != second {
		t.Error("what is kept is made again")
	}
}

// tenantsOf returns what the points of a metric have as their tenant, "" for none.
func (w *watch) tenantsOf(name string) []string {
	w.t.Helper()
	points, _ := w.metric(name)
	var tenants []string
	for _, p := range points {
		tenant, ok := p.attributes["tenant"]
		if ok && tenant == "" {
			w.t.Errorf("%s has an empty tenant", name)
		}
		tenants = append(tenants, tenant)
	}
	slices.Sort(tenants)
	return slices.Compact(tenants)
}

func TestMetricsOfTurnsHaveTheTenantsThatAreConfigured(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		configured [][]string
		owner      string
		want       string
	}{
		{"nothing is said", nil, "acme", ""},
		{"none", [][]string{nil}, "acme", ""},
		{"the default one alone", [][]string{{"default"}}, "default", ""},
		{"a known one", [][]string{{"acme"}}, "acme", "acme"},
		{"the default one beside others", [][]string{{"acme"}}, "default", "default"},
		{"an unknown one", [][]string{{"acme"}}, "globex", "_OTHER"},
		{"a turn that nobody owns", [][]string{{"acme"}}, "", ""},
		{"one that was added", [][]string{{"acme"}, {"acme", "globex"}}, "globex", "globex"},
		{"one that was taken away", [][]string{{"acme", "globex"}, {"acme"}}, "globex", "_OTHER"},
		{"all were taken away", [][]string{{"acme"}, {}}, "acme", ""},
	} {
		w := newWatch(t, Settings{})
		for _, names := range tt.configured {
			w.SetTenants(names)
		}
		owned := aTurn
		owned.Tenant = tt.owner
		ctx, turn := w.StartTurn(t.Context(), owned)
		_, call := turn.StartModel(ctx, anInference)
		call.Observe(&model.Event{Type: model.EventRetry, Retry: aRetry})
		call.Observe(&model.Event{Type: model.EventText})
		call.End(ModelOutcome{Usage: someUsage, Cost: 0.25, Currency: "EUR"})
		callCtx, used := turn.StartTool(ctx, aToolCall)
		_, delegate := w.StartTurn(callCtx, Turn{AgentID: "expert", TurnID: "t-2", ParentTurnID: "t-1"})
		delegate.End(TurnOutcome{Status: event.StatusSucceeded})
		used.End(ToolOutcome{Outcome: event.CallSucceeded})
		turn.End(TurnOutcome{Status: event.StatusSucceeded})
		w.Resolved(t.Context(), "helper", time.Second, "")
		for _, name := range []string{metricActive, metricSteps, metricTurnDuration, metricToolDuration, metricTokens, metricCost} {
			if got := w.tenantsOf(name); !slices.Equal(got, []string{tt.want}) {
				t.Errorf("%s: %s has the tenants %q, want %q", tt.name, name, got, tt.want)
			}
		}
		for _, name := range []string{metricModelDuration, metricFirstChunk, metricRetries, metricResolve} {
			if got := w.tenantsOf(name); !slices.Equal(got, []string{""}) {
				t.Errorf("%s: %s has the tenants %q", tt.name, name, got)
			}
		}
	}
}

// A turn is counted as active until it is not, whatever becomes of its tenant.
func TestATurnEndsWithTheTenantItBeganWith(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{})
	w.SetTenants([]string{"acme"})
	owned := aTurn
	owned.Tenant = "acme"
	ctx, turn := w.StartTurn(t.Context(), owned)
	w.SetTenants(nil)
	_, delegate := w.StartTurn(ctx, aTurn)
	delegate.End(TurnOutcome{})
	turn.End(TurnOutcome{Outcome: event.Outcome{Steps: 3}})
	w.wantPoint(metricActive, "{turn}", 0, map[string]string{"gen_ai.agent.name": "helper", "tenant": "acme"})
	(*Telemetry)(nil).SetTenants([]string{"acme"})
}
