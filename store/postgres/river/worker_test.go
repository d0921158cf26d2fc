package river

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

func job(turnID string, attempted time.Time) *river.Job[turn] {
	return &river.Job[turn]{JobRow: &rivertype.JobRow{AttemptedAt: &attempted}, Args: turn{ID: turnID}}
}

func TestAJobHasNoTimeoutButIsRescued(t *testing.T) {
	w := &worker{}
	if got := w.Timeout(job("turn", time.Now())); got != -1 {
		t.Errorf("the timeout of a job that begins is %v", got)
	}
	old := time.Now().Add(-rescueAfter - time.Minute)
	if got := w.Timeout(job("turn", old)); got <= 0 || got > time.Since(old) {
		t.Errorf("the timeout of a job from %v ago is %v: it is not rescued", time.Since(old), got)
	}
}

func TestAJobThatWasFetchedLateIsHandedBack(t *testing.T) {
	var handled []string
	d := &Dispatcher{slots: make(chan struct{}, 1), work: func(_ context.Context, id string) { handled = append(handled, id) }}
	w := &worker{dispatcher: d}
	if err := w.Work(t.Context(), job("in time", time.Now())); err != nil {
		t.Fatal(err)
	}
	d.ending.Store(true)
	var snooze *rivertype.JobSnoozeError
	if err := w.Work(t.Context(), job("late", time.Now())); !errors.As(err, &snooze) || snooze.Duration != 0 {
		t.Errorf("it was ended with %v", err)
	}
	if len(handled) != 1 || handled[0] != "in time" {
		t.Errorf("handled %v", handled)
	}
}
