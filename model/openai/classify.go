package openai

import (
	"cmp"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// codes maps the error codes and types of the vendor and compatible servers to classes. An
// exhausted quota is a rate limit: a pool moves on from it, and returns once it was raised.
var codes = map[string]model.ErrorClass{
	"context_length_exceeded":        model.ContextOverflow,
	"exceed_context_size_error":      model.ContextOverflow,
	"content_filter":                 model.ContentFiltered,
	"content_filtered":               model.ContentFiltered,
	"content_policy_violation":       model.ContentFiltered,
	"image_content_policy_violation": model.ContentFiltered,
	"misalignment_policy_violation":  model.ContentFiltered,
	"bio_policy":                     model.ContentFiltered,
	"cyber_policy":                   model.ContentFiltered,
	"invalid_prompt":                 model.ContentFiltered,
	"ResponsibleAIPolicyViolation":   model.ContentFiltered,
	"rate_limit_exceeded":            model.RateLimited,
	"rate_limit_error":               model.RateLimited,
	"insufficient_quota":             model.RateLimited,
	"too_many_requests":              model.RateLimited,
	"overloaded":                     model.Overloaded,
	"overloaded_error":               model.Overloaded,
	"engine_overloaded":              model.Overloaded,
	"server_is_overloaded":           model.Overloaded,
	"service_unavailable":            model.Overloaded,
	"slow_down":                      model.Overloaded,
	"timeout":                        model.Timeout,
	"request_timeout":                model.Timeout,
	"vector_store_timeout":           model.Timeout,
	"invalid_api_key":                model.Unauthorized,
	"authentication_error":           model.Unauthorized,
	"permission_error":               model.Unauthorized,
	"model_not_found":                model.ModelNotFound,
	"DeploymentNotFound":             model.ModelNotFound,
	"server_error":                   model.Provider,
	"internal_error":                 model.Provider,
	"internal_server_error":          model.Provider,
	"api_error":                      model.Provider,
	"tool_use_failed":                model.Provider, // Groq: the model wrote a call that the server cannot read
	"json_validate_failed":           model.Provider, // Groq: the model wrote an answer without the requested form
	"invalid_request_error":          model.InvalidRequest,
}

// modelError converts the refusal to a model.Error.
func (r *refusal) modelError() *model.Error {
	text := vendorhttp.MessageText(r.message, r.status, [2]string{"code", r.code}, [2]string{"type", r.kind})
	return &model.Error{Class: r.errorClass(), Message: text, Err: r}
}

// errorEvent reads an error event. Its fields are at the top level, as documented, or in the field
// error.
func errorEvent(data []byte) error {
	r := parseRefusal(data)
	if r == nil {
		r = &refusal{message: cmp.Or(vendorhttp.ErrorText(data), vendorhttp.PlainError(data))}
	}
	if r.kind == "error" {
		r.kind = "" // that is the event's type, not the error's
	}
	return r.modelError()
}

// errorClass returns the class of the refusal, first from an unambiguous status, then from the
// code, then from the rest.
func (r *refusal) errorClass() model.ErrorClass {
	status := r.effectiveStatus()
	if class, ok := vendorhttp.CallerClass(status); ok {
		return class
	}
	if status == http.StatusRequestEntityTooLarge { // Groq calls it a rate limit
		return model.ContextOverflow
	}
	if class, ok := codes[r.code]; ok && r.code != "invalid_request_error" {
		return class
	}
	if r.saysContextOverflow() {
		return model.ContextOverflow
	}
	if class, ok := vendorhttp.StatusClass(status); ok {
		return class
	}
	if status >= http.StatusInternalServerError {
		return model.Provider
	}
	if status == http.StatusNotFound && r.speaksOfModel() || status == http.StatusBadRequest && missingModel.MatchString(r.message) {
		return model.ModelNotFound
	}
	// A status that blames the request is never treated as temporary.
	if class, ok := codes[r.kind]; ok && (status == 0 || !class.Retryable()) {
		return class
	}
	if status != 0 || r.blamesRequest() {
		return model.InvalidRequest
	}
	return model.Provider
}

// effectiveStatus returns the HTTP status, or the status code of an error within a stream.
func (r *refusal) effectiveStatus() int {
	if r.status >= http.StatusMultipleChoices {
		return r.status
	}
	if n, err := strconv.Atoi(r.code); err == nil && http.StatusBadRequest <= n && n < 600 {
		return n
	}
	return 0
}

func (r *refusal) saysContextOverflow() bool { return vendorhttp.SaysContextOverflow(r.message) }

// missingModel matches messages with status 400 about missing models, such as DeepSeek's "Model Not
// Exist" and LM Studio's "Invalid model identifier".
var missingModel = regexp.MustCompile(`(?i)^(?:the )?model\b.{0,100}\b(?:not found|not exist|is not a valid model)|\b(?:unknown model|no such model|invalid model (?:id|identifier|name)|not a valid model id)\b`)

// speaksOfModel distinguishes a missing model from other missing resources, such as the path of a
// wrong base URL or an item of an earlier answer.
func (r *refusal) speaksOfModel() bool {
	return r.param == "model" || vendorhttp.Mentions(r.message, "model")
}

// blamesRequest reports whether an error inside a stream is the request's
// fault: repeating it would not help.
func (r *refusal) blamesRequest() bool {
	for _, prefix := range []string{"invalid_", "image_", "unsupported_", "empty_image", "failed_to_download_"} {
		if strings.HasPrefix(r.code, prefix) {
			return true
		}
	}
	return false
}
