package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// refusal is the vendor's reason for rejecting a request or aborting an answer, as the cause of a
// model.Error.
type refusal struct {
	// status is the HTTP status; 0 for an error inside a stream.
	status int
	// kind is the vendor's error type.
	kind      string
	requestID string
	message   string
}

// Error returns the vendor's own names for the failure. It omits the message, because model.Error
// knows what must not appear in it.
func (r *refusal) Error() string {
	return fmt.Sprintf("anthropic: type %q, request %q", r.kind, r.requestID)
}

// readRefusal returns the error for the body of a rejection, and reports whether the body has any
// information.
func readRefusal(status int, body []byte) (failure *model.Error, known bool) {
	r := parseRefusal(body)
	r.status = status
	if status >= http.StatusBadRequest && r.message == "" {
		r.message = cmp.Or(vendorhttp.ErrorText(body), vendorhttp.PlainError(body))
	}
	return r.modelError(), r.kind != "" || r.message != ""
}

// modelError converts the rejection to an error.
func (r *refusal) modelError() *model.Error {
	text := vendorhttp.MessageText(strings.TrimSpace(r.message), r.status, [2]string{"type", r.kind})
	return &model.Error{Class: r.errorClass(), Message: text, Err: r}
}

// parseRefusal decodes the body of a rejection or an error event: the vendor's {"type": "error",
// "error": {…}}. Unreadable parts stay empty, because gateways use other forms.
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
	for _, field := range []json.RawMessage{outer.Error, outer.Message, outer.Detail} {
		if r.message == "" {
			r.message = vendorhttp.ErrorText(field)
		}
	}
	return r
}

// textOf decodes a JSON string; it returns "" for anything else.
func textOf(data json.RawMessage) (text string) {
	_ = json.Unmarshal(data, &text)
	return text
}

// kinds maps the vendor's error types to classes. Being out of credit is an account error that
// waiting does not fix.
var kinds = map[string]model.ErrorClass{
	"authentication_error":  model.Unauthorized,
	"permission_error":      model.Unauthorized,
	"billing_error":         model.Unauthorized,
	"rate_limit_error":      model.RateLimited,
	"overloaded_error":      model.Overloaded,
	"timeout_error":         model.Timeout,
	"api_error":             model.Provider,
	"request_too_large":     model.ContextOverflow,
	"not_found_error":       model.InvalidRequest,
	"invalid_request_error": model.InvalidRequest,
}

// errorClass returns the class of the rejection: by its status if that is unambiguous, otherwise by
// its type.
func (r *refusal) errorClass() model.ErrorClass {
	if class, ok := vendorhttp.StatusClass(r.status); ok {
		return class
	}
	if r.status == http.StatusRequestEntityTooLarge {
		return model.ContextOverflow
	}
	class, known := kinds[r.kind]
	switch {
	case r.status >= http.StatusInternalServerError:
		// The type can only refine a temporary class.
		if class.Retryable() {
			return class
		}
		return model.Provider
	case vendorhttp.SaysContextOverflow(r.message):
		return model.ContextOverflow
	case vendorhttp.Mentions(r.message, "content filtering policy"):
		return model.ContentFiltered
	case (r.status == http.StatusNotFound || r.kind == "not_found_error") && vendorhttp.Mentions(r.message, "model"):
		// A path below a wrong base URL is not found either.
		return model.ModelNotFound
	case r.status >= http.StatusMultipleChoices:
		// A status that blames the request is never treated as temporary.
		if known && !class.Retryable() {
			return class
		}
		return model.InvalidRequest
	case known:
		return class
	default:
		return model.Provider
	}
}
