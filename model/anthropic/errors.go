package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// refusal is what the vendor said when it refused a request or gave up an
// answer, as the cause of a model.Error.
type refusal struct {
	// status is the HTTP status, 0 for an error inside a stream.
	status int
	// kind is the vendor's type of the error.
	kind      string
	requestID string
	message   string
}

// Error returns the vendor's own names for what happened. The message is left
// to the model.Error, which knows what must not appear in it.
func (r *refusal) Error() string {
	return fmt.Sprintf("anthropic: type %q, request %q", r.kind, r.requestID)
}

// readRefusal returns the error for the body of a refusal, and reports whether the
// body says anything.
func readRefusal(status int, body []byte) (failure *model.Error, known bool) {
	r := parseRefusal(body)
	r.status = status
	return r.modelError(), r.kind != "" || r.message != ""
}

// modelError returns the error that the refusal amounts to.
func (r *refusal) modelError() *model.Error {
	return &model.Error{Class: r.errorClass(), Message: r.messageText(), Err: r}
}

// parseRefusal reads the body of a refusal, or an error event: the vendor's
// {"type": "error", "error": {…}}. What cannot be read is left empty: gateways
// have forms of their own.
func parseRefusal(data []byte) *refusal {
	var outer struct {
		Error     json.RawMessage `json:"error"`
		Message   json.RawMessage `json:"message"`
		Detail    json.RawMessage `json:"detail"`
		RequestID json.RawMessage `json:"request_id"`
	}
	var inner struct {
		Type    json.RawMessage `json:"type"`
		Message json.RawMessage `json:"message"`
	}
	_ = json.Unmarshal(data, &outer)
	_ = json.Unmarshal(outer.Error, &inner)
	r := &refusal{kind: textOf(inner.Type), message: textOf(inner.Message), requestID: textOf(outer.RequestID)}
	if r.message == "" {
		r.message = textOf(outer.Error)
	}
	if r.message == "" {
		r.message = textOf(outer.Message)
	}
	if r.message == "" {
		r.message = vendorhttp.Mistakes(outer.Detail)
	}
	return r
}

// textOf returns a JSON string, empty for anything else.
func textOf(data json.RawMessage) (text string) {
	_ = json.Unmarshal(data, &text)
	return text
}

// messageText returns the message for people.
func (r *refusal) messageText() string {
	switch {
	case strings.TrimSpace(r.message) != "":
		return strings.TrimSpace(r.message)
	case r.kind != "":
		return "the server gives the type " + r.kind
	case http.StatusText(r.status) != "":
		return "the server says: " + http.StatusText(r.status)
	default:
		return "the server does not say why"
	}
}
