package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
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

// RejectedField returns the field that the vendor blames.
func (r *refusal) RejectedField() string { return r.param }

// readRefusal returns the error for the body of a refusal, and reports whether the
// body says anything.
func (e *Executor) readRefusal(status int, body []byte) (failure *model.Error, known bool) {
	r := parseRefusal(body)
	if r == nil {
		r = &refusal{}
	}
	r.status = status
	failure = r.modelError()
	if failure.Class == model.InvalidRequest && r.param == "" && (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) {
		failure.Message += e.unknownPath
	}
	return failure, !r.isEmpty()
}

// modelError returns the error that the refusal amounts to.
func (r *refusal) modelError() *model.Error {
	return &model.Error{Class: r.errorClass(), Message: r.messageText(), Err: r}
}

// parseRefusal reads the body of a refusal, or an error event: the vendor's
// {"error": {…}}, or one of the forms that compatible servers use. It returns nil
// for anything else.
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
		Message messageText     `json:"message"`
		Detail  detailText      `json:"detail"`
		refusalFields
	}
	_ = json.Unmarshal(data, &outer) // what is no object leaves all empty
	if !isNull(outer.Error) {
		return parseErrorValue(outer.Error)
	}
	message := looseText(outer.Message)
	if message == "" {
		message = looseText(outer.Detail)
	}
	if message == "" && outer.Code == "" {
		return nil
	}
	return outer.toRefusal(message)
}

// detailText is a text, or the list of mistakes that FastAPI finds in a request.
type detailText string

// UnmarshalJSON reads the text.
func (d *detailText) UnmarshalJSON(data []byte) error {
	*d = detailText(vendorhttp.Mistakes(data))
	return nil
}

// messageText is a text, or an object with the detail that Mistral sends as its message.
type messageText string

// UnmarshalJSON reads the text.
func (m *messageText) UnmarshalJSON(data []byte) error {
	var outer struct {
		Detail detailText `json:"detail"`
	}
	if data[0] == '{' && json.Unmarshal(data, &outer) == nil {
		*m = messageText(outer.Detail)
		return nil
	}
	return (*looseText)(m).UnmarshalJSON(data)
}

type refusalFields struct {
	Code  looseText `json:"code"`
	Kind  looseText `json:"type"`
	Param looseText `json:"param"`
}

func (f *refusalFields) toRefusal(message looseText) *refusal {
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
	return inner.toRefusal(inner.Message)
}

func isNull(data json.RawMessage) bool { return len(data) == 0 || string(data) == "null" }

// looseText is a text, or a number, as servers differ in what a code is. Any
// other value is taken for none: an error must not be lost over a detail.
type looseText string

// UnmarshalJSON reads the text.
func (t *looseText) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		if bytes.IndexByte(data, '\\') < 0 && utf8.Valid(data) {
			*t = looseText(data[1 : len(data)-1]) // the usual case, without decoding twice
			return nil
		}
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

func (r *refusal) isEmpty() bool { return r.message == "" && r.code == "" && r.kind == "" }

// messageText returns the message for people.
func (r *refusal) messageText() string {
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
