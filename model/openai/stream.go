package openai

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/openai/openai-go/v3/packages/ssestream"
)

// translator turns the events of a vendor's stream into ours. It belongs to
// one answer.
type translator interface {
	// translate takes in one event and puts what it means into the batch. It
	// reports whether the answer is complete; then the batch ends with an
	// EventFinish.
	translate(ev ssestream.Event, out *batch) (done bool, err error)
	// end is called when the stream ends without that. It reports whether the
	// answer is complete all the same.
	end(out *batch) (done bool, err error)
}

// batch holds the events that one event of the vendor's stream amounts to.
type batch struct{ events []model.Event }

func (b *batch) add(ev model.Event) { b.events = append(b.events, ev) }

// addDelta adds an event that carries only a piece of text, if it carries any.
func (b *batch) addDelta(t model.EventType, delta string) {
	if delta != "" {
		b.add(model.Event{Type: t, Delta: delta})
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

// open sends the request and waits for the answer to begin. A model that
// refuses the request for something that can be conceded is asked again.
func (a *attempt) open(req *model.Request) error {
	e := a.executor
	granted := e.concessionsOf(req.Model)
	for {
		body, err := e.encode(req, granted)
		if err != nil {
			return e.named(err)
		}
		err = e.client.Post(a.ctx, e.dialect.path, body, &a.response)
		if err == nil {
			return nil
		}
		failure := e.failed(a.caller, err, false)
		more, ok := granted.after(failure, req)
		if !ok {
			return failure
		}
		granted = more
		e.remember(req.Model, granted)
	}
}

// read hands on the events of the answer until it is complete, it fails or the
// consumer has had enough.
func (a *attempt) read(t translator, yield func(model.Event, error) bool) {
	decoder := ssestream.NewDecoder(a.response)
	out := &batch{events: make([]model.Event, 0, 4)}
	for done := false; !done; {
		var err error
		out.events = out.events[:0]
		if a.next(decoder) {
			done, err = t.translate(decoder.Event(), out)
		} else {
			done, err = a.end(t, decoder.Err(), out)
		}
		for i := range out.events {
			if !yield(out.events[i], nil) {
				return
			}
		}
		if err != nil {
			yield(model.Event{}, a.executor.named(err))
			return
		}
	}
	a.drain()
}

// next moves to the next event that is not the mark of the stream's end.
func (a *attempt) next(decoder ssestream.Decoder) bool {
	return a.caller.Err() == nil && decoder.Next() && !bytes.HasPrefix(decoder.Event().Data, []byte("[DONE]"))
}

// end finds out how the stream ended.
func (a *attempt) end(t translator, cause error, out *batch) (bool, error) {
	if a.caller.Err() != nil {
		return false, a.executor.failed(a.caller, a.caller.Err(), true)
	}
	if done, err := t.end(out); done || err != nil {
		return done, err
	}
	if cause == nil {
		return false, &model.Error{Class: model.StreamInterrupted, Message: "the stream ended before the answer did"}
	}
	return false, a.executor.failed(a.caller, cause, true)
}

const (
	drainPatience = 100 * time.Millisecond
	drainLimit    = 16 << 10
)

// drain reads what follows a complete answer, so that the connection can be
// used again. A server that keeps the stream open is not waited for.
func (a *attempt) drain() {
	timer := time.AfterFunc(drainPatience, a.cancel)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, a.response.Body, drainLimit)
}
