package model_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
)

// attempts is an executor that gives one outcome to each request, the last one
// for ever, and notes when it was asked and for which model.
type attempts struct {
	outcomes []outcome

	mu    sync.Mutex
	asked []time.Time
	names []string
}

// outcome is what one request comes to: a text, then an error if there is one.
type outcome struct {
	text string
	err  error
}

func (a *attempts) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		a.mu.Lock()
		out := a.outcomes[min(len(a.asked), len(a.outcomes)-1)]
		a.asked = append(a.asked, time.Now())
		a.names = append(a.names, req.Model)
		a.mu.Unlock()
		if out.text != "" && !yield(model.Event{Type: model.EventText, Delta: out.text}, nil) {
			return
		}
		if out.err != nil {
			yield(model.Event{}, out.err)
			return
		}
		yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop}, nil)
	}
}

// ask streams an answer and returns its text and its error.
func ask(ctx context.Context, e model.Executor, req *model.Request) (text string, err error) {
	for ev, streamErr := range e.Stream(ctx, req) {
		if streamErr != nil {
			return text, streamErr
		}
		text += ev.Delta
	}
	return text, nil
}

// in is a request of a session.
func in(session string) *model.Request { return &model.Request{Model: "asked", SessionID: session} }

// refuses is an outcome of a class.
func refuses(class model.ErrorClass) outcome { return outcome{err: &model.Error{Class: class}} }

// spy tells when an executor is asked.
type spy struct {
	model.Executor
	seen func()
}

func (s spy) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	s.seen()
	return s.Executor.Stream(ctx, req)
}

// played is an executor that plays one list of events for each request, the last
// one for ever, and notes what it was asked. What a list does not finish fails
// with its error, or just stops when it has none.
type played struct {
	plays []play

	mu    sync.Mutex
	asked []*model.Request
}

type play struct {
	events []model.Event
	// silent is how long the executor waits before it ends.
	silent time.Duration
	err    error
}

func (p *played) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		p.mu.Lock()
		now := p.plays[min(len(p.asked), len(p.plays)-1)]
		p.asked = append(p.asked, req)
		p.mu.Unlock()
		for _, ev := range now.events {
			if !yield(ev, nil) {
				return
			}
		}
		if now.silent > 0 {
			timer := time.NewTimer(now.silent)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				yield(model.Event{}, model.AsError(ctx.Err()))
				return
			}
		}
		if now.err != nil {
			yield(model.Event{}, now.err)
		}
	}
}

// collect streams an answer, puts it together, and returns all its events too.
func collect(t testing.TB, ctx context.Context, e model.Executor, req *model.Request) (*model.Answer, []model.Event, error) { //nolint:revive // the test comes first, as everywhere
	t.Helper()
	var a model.Answer
	var events []model.Event
	for ev, err := range e.Stream(ctx, req) {
		if err != nil {
			return &a, events, err
		}
		if err := a.Add(&ev); err != nil {
			t.Fatalf("the stream is out of order: %v", err)
		}
		events = append(events, ev)
	}
	if !a.Finished {
		t.Fatal("the stream has no end")
	}
	return &a, events, nil
}

// The events that tests play.
func says(text string) model.Event { return model.Event{Type: model.EventText, Delta: text} }

func calls(index int, name string) model.Event {
	return model.Event{Type: model.EventToolCallStart, Index: index, ID: "id-" + name, Name: name}
}

func argument(index int, delta string) model.Event {
	return model.Event{Type: model.EventToolCallDelta, Index: index, Delta: delta}
}

func called(index int) model.Event { return model.Event{Type: model.EventToolCallEnd, Index: index} }
