package app

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
)

// starting is a model server that reports its limits once it is up.
type starting struct{ up atomic.Bool }

func (*starting) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(func(model.Event, error) bool) {}
}

func (s *starting) Limits(context.Context, string) (model.Limits, error) {
	if !s.up.Load() {
		return model.Limits{}, errors.New("down")
	}
	return model.Limits{ContextWindow: 32768}, nil
}

func TestAServerLearnsLimitsOfModelsWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &starting{}
		rt, err := builder.New().WithProvider("p", p).
			WithModel(spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "up"}).
			WithAgentSpec(spec.Agent{ID: "a", Description: "Helps.", ModelID: "m", ContextPolicy: &spec.ContextPolicy{}}).Build()
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			KeepLearningTools(ctx, rt, zap.NewNop())
		}()
		synctest.Wait()
		if got := rt.Revision().Set().Limits; len(got) > 0 {
			t.Errorf("a server that is down states %v", got)
		}
		p.up.Store(true)
		time.Sleep(toolRetry)
		synctest.Wait()
		if got := rt.Revision().Set().Limits["m"].ContextWindow; got != 32768 {
			t.Errorf("the window has %d tokens", got)
		}
		stop()
		<-ended
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
}
