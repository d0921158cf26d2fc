package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"
)

// DefaultIdleTimeout is how long a stream may be silent when nothing else is
// said.
const DefaultIdleTimeout = 60 * time.Second

// errSilent is the cause of the error of a stream that was silent for too long.
var errSilent = errors.New("the stream was silent for too long")

// Watched wraps an executor so that each of its streams ends: one that is silent
// for too long is cancelled and fails with class Timeout, and one that stops
// without an end fails with class StreamInterrupted. Events after the end are
// dropped. Every vendor stream passes through here, and NULs and invalid UTF-8 are
// replaced.
type Watched struct {
	Executor Executor
	// Idle is how long a stream may be silent, before its first event or between
	// two; 0 for ever. Models that think before they answer may be silent for
	// twice as long. The time that the consumer takes does not count.
	Idle time.Duration
	// Breaker refuses calls while it is open, and counts them; nil for none.
	Breaker *Breaker
}

var _ Executor = (*Watched)(nil)

// Stream asks the wrapped executor.
func (w *Watched) Stream(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		attempt, err := w.Breaker.beginAttempt()
		if err != nil {
			yield(Event{}, err)
			return
		}
		s := &watch{ctx: ctx, yield: yield, attempt: attempt, idle: idleLimit(w.Idle, req)}
		defer s.attempt.countOutcome()
		if s.idle == 0 {
			w.readStream(ctx, req, s)
			return
		}
		own, cancel := context.WithCancel(ctx)
		s.startWatching(cancel)
		defer s.stopWatching()
		w.readStream(own, req, s)
	}
}

// readStream reads one stream to its end. It is called instead of being ranged over,
// so that an executor that does not stop when it is told to does no harm.
func (w *Watched) readStream(ctx context.Context, req *Request, s *watch) {
	w.Executor.Stream(ctx, req)(s.passEvent)
	s.failUnfinished()
}

// idleLimit returns how long a stream that answers a request may be silent.
func idleLimit(idle time.Duration, req *Request) time.Duration {
	if mayThinkLong(req) {
		return 2 * idle
	}
	return idle
}

// mayThinkLong reports whether a model may think for long before it answers: it was
// told to, or its name says so.
func mayThinkLong(req *Request) bool {
	if e := req.ReasoningEffort; e != nil && e.Standard() != "off" {
		return true
	}
	name := strings.ToLower(req.Model)
	name = name[strings.LastIndexByte(name, '/')+1:]
	for _, family := range []string{"o1", "o3", "o4"} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return strings.Contains(name, "thinking") || strings.Contains(name, "reasoning")
}

// watch is one stream that is watched.
type watch struct {
	ctx     context.Context
	yield   func(Event, error) bool
	attempt attempt
	// over is set once the consumer had the end or wants no more.
	over bool

	idle   time.Duration
	begun  time.Time
	timer  *time.Timer
	cancel context.CancelFunc
	// deadline is when the stream will have been silent for too long, counted
	// from begun, or one of the marks below. It moves with each event. Moving
	// the timer each time would cost more; it looks at the deadline when it
	// fires.
	deadline atomic.Int64
}

// What a deadline may be besides a time.
const (
	// waiting is a stream whose consumer is busy with an event.
	waiting = -1
	// silent is a stream that was cancelled because it was silent.
	silent = -2
	// stopped is a stream that is over.
	stopped = -3
)

// startWatching begins to watch a stream, which cancel ends.
func (s *watch) startWatching(cancel context.CancelFunc) {
	s.begun, s.cancel = time.Now(), cancel
	s.deadline.Store(int64(s.idle))
	// The timer is set only once s.timer can be seen by what it calls.
	s.timer = time.AfterFunc(1<<63-1, s.checkDeadline)
	s.timer.Reset(s.idle)
}

func (s *watch) stopWatching() {
	s.deadline.Store(stopped)
	s.timer.Stop()
	s.cancel()
}

// checkDeadline is called when the timer fires. It cancels the stream, or sets the
// timer anew when there was an event in the meantime.
func (s *watch) checkDeadline() {
	for {
		at, left := s.deadline.Load(), s.idle
		switch at {
		case stopped, silent:
			return
		case waiting:
		default:
			left = time.Duration(at) - time.Since(s.begun)
		}
		if left > 0 {
			s.timer.Reset(left)
			return
		}
		if s.deadline.CompareAndSwap(at, silent) {
			s.cancel()
			return
		}
	}
}

// passEvent passes one event on, and reports whether another is wanted.
func (s *watch) passEvent(ev Event, err error) bool {
	if s.over {
		return false
	}
	if s.idle > 0 && s.deadline.Swap(waiting) == silent && (err != nil || ev.Type != EventFinish) {
		ev, err = Event{}, s.silenceError()
	}
	if err == nil {
		cleanEvent(&ev)
	} else {
		err = cleanError(err)
	}
	s.attempt.noteEvent(s.ctx, ev.Type, err)
	s.over = err != nil || ev.Type == EventFinish
	if !s.yield(ev, err) {
		s.over = true
	}
	if s.idle > 0 {
		s.deadline.Store(int64(time.Since(s.begun) + s.idle))
	}
	return !s.over
}

// failUnfinished passes on the error of a stream that stopped without an end.
func (s *watch) failUnfinished() {
	if s.over {
		return
	}
	err := unfinishedError(s.ctx)
	if s.deadline.Load() == silent {
		err = s.silenceError()
	}
	s.attempt.noteEvent(s.ctx, 0, err)
	s.yield(Event{}, err)
}

func (s *watch) silenceError() error {
	return &Error{Class: Timeout, Message: fmt.Sprintf("the stream was silent for %gs", s.idle.Seconds()), Err: errSilent}
}

// unfinishedError returns why a stream stopped without an end.
func unfinishedError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return AsError(err)
	}
	return &Error{Class: StreamInterrupted, Message: "the stream ended before the answer did"}
}
