package schema

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestLongValidationsAreLimited occupies all slots for long validations: another waits at most
// until its context ends, and a short validation does not wait.
func TestLongValidationsAreLimited(t *testing.T) {
	validate := func(wait time.Duration, steps int) error {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		var m meter
		m.begin(ctx, baseSteps, 1)
		return m.run(func() {
			for range steps {
				m.count(1)
			}
		})
	}
	for range cap(longValidations) {
		longValidations <- struct{}{}
	}
	if err := validate(10*time.Millisecond, 2*contextSteps); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a long validation without a place ended with %v", err)
	}
	if err := validate(time.Minute, contextSteps/2); err != nil {
		t.Errorf("a short validation ended with %v", err)
	}
	for range cap(longValidations) {
		<-longValidations
	}
	for range 2 * cap(longValidations) {
		if err := validate(time.Minute, 4*contextSteps); err != nil {
			t.Errorf("a long validation ended with %v", err)
		}
	}
	if len(longValidations) != 0 {
		t.Error("a validation kept its place")
	}
}
