package model_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
)

// deltas is a model that answers in the given number of chunks, at no cost of its own.
type deltas int

func (n deltas) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for range n {
			if !yield(model.Event{Type: model.EventText, Delta: "part "}, nil) {
				return
			}
		}
		yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop}, nil)
	}
}

// BenchmarkCall measures the wrappers' overhead for a call whose answer has 50 chunks.
func BenchmarkCall(b *testing.B) {
	bare := model.Executor(deltas(50))
	watched := &model.Watched{Executor: bare, Idle: time.Minute, Breaker: model.NewBreaker("m")}
	member := model.Member{ID: "m", Upstream: "up", Weight: 1, Executor: watched}
	pool := model.NewPool("pool", []model.Member{member}, model.PoolPolicy{})
	policy := model.RetryPolicy{MaxRetries: 2, MaxStreamRetries: 2}
	for _, tt := range []struct {
		name string
		exec model.Executor
	}{
		{"bare", bare},
		{"watched", watched},
		{"retrying", &model.Retrying{Executor: watched, Policy: policy}},
		{"pool", pool},
		{"retrying pool", &model.Retrying{Executor: pool, Policy: policy}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			req := &model.Request{Model: "up", SessionID: "s"}
			ctx := b.Context()
			n := 0
			take := func(model.Event, error) bool { n++; return true }
			b.ReportAllocs()
			for b.Loop() {
				tt.exec.Stream(ctx, req)(take)
			}
		})
	}
}
