package model_test

import (
	"context"
	"iter"
	"sync"
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
func ask(ctx context.Context, e model.Executor, session string) (text string, err error) {
	for ev, streamErr := range e.Stream(ctx, &model.Request{Model: "asked", SessionID: session}) {
		if streamErr != nil {
			return text, streamErr
		}
		text += ev.Delta
	}
	return text, nil
}

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
