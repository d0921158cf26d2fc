package vendorhttp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/model"
)

// attempt is one call of a model: its request and the stream of its answer.
type attempt struct {
	api *API
	// caller is the caller's context; ctx is derived from it and also ends with the attempt.
	caller, ctx context.Context
	cancel      context.CancelFunc
	response    *http.Response
	editor      editor
	names       *wireNames
	thoughts    thoughts
	// unknown quotes the first event that the translator did not know; empty for none. answered is
	// set after the first text or tool call.
	unknown  string
	answered bool
	// isWrapped is set once an event was found in a field of another object.
	isWrapped bool
	// patience runs while an answer is ending.
	patience *time.Timer
}

func (t *attempt) close() {
	if t.patience != nil {
		t.patience.Stop()
	}
	if t.response != nil {
		_ = t.response.Body.Close()
	}
	t.cancel()
}

// sendRequest sends the request and waits for the response to begin. It resends a refused request
// as long as the exchange makes concessions.
func (t *attempt) sendRequest(x Exchange) error {
	for {
		path, body, err := x.Encode()
		if err != nil {
			return t.api.failures.named(err)
		}
		encoded := body
		body = t.editor.editBody(encoded)
		req, err := t.api.newRequest(t.ctx, http.MethodPost, path, body)
		if err != nil {
			return t.api.failures.named(InvalidRequest("the request cannot be made", err))
		}
		if t.response, err = t.api.send(req); err == nil { //nolint:bodyclose // close does
			t.reportExchange(req, body, nil)
			t.editor.remember(t.ctx)
			return nil
		}
		failure := t.api.failures.ofRequest(t.caller, err)
		t.reportExchange(req, body, failure)
		if !x.Concede(failure) && !t.editor.concede(failure, encoded) {
			t.names.nameTools(failure, t.editor.request.Tools)
			return failure
		}
	}
}

// reportExchange reports the request and the beginning of the answer to an observer.
func (t *attempt) reportExchange(req *http.Request, body []byte, failure *model.Error) {
	report := model.ExchangeReporter(t.caller)
	if report == nil {
		return
	}
	x := &model.Exchange{Method: req.Method, URL: req.URL.String(), Body: slices.Clone(body), Failure: failure}
	if failure != nil {
		x.Status = failure.Status
	} else {
		x.Status, x.ContentType = t.response.StatusCode, t.response.Header.Get("Content-Type")
	}
	report(x)
}

// readStream yields the events of the answer.
func (t *attempt) readStream(translator Translator, yield func(model.Event, error) bool) {
	in := newEventReader(t.response.Body, t.api.protocol.Framing)
	out := &Batch{Events: make([]model.Event, 0, 4)}
	for done := false; !done; {
		var err error
		out.Events, out.Unknown = out.Events[:0], false
		if t.caller.Err() == nil && in.next() {
			done, err = t.translateEvent(translator, in, out)
		} else {
			done, err = t.endStream(translator, in, out)
		}
		events := out.Events
		if !t.editor.request.KeepTags {
			events = t.thoughts.separate(events)
		}
		if done && t.lacksAnswer(events) {
			err = &model.Error{Class: model.EmptyAnswer, Message: "the answer has no text, tool call or refusal" + t.unknown, Usage: events[len(events)-1].Usage}
			events = nil
		}
		named, nameless := nameTools(events, t.editor.request.Tools)
		if events = named; nameless != nil {
			err = nameless
		}
		for i := range events {
			if !yield(events[i], nil) {
				return
			}
		}
		if err != nil {
			failure := t.api.failures.named(err)
			if out.Usage != nil {
				failure.Usage = out.Usage
			}
			yield(model.Event{}, failure)
			return
		}
		t.answered = t.answered || hasAnswer(events)
		if out.Ending && !done {
			t.limitWait()
		}
	}
	drain(t.response.Body, t.cancel)
}

// lacksAnswer reports whether an answer ended without text or tool calls after an unknown event
// that may explain it.
func (t *attempt) lacksAnswer(last []model.Event) bool {
	if t.unknown == "" || t.answered || len(last) == 0 {
		return false
	}
	end := &last[len(last)-1]
	return end.Type == model.EventFinish && end.Reason == model.FinishStop && !hasAnswer(last)
}

// hasAnswer reports whether events contain text or a tool call.
func hasAnswer(events []model.Event) bool {
	for i := range events {
		if t := events[i].Type; t == model.EventText || t == model.EventToolCallStart {
			return true
		}
	}
	return false
}

// translateEvent translates the event that was read. It detects errors in documents and ignores
// keep-alives.
func (t *attempt) translateEvent(translator Translator, in *eventReader, out *Batch) (bool, error) {
	if in.framing.Decode == nil {
		in.event.Data = encodedTwice(in.event.Data, '{')
	}
	if in.framing.Decode == nil && string(in.event.Name) != "error" && in.event.isNoise() {
		t.noteUnknown(in.event.Data)
		return false, nil
	}
	if in.state.isJSON && WrappedEvent(&in.event) == nil {
		if refusal := t.api.documentRefusal(t.response, in.event.Data); refusal != nil {
			return false, refusal
		}
	}
	done, err := t.translateMarked(translator, &in.event, out)
	if out.Unknown && err == nil {
		err = t.checkUnknown(&in.event)
	}
	if failure, ok := errors.AsType[*model.Error](err); ok && failure.Class == model.StreamInterrupted {
		failure.Message += t.unknown // the end mark came early
	}
	return done, err
}

// translateMarked translates an event, which may be an end mark.
func (t *attempt) translateMarked(translator Translator, ev *ServerEvent, out *Batch) (done bool, err error) {
	if !ev.isEnd() {
		return t.translateWrapped(translator, ev, out)
	}
	if done, err = translator.End(true, out); !done && err == nil {
		err = endedEarly()
	}
	return done, err
}

// translateWrapped translates an event, or else the event that it has in one of its fields. Once there
// was an answer without that, such an event may be a copy of it.
func (t *attempt) translateWrapped(translator Translator, ev *ServerEvent, out *Batch) (done bool, err error) {
	done, err = translator.Translate(ev, out)
	for range maxWrappers {
		if !out.Unknown || err != nil || t.answered && !t.isWrapped {
			break
		}
		inner := WrappedEvent(ev)
		if inner == nil {
			break
		}
		ev.Name, ev.Data, out.Unknown = ev.Name[:0], inner, false
		done, err = translator.Translate(ev, out)
		t.isWrapped = t.isWrapped || !out.Unknown
	}
	return done, err
}

// checkUnknown returns the error in an unknown event. Other events are only quoted if the answer is
// incomplete.
func (t *attempt) checkUnknown(ev *ServerEvent) error {
	if status := errorStatus(ev); status > 0 {
		if failure, known := t.api.protocol.Refusal(status, ev.Data); known || status != http.StatusOK {
			return failure
		}
		return &model.Error{Class: model.Provider, Message: "the server sent an error: " + cmp.Or(ErrorText(ev.Data), quoteStart(ev.Data))}
	}
	t.noteUnknown(ev.Data)
	return nil
}

// noteUnknown keeps the first unknown data for the error of an incomplete answer.
func (t *attempt) noteUnknown(data []byte) {
	if t.unknown == "" && len(bytes.TrimSpace(data)) > 0 {
		t.unknown = "; the server sent " + quoteStart(data)
	}
}

// endStream ends the answer, or returns the reason that it is incomplete.
func (t *attempt) endStream(translator Translator, in *eventReader, out *Batch) (bool, error) {
	if err := t.caller.Err(); err != nil {
		return false, err
	}
	if done, err := translator.End(false, out); done || err != nil {
		return done, err
	}
	t.noteUnknown(in.stray)
	if !t.answered {
		t.noteUnknown(in.event.Data) // the beginning of an event without an end
	}
	var failure *model.Error
	switch {
	case in.err != nil:
		failure = t.api.failures.ofStream(t.caller, in.err)
	case in.values == 1 && !in.inArray:
		failure = errNotAnAnswer()
	default:
		failure = endedEarly()
	}
	failure.Message += t.unknown
	return false, failure
}

// EndPatience is how long a server may keep a stream open after each event of an ending answer.
const EndPatience = 2 * time.Second

// limitWait ends the attempt if the server leaves the stream open for too long.
func (t *attempt) limitWait() {
	if t.patience == nil {
		t.patience = time.AfterFunc(EndPatience, t.cancel)
		return
	}
	t.patience.Reset(EndPatience)
}
