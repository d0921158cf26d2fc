package panics_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/internal/panics"
)

func explode(v any) { panic(v) }

func TestRecoverKeepsTheValueAndWhereItBegan(t *testing.T) {
	t.Parallel()
	err := func() (err error) {
		defer panics.Recover(&err)
		explode("of a tool")
		return nil
	}()
	panicked, ok := errors.AsType[*panics.Error](err)
	if !ok || panicked.Value != "of a tool" || err.Error() != "panic: of a tool" || !bytes.Contains(panicked.Stack, []byte("panics_test.explode")) {
		t.Errorf("got %#v", err)
	}
}

func TestRecoverLeavesErrorsAlone(t *testing.T) {
	t.Parallel()
	said := errors.New("said")
	err := func() (err error) {
		defer panics.Recover(&err)
		return said
	}()
	if !errors.Is(err, said) {
		t.Errorf("got %v", err)
	}
}

func TestHandleIsCalledAfterAPanicAlone(t *testing.T) {
	t.Parallel()
	calls := 0
	run := func(v any) {
		defer panics.Handle(func(p *panics.Error) {
			calls++
			if p.Value != v || len(p.Stack) == 0 {
				t.Errorf("got %#v", p)
			}
		})
		if v != nil {
			explode(v)
		}
	}
	if run(nil); calls != 0 {
		t.Error("it is called without a panic")
	}
	if run(7); calls != 1 {
		t.Errorf("it is called %d times", calls)
	}
}
