package anthropic

import (
	"context"
	"net/http"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

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
func (a *attempt) sendRequest(req *model.Request) (*answer, error) {
	e := a.executor
	granted := e.concessionsOf(req.Model)
	for {
		p, err := e.planRequest(req, granted)
		if err != nil {
			return nil, e.failures.Named(err)
		}
		body, err := p.encodeBody()
		if err != nil {
			return nil, e.failures.Named(err)
		}
		if a.response, err = e.api.Post(a.ctx, messagesPath, body); err == nil { //nolint:bodyclose // Stream closes it
			return newAnswer(p.report), nil
		}
		failure := e.failures.OfRequest(a.caller, err)
		more, ok := granted.afterRefusal(failure, p)
		if !ok {
			return nil, failure
		}
		granted = more
		e.rememberConcessions(req.Model, granted)
	}
}

// readStream hands on the events of the answer until it is complete, it fails or the
// consumer has had enough.
func (a *attempt) readStream(answer *answer, yield func(model.Event, error) bool) {
	in := newSSEReader(a.response.Body)
	for done := false; !done; {
		var err error
		answer.events = answer.events[:0]
		if a.caller.Err() == nil && in.next() {
			done, err = answer.translate(&in.event)
		} else {
			err = a.brokenError(in.err)
		}
		for i := range answer.events {
			if !yield(answer.events[i], nil) {
				return
			}
		}
		if err != nil {
			failure := a.executor.failures.Named(err)
			failure.Usage = answer.usageSoFar()
			yield(model.Event{}, failure)
			return
		}
	}
	vendorhttp.Drain(a.response.Body, a.cancel)
}

// brokenError returns the error for a stream that ended before its answer.
func (a *attempt) brokenError(cause error) error {
	if cause == nil && a.caller.Err() == nil {
		return vendorhttp.EndedEarly()
	}
	return a.executor.failures.OfStream(a.caller, cause)
}
