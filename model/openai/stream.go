package openai

import (
	"context"
	"net/http"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// translator turns the events of a vendor's stream into ours. It belongs to
// one answer.
type translator interface {
	// translate handles one event and puts what it means into the batch. It reports
	// whether the answer is complete; then the batch ends with an EventFinish.
	translate(ev *serverEvent, out *batch) (done bool, err error)
	// end is called when the stream ends without that; marked reports whether it
	// ended with the mark of its end. It reports whether the answer is complete all
	// the same.
	end(marked bool, out *batch) (done bool, err error)
}

// batch holds the events that one event of the vendor's stream amounts to.
type batch struct{ events []model.Event }

func (b *batch) addEvent(ev model.Event) { b.events = append(b.events, ev) }

// addDelta adds an event that carries only a piece of text, if it carries any.
func (b *batch) addDelta(t model.EventType, delta string) {
	if delta != "" {
		b.addEvent(model.Event{Type: t, Delta: delta})
	}
}

// attempt is one call of a model: its request and the stream of its answer.
type attempt struct {
	executor *Executor
	// caller is the context of the one who asked; ctx is below it and also
	// ends when the attempt does.
	caller, ctx context.Context
	cancel      context.CancelFunc
	response    *http.Response
}

// sendRequest sends the request and waits for the answer to begin. A model that
// refuses the request for something that can be conceded is asked again.
func (a *attempt) sendRequest(req *model.Request) error {
	e := a.executor
	granted := e.concessionsOf(req.Model)
	for {
		body, err := e.encodeRequest(req, granted)
		if err != nil {
			return e.failures.Named(err)
		}
		a.response, err = e.api.Post(a.ctx, e.dialect.path, body) //nolint:bodyclose // Stream closes it
		if err == nil {
			e.rememberConcessions(req.Model, granted)
			return nil
		}
		failure := e.failures.OfRequest(a.caller, err)
		more, ok := granted.afterRefusal(failure, req)
		if !ok {
			return failure
		}
		granted = more
	}
}

// readStream hands on the events of the answer until it is complete, it fails or the
// consumer has had enough.
func (a *attempt) readStream(t translator, yield func(model.Event, error) bool) {
	in := newSSEReader(a.response.Body)
	out := &batch{events: make([]model.Event, 0, 4)}
	for done := false; !done; {
		var err error
		out.events = out.events[:0]
		if more := a.caller.Err() == nil && in.next(); more && !in.event.isEnd() {
			done, err = t.translate(&in.event, out)
		} else {
			done, err = a.endStream(t, more, in.err, out)
		}
		for i := range out.events {
			if !yield(out.events[i], nil) {
				return
			}
		}
		if err != nil {
			yield(model.Event{}, a.executor.failures.Named(err))
			return
		}
	}
	vendorhttp.Drain(a.response.Body, a.cancel)
}

// endStream finds out how the stream ended: with its mark, or else for a cause if
// there is one.
func (a *attempt) endStream(t translator, marked bool, cause error, out *batch) (bool, error) {
	if a.caller.Err() != nil {
		return false, a.caller.Err()
	}
	if done, err := t.end(marked, out); done || err != nil {
		return done, err
	}
	if cause == nil {
		return false, vendorhttp.EndedEarly()
	}
	return false, a.executor.failures.OfStream(a.caller, cause)
}
