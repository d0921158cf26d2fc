package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultIdleTimeout is how long a stream may be silent when nothing else is
// said.
const DefaultIdleTimeout = 60 * time.Second

// errSilent is the cause of the error of a stream that was silent for too long.
var errSilent = errors.New("the stream was silent for too long")

// Watched wraps an executor so that each of its streams ends: one that is silent
// for too long is canceled and fails with class Timeout, and one that stops
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

	silences silences
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
		s.cancel = cancel
		defer cancel()
		w.silences.add(s)
		defer w.silences.remove(s)
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
	cancel context.CancelFunc
	// deadline is when the stream will have been silent for too long, counted
	// from begun, or one of the marks below. It moves with each event.
	deadline atomic.Int64
	// next and previous are the streams beside it in a list of silences.
	next, previous *watch
}

// What a deadline may be besides a time.
const (
	// waiting is a stream whose consumer is busy with an event.
	waiting = -1
	// silent is a stream that was canceled because it was silent.
	silent = -2
)

// silences cancels the streams of an executor that are silent for too long. They
// share one timer, which looks at their deadlines when it fires: moving it with each
// event would cost more, and so would a timer for each stream.
type silences struct {
	mu sync.Mutex
	// first is the stream that was added last.
	first *watch
	timer *time.Timer
	// armed is set while the timer runs, and fires is when it does so.
	armed bool
	fires time.Time
}

// add begins to watch a stream.
func (l *silences) add(s *watch) {
	s.begun = time.Now()
	s.deadline.Store(int64(s.idle))
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.next = l.first; s.next != nil {
		s.next.previous = s
	}
	l.first = s
	if end := s.begun.Add(s.idle); !l.armed || end.Before(l.fires) {
		l.setTimer(end, s.idle)
	}
}

// remove ends the watch of a stream. The timer is left running: the next stream
// probably begins before it fires.
func (l *silences) remove(s *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.previous != nil {
		s.previous.next = s.next
	} else {
		l.first = s.next
	}
	if s.next != nil {
		s.next.previous = s.previous
	}
	s.next, s.previous = nil, nil
}

// setTimer makes the timer fire at a time, which is so long from now.
func (l *silences) setTimer(at time.Time, left time.Duration) {
	l.armed, l.fires = true, at
	if l.timer == nil {
		l.timer = time.AfterFunc(left, l.check)
		return
	}
	l.timer.Reset(left)
}

// check is called when the timer fires. It cancels the streams that are silent, and
// sets the timer anew as long as there are others.
func (l *silences) check() {
	var ended []context.CancelFunc
	defer func() {
		for _, cancel := range ended {
			cancel()
		}
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	now, next := time.Now(), time.Duration(-1)
	for s := l.first; s != nil; s = s.next {
		left, ok := s.timeLeft(now)
		switch {
		case !ok:
			ended = append(ended, s.cancel)
		case next < 0 || left < next:
			next = left
		}
	}
	if l.armed = next >= 0; l.armed {
		l.setTimer(now.Add(next), next)
	}
}

// timeLeft returns how long the stream may still be silent, and marks it as silent
// when that is over.
func (s *watch) timeLeft(now time.Time) (time.Duration, bool) {
	for {
		at := s.deadline.Load()
		switch at {
		case silent:
			return s.idle, true // it was canceled and has not ended yet
		case waiting:
			return s.idle, true
		}
		if left := time.Duration(at) - now.Sub(s.begun); left > 0 {
			return left, true
		}
		if s.deadline.CompareAndSwap(at, silent) {
			return 0, false
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
