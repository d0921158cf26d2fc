package openai

import (
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// translator handles the differences between the streams of the two APIs. It belongs to one
// answer.
type translator interface {
	// translate translates one event into the batch. It returns true if the answer is complete;
	// then the batch ends with an EventFinish.
	translate(ev *vendorhttp.ServerEvent, out *vendorhttp.Batch) (done bool, err error)
	// end is called when the stream ends before translate returned true; marked reports whether it
	// ended with the end mark. It reports whether the answer is complete nevertheless.
	end(marked bool, out *vendorhttp.Batch) (done bool, err error)
}

// exchange is one request and the translation of its answer.
type exchange struct {
	executor *Executor
	request  *model.Request
	granted  concessions
	answer   translator
}

// Encode returns the request with the concessions so far.
func (x *exchange) Encode() (path string, body []byte, err error) {
	if path, err = x.executor.path(x.request.Model); err != nil {
		return "", nil, err
	}
	body, err = x.executor.encodeRequest(x.request, x.granted)
	return path, body, err
}

// Concede disables the feature for which the request was rejected.
func (x *exchange) Concede(refusal *model.Error) (more bool) {
	x.granted, more = x.granted.afterRefusal(refusal, x.request)
	return more
}

// Translator stores the concessions and returns the translator.
func (x *exchange) Translator() vendorhttp.Translator {
	x.executor.known.Remember(x.request.Model, x.granted.ofModel())
	x.answer = x.executor.dialect.translate(x.request, x.executor.api.Provider())
	return x
}

// Translate translates an event, including the end mark.
func (x *exchange) Translate(ev *vendorhttp.ServerEvent, out *vendorhttp.Batch) (done bool, err error) {
	if !ev.IsEnd() {
		return x.answer.translate(ev, out)
	}
	if done, err = x.answer.end(true, out); !done && err == nil {
		err = vendorhttp.EndedEarly()
	}
	return done, err
}

// End ends an answer whose stream ended without the end mark.
func (x *exchange) End(out *vendorhttp.Batch) (done bool, err error) { return x.answer.end(false, out) }
