package google

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

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
	form        form
	// patience runs once the server said why the answer ended.
	patience *time.Timer
	response *http.Response
}

// sendRequest sends the request and waits for the answer to begin.
func (a *attempt) sendRequest(req *model.Request) error {
	e := a.executor
	where, err := e.endpoint.streamURL(req.Model)
	if err != nil {
		return e.failures.Named(err)
	}
	body, err := e.encodeRequest(req, a.form)
	if err != nil {
		return e.failures.Named(err)
	}
	sent, err := http.NewRequestWithContext(a.ctx, http.MethodPost, where, bytes.NewReader(body))
	if err != nil {
		return e.failures.Named(&model.Error{Class: model.InvalidRequest, Message: "the request cannot be made", Err: err})
	}
	sent.Header = e.endpoint.header.Clone()
	res, err := e.client.Do(sent) //nolint:bodyclose // close does, and readRefusal for what is no stream
	if err != nil {
		return e.failures.OfRequest(a.caller, err)
	}
	a.response, err = vendorhttp.CheckStream(res, e.refusalError) //nolint:bodyclose // close does
	return err
}

// endPatience is how long a server may keep a stream open once it said why the
// answer ended.
const endPatience = 2 * time.Second

// readStream hands on the events of the answer until it is complete, it fails or the
// consumer has had enough. A chunk that tells why the answer ended is not
// always the last, so the answer is complete when the stream is.
func (a *attempt) readStream(yield func(model.Event, error) bool) {
	t := newTranslator(a.form)
	events := newEventReader(a.response.Body)
	for done := false; !done; {
		var err error
		t.out = t.out[:0]
		if data := a.nextEvent(events); data != nil {
			err = t.translate(data)
		} else {
			done, err = true, a.finishStream(t, events.err)
		}
		for i := range t.out {
			if !yield(t.out[i], nil) {
				return
			}
		}
		if err != nil {
			yield(model.Event{}, a.executor.failures.Named(err))
			return
		}
		if t.reason != "" && !done {
			a.limitWait()
		}
	}
}

// limitWait ends the attempt if the server leaves the stream open for too long.
func (a *attempt) limitWait() {
	if a.patience == nil {
		a.patience = time.AfterFunc(endPatience, a.cancel)
		return
	}
	a.patience.Reset(endPatience)
}

func (a *attempt) close() {
	if a.patience != nil {
		a.patience.Stop()
	}
	a.cancel()
	if a.response != nil {
		_ = a.response.Body.Close()
	}
}

func (a *attempt) nextEvent(events *eventReader) []byte {
	if a.caller.Err() != nil {
		return nil
	}
	return events.next()
}

// finishStream ends the answer, or finds out why it has no end.
func (a *attempt) finishStream(t *translator, cause error) error {
	if a.caller.Err() != nil {
		return a.executor.failures.OfStream(a.caller, a.caller.Err())
	}
	if t.reason != "" {
		return t.finishAnswer()
	}
	if cause == nil || errors.Is(cause, io.EOF) {
		return vendorhttp.EndedEarly()
	}
	return a.executor.failures.OfStream(a.caller, cause)
}
