package work

import (
	"testing"
	"time"
)

// Each move of a flusher leads from each state where its diagram says.
func TestEveryTransitionOfTheFlusher(t *testing.T) {
	t.Parallel()
	moves := map[string]func(*flusher) bool{
		"arm":         func(f *flusher) bool { f.armTimer(time.Minute); return true },
		"expire":      (*flusher).noteExpiry,
		"takeOverdue": (*flusher).takeOverdue,
		"disarm":      func(f *flusher) bool { f.disarmTimer(); return true },
	}
	type result struct {
		state flushing
		taken bool
	}
	for _, tt := range []struct {
		move               string
		idle, armed, overd result
	}{
		{"arm", result{armed, true}, result{armed, true}, result{overdue, true}},
		{"expire", result{idle, false}, result{overdue, true}, result{overdue, false}},
		{"takeOverdue", result{idle, false}, result{armed, false}, result{idle, true}},
		{"disarm", result{idle, true}, result{idle, true}, result{idle, true}},
	} {
		for from, want := range []result{idle: tt.idle, armed: tt.armed, overdue: tt.overd} {
			f := &flusher{state: flushing(from), fire: func() { t.Error("the timer fired") }}
			f.due = time.Now().Add(time.Hour)
			f.timer = time.AfterFunc(time.Hour, f.fire)
			taken := moves[tt.move](f)
			if got := (result{f.state, taken}); got != want {
				t.Errorf("%s in state %d leads to %+v, want %+v", tt.move, from, got, want)
			}
			if stopped := f.timer.Stop(); stopped == (tt.move == "disarm") {
				t.Errorf("after %s in state %d the timer runs: %t", tt.move, from, stopped)
			}
		}
	}
}

// A timer that runs is brought forward, and never put off.
func TestAFlusherIsNeverPutOff(t *testing.T) {
	t.Parallel()
	f := &flusher{fire: func() {}}
	defer f.disarmTimer()
	f.armTimer(time.Hour)
	first := f.due
	if f.armTimer(2 * time.Hour); f.due != first {
		t.Errorf("it is due %s later", f.due.Sub(first))
	}
	if f.armTimer(time.Minute); !f.due.Before(first) {
		t.Error("it is due no earlier")
	}
}
