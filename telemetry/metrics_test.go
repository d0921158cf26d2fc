package telemetry

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
		turn.End(TurnOutcome{Steps: 3})

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
			sums[p.attributes["gen_ai.token.type"]] = p.sum
			if diff := cmp.Diff(tokenBuckets, p.bounds); diff != "" {
				t.Error(diff)
			}
		}
		if diff := cmp.Diff(map[string]float64{"input": 100, "output": 20}, sums); diff != "" || unit != "{token}" {
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
