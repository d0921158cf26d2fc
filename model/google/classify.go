package google

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// readRefusal returns the error for the body of a rejection, and reports whether the body has an
// error in the vendor's form.
func readRefusal(status int, body []byte) (failure *model.Error, known bool) {
	r := parseRefusal(body)
	r.status = status
	if status >= http.StatusBadRequest && r.api.Message == "" {
		r.api.Message = cmp.Or(vendorhttp.ErrorText(body), vendorhttp.PlainError(body))
	}
	return r.modelError(), r.detailed
}

// modelError converts the rejection to an error.
func (r *refusal) modelError() *model.Error {
	text := vendorhttp.MessageText(r.api.Message, r.status, [2]string{"status", r.api.Status})
	return &model.Error{Class: r.errorClass(), Message: text, RetryAfter: r.retryDelay(), Err: r}
}

// statusCodes maps the vendor's status names to HTTP statuses, for errors inside a stream that have
// only the name.
var statusCodes = map[string]int{
	"INVALID_ARGUMENT":    http.StatusBadRequest,
	"FAILED_PRECONDITION": http.StatusBadRequest,
	"OUT_OF_RANGE":        http.StatusBadRequest,
	"UNAUTHENTICATED":     http.StatusUnauthorized,
	"PERMISSION_DENIED":   http.StatusForbidden,
	"NOT_FOUND":           http.StatusNotFound,
	"ABORTED":             http.StatusConflict,
	"RESOURCE_EXHAUSTED":  http.StatusTooManyRequests,
	"INTERNAL":            http.StatusInternalServerError,
	"UNKNOWN":             http.StatusInternalServerError,
	"DATA_LOSS":           http.StatusInternalServerError,
	"UNAVAILABLE":         http.StatusServiceUnavailable,
	"DEADLINE_EXCEEDED":   http.StatusGatewayTimeout,
}

// errorClass returns the class of the rejection.
func (r *refusal) errorClass() model.ErrorClass {
	status := r.effectiveStatus()
	if class, ok := vendorhttp.StatusClass(status); ok {
		return class
	}
	switch status {
	case http.StatusNotFound:
		// A request names only a model; without an error in the vendor's form, the path is wrong.
		if r.detailed {
			return model.ModelNotFound
		}
		return model.InvalidRequest
	case 0:
		return model.Provider
	}
	switch {
	case status >= http.StatusInternalServerError || status == statusCanceled:
		return model.Provider
	case r.blamesKey():
		return model.Unauthorized
	case r.saysContextOverflow():
		return model.ContextOverflow
	default:
		return model.InvalidRequest
	}
}

// statusCanceled is the vendor's status for a request that the vendor abandoned.
const statusCanceled = 499

// effectiveStatus returns the HTTP status, or the status of an error sent with a success status.
func (r *refusal) effectiveStatus() int {
	switch {
	case r.status >= http.StatusMultipleChoices:
		return r.status
	case r.api.Code >= http.StatusBadRequest && r.api.Code < 600:
		return r.api.Code
	default:
		return statusCodes[r.api.Status]
	}
}

// blamesKey reports whether the key is at fault, which the vendor reports as an invalid argument.
func (r *refusal) blamesKey() bool {
	return strings.HasPrefix(r.errorReason(), "API_KEY_") || strings.HasPrefix(strings.ToLower(r.api.Message), "api key")
}

// overflowPhrases are the vendor's messages for a request that exceeds the model's window, which
// has no error code.
var overflowPhrases = []string{
	"input token count", "maximum number of tokens", "input context is too long", "context length",
}

func (r *refusal) saysContextOverflow() bool {
	return vendorhttp.SaysContextOverflow(r.api.Message) || vendorhttp.Mentions(r.api.Message, overflowPhrases...)
}
