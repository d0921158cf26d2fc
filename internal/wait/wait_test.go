package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/wait"
)

func TestForWaitsForItsTimeOrTheEndOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if err := wait.For(t.Context(), time.Minute); err != nil || time.Since(begin) != time.Minute {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		begin = time.Now()
		if err := wait.For(ctx, time.Minute); !errors.Is(err, cause) || time.Since(begin) != time.Second {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
	})
}

func TestALockHasOneHolderPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks wait.Keyed[string]
		release, err := locks.Acquire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		other, err := locks.Acquire(t.Context(), "b")
		if err != nil {
			t.Fatalf("another key: %v", err)
		}
		other()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := locks.Acquire(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a held lock: %v", err)
		}
		time.AfterFunc(time.Second, release)
		begin := time.Now()
		again, err := locks.Acquire(t.Context(), "a")
		if err != nil || time.Since(begin) != time.Second {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		again()
	})
}
