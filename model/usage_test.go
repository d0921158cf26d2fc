package model

import (
	"testing"

	"pgregory.net/rapid"
)

// anyUsage draws what a server may report, however absurd.
func anyUsage(t *rapid.T) Usage {
	return Usage{
		Input: rapid.Int().Draw(t, "input"), Output: rapid.Int().Draw(t, "output"),
		CacheRead: rapid.Int().Draw(t, "cache read"), CacheWrite: rapid.Int().Draw(t, "cache write"),
		Reasoning: rapid.Int().Draw(t, "reasoning"),
	}
}

// addsUp reports whether a usage can be counted against a budget.
func addsUp(u Usage) bool {
	return u.Input >= u.CacheRead+u.CacheWrite && u.Output >= u.Reasoning &&
		u.CacheRead >= 0 && u.CacheWrite >= 0 && u.Reasoning >= 0 && u.Total() >= u.Input
}

func TestPropertyTheUsageOfAnAnswerAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		reported := anyUsage(t)
		var answer Answer
		if err := answer.Add(&Event{Type: EventFinish, Reason: FinishStop, Usage: &reported}); err != nil {
			t.Fatal(err)
		}
		if !addsUp(answer.Usage) {
			t.Fatalf("%+v is counted as %+v", reported, answer.Usage)
		}
		if addsUp(reported) && max(reported.Input, reported.Output, reported.CacheRead, reported.CacheWrite) < 1<<29 && answer.Usage != reported {
			t.Fatalf("%+v became %+v", reported, answer.Usage)
		}
	})
}

func TestReasoningThatTheSumLeavesOutIsCounted(t *testing.T) {
	t.Parallel()
	got := Usage{Input: 10, Output: 5, CacheRead: 8, CacheWrite: 4, Reasoning: 7}.Reconciled()
	if want := (Usage{Input: 12, Output: 7, CacheRead: 8, CacheWrite: 4, Reasoning: 7}); got != want {
		t.Errorf("usage is %+v, want %+v", got, want)
	}
}
