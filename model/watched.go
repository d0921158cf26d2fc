package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultIdleTimeout is how long a stream may be silent by default.
const DefaultIdleTimeout = 60 * time.Second

// errSilent is the cause of the error of a stream that was silent for too long.
var errSilent = errors.New("the stream was silent for too long")

// Watched wraps an executor so that each stream ends: a silent stream is canceled and fails with
// class Timeout, and a stream without an end fails with class StreamInterrupted. An answer
// without text, tool call or refusal fails with class EmptyAnswer. It drops events after the end,
// and replaces NULs and invalid UTF-8. Every vendor stream passes through here.
type Watched struct {
	Executor Executor
	// Idle is how long a stream may be silent after its first event, and FirstToken how long before
	// it; 0 for no limit. Models that think before they answer may be silent for twice as long. The
	// consumer's own time does not count, and any byte that the executor reports to an
	// ActivityReporter ends the silence. A silent stream ends up to a 32nd of Idle later.
	Idle, FirstToken time.Duration
	// Breaker rejects calls while it is open, and counts them; nil for none.
	Breaker *Breaker

	silences silences
}

var _ Executor = (*Watched)(nil)

// Stream calls the wrapped executor.
func (w *Watched) Stream(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		attempt, err := w.Breaker.beginAttempt()
		if err != nil {
			yield(Event{}, err)
			return
		}
		s := &watch{yield: yield, attempt: attempt}
		s.ctx.Context = ctx
		defer s.attempt.countOutcome()
		every := cmp.Or(w.Idle, w.FirstToken) / silenceTicks
		if every == 0 {
			w.readStream(ctx, req, s)
			return
		}
		s.list, s.every, s.idle = &w.silences, max(every, time.Microsecond), w.Idle
		first := w.FirstToken
		if mayThinkLong(req) {
			s.idle, first = 2*s.idle, 2*first
		}
		s.limitSilence(first)
		s.ctx.watch = s
		defer s.ctx.cancel()
		w.silences.add(s, s.every)
		defer w.silences.remove(s)
		w.readStream(&s.ctx, req, s)
	}
}

// readStream reads one stream to its end. It calls the iterator directly instead of ranging over
// it, so that an executor that ignores a request to stop does no harm.
func (w *Watched) readStream(ctx context.Context, req *Request, s *watch) {
	streamIntercepted(ctx, w.Executor, req)(s.passEvent)
	s.failUnfinished()
}

// mayThinkLong reports whether a model may think for a long time before it answers, judging by the
// request or the model's name.
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

// watch is one watched stream.
type watch struct {
	ctx     streamContext
	yield   func(Event, error) bool
	attempt attempt
	// over is set once the consumer has received the end or stopped.
	over bool
	// answered is set once the answer has text or a tool call, and begun once it has its first
	// event.
	answered, begun bool

	// list watches the stream with periodic ticks; nil if silence is unlimited. ticks is how many
	// ticks the stream may be silent now, and limit how long that is; idle is how long it may be
	// silent after its first event.
	list               *silences
	ticks              atomic.Int64
	every, limit, idle time.Duration
	// heard is the tick of the latest event, or one of the values below.
	heard atomic.Int64
	// next and previous are the neighboring streams in a list of silences.
	next, previous *watch
}

// The values of watch.heard that are not ticks.
const (
	// waiting marks a stream whose consumer is busy with an event.
	waiting = -1
	// silent marks a stream that was canceled for being silent.
	silent = -2
)

// silenceTicks is how many ticks a stream may be silent. With more, a silent stream would end
// closer to its limit.
const silenceTicks = 32

// silences cancels the streams of an executor that are silent for too long. They share one timer,
// which counts ticks while there are streams. A stream records the tick of each event, which costs
// less than reading the clock.
type silences struct {
	tick atomic.Int64

	mu sync.Mutex
	// first is the most recently added stream.
	first *watch
	timer *time.Timer
	every time.Duration
	// armed is set while the timer runs.
	armed bool
}

// add starts watching a stream. A tick lasts every, the same for all streams.
func (l *silences) add(s *watch, every time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.heard.Store(l.tick.Load())
	if s.next = l.first; s.next != nil {
		s.next.previous = s
	}
	l.first, l.every = s, every
	if !l.armed {
		l.setTimer()
	}
}

// remove stops watching a stream. The timer keeps running: the next stream probably begins before
// it fires.
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

// setTimer sets the timer to fire after one tick.
func (l *silences) setTimer() {
	l.armed = true
	if l.timer == nil {
		l.timer = time.AfterFunc(l.every, l.countTick)
		return
	}
	l.timer.Reset(l.every)
}

// countTick is called when the timer fires. It cancels the silent streams, and resets the timer
// while there are streams.
func (l *silences) countTick() {
	var ended []*watch
	defer func() {
		for _, s := range ended {
			s.ctx.cancel()
		}
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.tick.Add(1)
	for s := l.first; s != nil; s = s.next {
		if s.markSilent(now) {
			ended = append(ended, s)
		}
	}
	if l.armed = l.first != nil; l.armed {
		l.setTimer()
	}
}

// markSilent marks the stream as silent, and reports true, if it has had no event for more than its
// ticks. An event belongs to the tick before it, so that the stream gets at least its full time.
func (s *watch) markSilent(now int64) bool {
	heard := s.heard.Load()
	return heard >= 0 && now-heard > s.ticks.Load() && s.heard.CompareAndSwap(heard, silent)
}

// limitSilence sets how long the stream may be silent from now on; 0 for no limit.
func (s *watch) limitSilence(limit time.Duration) {
	s.limit = limit
	if limit == 0 {
		s.ticks.Store(math.MaxInt64)
		return
	}
	s.ticks.Store(int64((limit + s.every - 1) / s.every))
}

// noteActivity ends the silence of a stream whose executor waits for an event.
func (s *watch) noteActivity() {
	if heard := s.heard.Load(); heard >= 0 {
		s.heard.CompareAndSwap(heard, s.list.tick.Load())
	}
}

// passEvent passes one event on, and reports whether to continue.
func (s *watch) passEvent(ev Event, err error) bool {
	if s.over {
		return false
	}
	if s.list != nil && s.heard.Swap(waiting) == silent && (err != nil || ev.Type != EventFinish) {
		ev, err = Event{}, s.silenceError()
	}
	if err == nil {
		cleanEvent(&ev)
		err = s.noteContent(&ev)
	} else {
		err = cleanError(err)
	}
	s.attempt.noteEvent(s.ctx.Context, ev.Type, err)
	s.over, s.begun = err != nil || ev.Type == EventFinish, true
	if !s.yield(ev, err) {
		s.over = true
	}
	if s.list != nil {
		if s.limit != s.idle {
			s.limitSilence(s.idle)
		}
		s.heard.Store(s.list.tick.Load())
	}
	return !s.over
}

// noteContent records whether the answer has content. It returns an error for an end without
// content; the vendor may have withheld it or truncated the reasoning.
func (s *watch) noteContent(ev *Event) error {
	switch ev.Type {
	case EventText:
		s.answered = s.answered || strings.TrimSpace(ev.Delta) != ""
	case EventToolCallStart:
		s.answered = true
	case EventReset:
		s.answered = false
	case EventFinish:
		if !s.answered && ev.Reason != FinishMaxTokens && ev.Reason != FinishContentFilter {
			failure := &Error{Class: EmptyAnswer, Message: "the answer has no text, tool call or refusal", Usage: ev.Usage}
			*ev = Event{}
			return failure
		}
	default:
	}
	return nil
}

// failUnfinished passes on the error of a stream that stopped without an end.
func (s *watch) failUnfinished() {
	if s.over {
		return
	}
	err := unfinishedError(s.ctx.Context)
	if s.heard.Load() == silent {
		err = s.silenceError()
	}
	s.attempt.noteEvent(s.ctx.Context, 0, err)
	s.yield(Event{}, err)
}

func (s *watch) silenceError() error {
	text := "the stream was silent for %gs"
	if !s.begun {
		text = "no token came within %gs; first_token_timeout of the section retry sets this limit"
	}
	return &Error{Class: Timeout, Message: fmt.Sprintf(text, s.limit.Seconds()), Err: errSilent}
}

// unfinishedError returns why a stream stopped without an end.
func unfinishedError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return AsError(err)
	}
	return &Error{Class: StreamInterrupted, Message: "the stream ended before the answer did"}
}
