package recorded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/recorded"
)

// answers is an executor that gives one answer after the other, each a list of events
// and perhaps an error.
type answers struct {
	given  []answer
	closed int
}

type answer struct {
	events []model.Event
	err    error
}

func (a *answers) Vendor() string { return "house" }

func (a *answers) Close() error { a.closed++; return nil }

func (a *answers) Stream(_ context.Context, _ *model.Request) iter.Seq2[model.Event, error] {
	one := a.given[0]
	a.given = a.given[1:]
	return func(yield func(model.Event, error) bool) {
		for i := range one.events {
			if !yield(one.events[i], nil) {
				return
			}
		}
		if one.err != nil {
			yield(model.Event{}, one.err)
		}
	}
}

// says is an answer of one word.
func says(text string) answer {
	return answer{events: []model.Event{
		{Type: model.EventText, Delta: text},
		{Type: model.EventFinish, Reason: model.FinishStop, Usage: &model.Usage{Input: 3, Output: 1}},
	}}
}

func ask(text string) *model.Request {
	return &model.Request{Model: "m", Messages: []model.Message{model.User(text)}}
}

// take returns all events of an answer, and its error.
func take(ctx context.Context, e model.Executor, req *model.Request) (events []model.Event, err error) {
	for ev, err := range e.Stream(ctx, req) {
		if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// text returns the text of an answer that must not fail.
func text(t *testing.T, e model.Executor, req *model.Request) string {
	t.Helper()
	events, err := take(t.Context(), e, req)
	if err != nil {
		t.Fatal(err)
	}
	var a model.Answer
	for i := range events {
		if err := a.Add(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	return a.Text()
}

// record asks each request once and returns the file.
func record(t *testing.T, given []answer, requests []*model.Request, options ...recorded.Option) []byte {
	t.Helper()
	var file bytes.Buffer
	r := recorded.NewRecorder(&answers{given: given}, &file, options...)
	for _, req := range requests {
		_, err := take(t.Context(), r, req)
		if _, ok := errors.AsType[*model.Error](err); err != nil && !ok {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func play(t *testing.T, file []byte, options ...recorded.Option) *recorded.Player {
	t.Helper()
	p, err := recorded.NewPlayer(bytes.NewReader(file), options...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fakeT stands for the test that uses a recorded model.
type fakeT struct {
	failures []string
	cleanups []func()
}

func (*fakeT) Helper()            {}
func (f *fakeT) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *fakeT) Failed() bool     { return len(f.failures) > 0 }
func (f *fakeT) Errorf(text string, a ...any) {
	f.failures = append(f.failures, fmt.Sprintf(text, a...))
}

func (f *fakeT) Fatalf(text string, a ...any) {
	f.Errorf(text, a...)
	panic(f)
}

// end runs what the test left for its end, and returns its failures.
func (f *fakeT) end() []string {
	for _, c := range slices.Backward(f.cleanups) {
		c()
	}
	return f.failures
}
