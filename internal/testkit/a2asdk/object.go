package a2asdk

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"
)

// object is a client or server in a driver. It is closed with its test.
type object struct {
	t        testing.TB
	driver   *driver
	id       int
	happened *record
}

// made is the answer to the call that creates an object.
type made struct {
	Object int             `json:"object"`
	URL    string          `json:"url"`
	GRPC   string          `json:"grpc"`
	Key    json.RawMessage `json:"key"`
}

// newObject creates an object of a kind.
func newObject(t testing.TB, v Version, kind string, settings any) (*object, made) {
	t.Helper()
	o := &object{t: t, driver: useDriver(t, v), happened: newRecord()}
	got, err := callMethod[made](o, kind, settings)
	if err != nil {
		t.Fatalf("make a %s: %v", kind, err)
	}
	o.id = got.Object
	o.driver.mu.Lock()
	defer o.driver.mu.Unlock()
	if o.driver.gone != nil {
		o.happened.endLines(o.driver.gone)
	}
	o.driver.happened[o.id] = o.happened
	t.Cleanup(o.close)
	return o, got
}

func (o *object) close() {
	process := &object{t: o.t, driver: o.driver}
	// The test's own context has ended.
	_, _ = callWith[any](context.Background(), process, "close", map[string]int{"object": o.id}) // it ends with the process
	o.driver.mu.Lock()
	defer o.driver.mu.Unlock()
	delete(o.driver.happened, o.id)
}

// callMethod calls a method and waits for its single answer.
func callMethod[T any](o *object, method string, params any) (T, error) {
	return callWith[T](o.t.Context(), o, method, params)
}

func callWith[T any](ctx context.Context, o *object, method string, params any) (T, error) {
	var result T
	id, answers, err := o.driver.callMethod(o.id, method, params)
	if err != nil {
		return result, err
	}
	defer o.driver.forgetCall(id)
	l, err := answers.lineAt(ctx, 0)
	if err != nil {
		return result, fmt.Errorf("%s: %w", method, err)
	}
	if l.Error != nil {
		return result, l.Error
	}
	if err := json.Unmarshal(l.Result, &result); err != nil {
		return result, fmt.Errorf("%s: read the answer: %w", method, err)
	}
	return result, nil
}

// streamEvents yields the events of a call until it ends. Breaking out of the loop aborts the call,
// which has ended when streamEvents returns.
func (o *object) streamEvents(method string, params any) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		id, answers, err := o.driver.callMethod(o.id, method, params)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer o.driver.forgetCall(id)
		for i := 0; ; i++ {
			e, over, err := nextEvent(o.t.Context(), answers, i)
			switch {
			case err != nil:
				yield(Event{}, err)
				return
			case over:
				return
			case !yield(e, nil):
				o.driver.abortCall(id)
				_, _ = answers.lastLine(o.t.Context(), i+1) // later events are irrelevant
				return
			}
		}
	}
}

// nextEvent returns an event of a stream; over is true if there are no more.
func nextEvent(ctx context.Context, answers *record, i int) (e Event, over bool, err error) {
	l, err := answers.lineAt(ctx, i)
	switch {
	case err != nil:
		return e, false, err
	case l.Error != nil:
		return e, false, l.Error
	case l.Event == nil:
		return e, true, nil
	}
	if err := json.Unmarshal(l.Event, &e); err != nil {
		return e, false, fmt.Errorf("read event %d: %w", i+1, err)
	}
	return e, false, nil
}
