package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/model"
)

// refusal is what the vendor said when it refused a request or gave up an
// answer, as the cause of a model.Error.
type refusal struct {
	// status is the HTTP status, 0 for an error inside a stream.
	status            int
	code, kind, param string
	message           string
}

// Error returns the vendor's own names for what happened. The message is left
// to the model.Error, which knows what must not appear in it.
func (r *refusal) Error() string {
	return fmt.Sprintf("openai: code %q, type %q, param %q", r.code, r.kind, r.param)
}

// refused returns the error for an answer that is no stream.
func (e *Executor) refused(res *http.Response, body []byte) *model.Error {
	r := parseRefusal(body)
	if r == nil {
		r = &refusal{}
	}
	r.status = res.StatusCode
	failure := &model.Error{
		Class:      r.class(),
		Provider:   e.id,
		Message:    e.secrets.clean(r.text()),
		Status:     r.status,
		RetryAfter: retryAfter(res.Header, time.Now()),
		Err:        r,
	}
	switch {
	case r.status < http.StatusMultipleChoices && r.empty():
		// A page of a gateway, or an answer that was not streamed.
		failure.Class, failure.Message = model.Provider, "the server answered with something else than a stream"
	case r.status < http.StatusMultipleChoices:
		failure.Status = 0
	case r.status < http.StatusBadRequest:
		failure.Message = "the server redirects; redirects are not followed, check base_url"
	}
	return failure
}

// broken returns the error for an error event inside a stream.
func (r *refusal) broken() error {
	return &model.Error{Class: r.class(), Message: r.text(), Err: r}
}

// malformed returns the error for a stream that is not as it should be.
func malformed(what string, err error) error {
	return &model.Error{Class: model.Provider, Message: "the stream is malformed: " + what, Err: err}
}

// named returns err as the *model.Error that the caller sees.
func (e *Executor) named(err error) error {
	failure := model.AsError(err)
	failure.Provider = e.id
	failure.Message = e.secrets.clean(failure.Message)
	return failure
}

// failed returns the error for a request that got no answer, or for an answer
// that broke off. ctx is the caller's.
func (e *Executor) failed(ctx context.Context, err error, answered bool) *model.Error {
	if ctx.Err() != nil {
		failure := model.AsError(ctx.Err())
		failure.Provider = e.id
		return failure
	}
	if failure, ok := errors.AsType[*model.Error](err); ok {
		return failure
	}
	// The URL is left out: it says nothing new, and may have been the answer's.
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	failure := &model.Error{Provider: e.id, Err: err}
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		failure.Class, failure.Message = model.Provider, "an event of the stream is too large: "
	case answered:
		failure.Class, failure.Message = model.StreamInterrupted, "the connection broke off: "
	case isNet && timeout.Timeout():
		failure.Class, failure.Message = model.Timeout, "no answer in time: "
	default:
		failure.Class, failure.Message = model.Provider, "no answer: "
	}
	failure.Message = e.secrets.clean(failure.Message + err.Error())
	return failure
}

// parseRefusal reads the body of a refusal, or an error event: the vendor's
// {"error": {…}}, or one of the forms that compatible servers use. It returns
// nil when there is none.
func parseRefusal(data []byte) *refusal {
	if !json.Valid(data) {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0] // some gateways wrap the object in a list
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message looseText       `json:"message"`
		Detail  looseText       `json:"detail"`
		refusalFields
	}
	_ = json.Unmarshal(data, &outer) // what is no object leaves all empty
	if !isNull(outer.Error) {
		return parseErrorValue(outer.Error)
	}
	message := outer.Message
	if message == "" {
		message = outer.Detail
	}
	if message == "" && outer.Code == "" {
		return nil
	}
	return outer.refusal(message)
}

type refusalFields struct {
	Code  looseText `json:"code"`
	Kind  looseText `json:"type"`
	Param looseText `json:"param"`
}

func (f *refusalFields) refusal(message looseText) *refusal {
	return &refusal{code: string(f.Code), kind: string(f.Kind), param: string(f.Param), message: string(message)}
}

// parseErrorValue reads the value of an error field: an object, or a text.
func parseErrorValue(data json.RawMessage) *refusal {
	var inner struct {
		Message looseText `json:"message"`
		refusalFields
	}
	if json.Unmarshal(data, &inner) != nil {
		var text looseText
		_ = json.Unmarshal(data, &text)
		return &refusal{message: string(text)}
	}
	return inner.refusal(inner.Message)
}

func isNull(data json.RawMessage) bool { return len(data) == 0 || string(data) == "null" }

// looseText is a text, or a number, as servers differ in what a code is. Any
// other value is taken for none: an error must not be lost over a detail.
type looseText string

// UnmarshalJSON reads the text.
func (t *looseText) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*t = looseText(text)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		*t = looseText(data)
	default:
		*t = ""
	}
	return nil
}

func (r *refusal) empty() bool { return r.message == "" && r.code == "" && r.kind == "" }

// text returns the message for people.
func (r *refusal) text() string {
	switch {
	case r.message != "":
		return strings.TrimSpace(r.message)
	case r.code != "":
		return "the server gives the code " + r.code
	case r.kind != "":
		return "the server gives the type " + r.kind
	case http.StatusText(r.status) != "":
		return "the server says: " + http.StatusText(r.status)
	default:
		return "the server does not say why"
	}
}
