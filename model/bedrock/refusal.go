package bedrock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/cloudauth"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// refusal is the vendor's reason for rejecting a request or aborting an answer, as the cause of a
// model.Error.
type refusal struct {
	// status is the HTTP status; 0 for an exception inside a stream.
	status int
	// code is the vendor's exception name.
	code, message string
}

// Error returns the vendor's exception name. It omits the message, because model.Error knows what
// must not appear in it.
func (r *refusal) Error() string { return fmt.Sprintf("bedrock: %q", r.code) }

// readRefusal returns the error for the body of a rejection, and reports whether the body has any
// information. The exception name is in a header, which refineRefusal reads.
func readRefusal(status int, body []byte) (failure *model.Error, known bool) {
	r := parseRefusal(body)
	r.status = status
	if status >= http.StatusBadRequest && r.message == "" {
		r.message = cmp.Or(vendorhttp.ErrorText(body), vendorhttp.PlainError(body))
	}
	return r.modelError(), r.message != "" || r.code != ""
}

// refineRefusal completes a rejection from its headers.
func refineRefusal(failure *model.Error, header http.Header) {
	r, ok := failure.Err.(*refusal) //nolint:errorlint // readRefusal made it
	if !ok {
		return
	}
	name, _, _ := strings.Cut(header.Get("X-Amzn-Errortype"), ":")
	if name = cloudauth.PrintableCode(name); name != "" {
		r.code = name
		refined := r.modelError()
		failure.Class, failure.Message = refined.Class, refined.Message
	}
}

// parseRefusal reads the body of a rejection, or the payload of an exception.
func parseRefusal(data []byte) *refusal {
	var fields struct {
		Type    string          `json:"__type"`
		Message json.RawMessage `json:"message"` // also Message
		Output  json.RawMessage `json:"output"`
		// OriginalMessage is the message of the model's server.
		OriginalMessage json.RawMessage `json:"originalMessage"`
	}
	r := &refusal{}
	if json.Unmarshal(data, &fields) != nil || fields.Output != nil {
		return r
	}
	r.message = cmp.Or(vendorhttp.ErrorText(fields.Message), vendorhttp.ErrorText(fields.OriginalMessage))
	_, name, found := strings.Cut(fields.Type, "#")
	if !found {
		name = fields.Type
	}
	r.code = cloudauth.PrintableCode(name)
	return r
}

// modelError converts the rejection to an error. Its message begins with the vendor's exception
// name.
func (r *refusal) modelError() *model.Error {
	text := vendorhttp.MessageText(strings.TrimSpace(r.message), r.status)
	if r.code != "" {
		text = r.code + ": " + text
	}
	return &model.Error{Class: r.errorClass(), Message: text, Err: r}
}

// codes maps the vendor's exceptions to classes. The keys are in lower case without the suffix
// Exception, because names in streams start with a lower-case letter.
var codes = map[string]model.ErrorClass{
	"accessdenied":               model.Unauthorized,
	"unrecognizedclient":         model.Unauthorized,
	"invalidclienttokenid":       model.Unauthorized,
	"invalidsignature":           model.Unauthorized,
	"incompletesignature":        model.Unauthorized,
	"signaturedoesnotmatch":      model.Unauthorized,
	"missingauthenticationtoken": model.Unauthorized,
	"expiredtoken":               model.Unauthorized,
	"requestexpired":             model.Unauthorized,
	"optinrequired":              model.Unauthorized,
	"throttling":                 model.RateLimited,
	"toomanyrequests":            model.RateLimited,
	"servicequotaexceeded":       model.RateLimited,
	"serviceunavailable":         model.Overloaded,
	"modelnotready":              model.Overloaded,
	"modeltimeout":               model.Timeout,
	"internalserver":             model.Provider,
	"internalfailure":            model.Provider,
	"internalerror":              model.Provider,
	"internalservererror":        model.Provider,
	"modelerror":                 model.Provider,
	"modelstreamerror":           model.StreamInterrupted,
	"resourcenotfound":           model.ModelNotFound,
}

// errorClass returns the class: by the exception if that is unambiguous, then by the status and the
// message.
func (r *refusal) errorClass() model.ErrorClass {
	if class, ok := codes[strings.TrimSuffix(strings.ToLower(r.code), "exception")]; ok {
		return class
	}
	if class, ok := vendorhttp.StatusClass(r.status); ok {
		return class
	}
	switch {
	case r.status >= http.StatusInternalServerError, r.status == http.StatusFailedDependency:
		return model.Provider
	case r.status == http.StatusRequestEntityTooLarge, vendorhttp.SaysContextOverflow(r.message),
		vendorhttp.Mentions(r.message, "too long", "maximum context", "context length", "too many input tokens", "too many total text bytes"):
		return model.ContextOverflow
	case vendorhttp.Mentions(r.message, "content filtering policy"):
		return model.ContentFiltered
	case vendorhttp.Mentions(r.message, "model identifier is invalid", "model id is invalid"):
		return model.ModelNotFound
	case r.status >= http.StatusMultipleChoices, r.code != "":
		return model.InvalidRequest
	default:
		return model.Provider
	}
}
