package anthropic

import (
	"net/http"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

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
	if class, ok := vendorhttp.CallerClass(r.status); ok {
		return class
	}
	if class, ok := vendorhttp.BusyClass(r.status); ok {
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
