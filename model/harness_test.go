package model_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
)

// attempts is an executor with one outcome per request, repeating the last, that records the time
// and model of each request.
type attempts struct {
	outcomes []outcome

	mu    sync.Mutex
	asked []time.Time
	names []string
}

// outcome is the result of one request: a text, then an optional error.
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

// ask streams an answer and returns its text and error.
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

// refuses returns an outcome with an error class.
func refuses(class model.ErrorClass) outcome { return outcome{err: &model.Error{Class: class}} }

// spy reports calls to an executor.
type spy struct {
	model.Executor
	seen func()
}

func (s spy) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	s.seen()
	return s.Executor.Stream(ctx, req)
}

// played is an executor that plays one list of events per request, repeating the last, and records
// its requests. An unfinished list fails with its error, or just ends if it has no error.
type played struct {
	plays []play

	mu    sync.Mutex
	asked []*model.Request
}

type play struct {
	events []model.Event
	// silent is the executor's wait before it ends.
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

// collect streams and assembles an answer and also returns all its events.
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

// The events played by tests.
func says(text string) model.Event { return model.Event{Type: model.EventText, Delta: text} }

func calls(index int, name string) model.Event {
	return model.Event{Type: model.EventToolCallStart, Index: index, ID: "id-" + name, Name: name}
}

func argument(index int, delta string) model.Event {
	return model.Event{Type: model.EventToolCallDelta, Index: index, Delta: delta}
}

func called(index int) model.Event { return model.Event{Type: model.EventToolCallEnd, Index: index} }
