package work

import (
	"context"
	"testing"

	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// endingStore is a store whose reads end with the program.
type endingStore struct{ store.Work }

func (endingStore) Turn(ctx context.Context, _ store.Scope, _ string) (*store.Turn, error) {
	return nil, ctx.Err()
}

type someTenants struct{ Tenants }

func (someTenants) AnyTenants() bool { return true }

// TestAClaimThatTheEndInterruptsIsNoError claims a turn while the program ends.
func TestAClaimThatTheEndInterruptsIsNoError(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	life, end := context.WithCancelCause(t.Context())
	defer end(nil)
	p := &Pool{settings: Settings{Store: endingStore{}, Tenants: someTenants{}, Logger: zap.New(core)}, ctx: life}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Work(ctx, "t")
	if logs.Len() > 0 {
		t.Errorf("the log has %v", logs.All())
	}
}
