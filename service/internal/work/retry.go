package work

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/cenkalti/backoff/v4"
)

// retryUntilEnd retries a function until it succeeds, ctx ends, or an error is final.
func retryUntilEnd(ctx context.Context, try func() error, isFinal func(error) bool) error {
	failed := try()
	if failed == nil || isFinal(failed) {
		return failed
	}
	again := backoff.WithContext(backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(2*time.Second), backoff.WithMaxElapsedTime(0)), ctx)
	return backoff.Retry(func() error {
		err := failed
		if failed = nil; err == nil {
			err = try()
		}
		if err != nil && isFinal(err) {
			return backoff.Permanent(err)
		}
		return err
	}, again)
}

// isDeclined reports whether a turn is simply not available to claim.
func isDeclined(err error) bool {
	return errors.Is(err, store.ErrHeld) || errors.Is(err, store.ErrNotFound) || errors.As(err, new(*store.StateError))
}
