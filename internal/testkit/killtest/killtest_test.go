package killtest_test

import (
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/killtest"
)

// work is the task of a test process.
type work struct {
	Passes, Point int
	Fails         bool
}

func TestMain(m *testing.M) {
	killtest.Main(m, func(w *work) error {
		p := killtest.NewPoint(w.Point)
		for range w.Passes {
			p.Pass()
		}
		if w.Fails {
			return errors.New("it fails")
		}
		return nil
	})
}

func TestAProcessIsKilledAtItsPoint(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		work   work
		killed bool
	}{
		"the first":       {work{Passes: 3, Point: 1}, true},
		"the last":        {work{Passes: 3, Point: 3}, true},
		"one after it":    {work{Passes: 3, Point: 4}, false},
		"none":            {work{Passes: 3}, false},
		"before an error": {work{Passes: 3, Point: 3, Fails: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if killed := killtest.Start(t, tt.work); killed != tt.killed {
				t.Errorf("killed: %v, want %v", killed, tt.killed)
			}
		})
	}
}
