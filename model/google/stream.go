package google

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// exchange is one request.
type exchange struct {
	executor *Executor
	request  *model.Request
	form     form
	// thinking is the model's support for thinking.
	thinking thinkingSupport
}

// Encode returns the request.
func (x *exchange) Encode() (path string, body []byte, err error) {
	path, err = x.executor.path(x.request.Model)
	if err != nil {
		return "", nil, err
	}
	body, err = x.executor.encodeRequest(x.request, x.form, x.thinking)
	return x.executor.version + "/" + path, body, err
}

// streamPath returns the streaming path of a model, relative to the version. A name without a
// collection means one of the vendor's models.
func streamPath(name string) (string, error) {
	if !strings.Contains(name, "/") {
		name = "models/" + name
	}
	segments := strings.Split(name, "/")
	for i, segment := range segments {
		if segment == "" || segment == "." || segment == ".." {
			return "", vendorhttp.InvalidRequest(fmt.Sprintf("invalid model name %q", name), nil)
		}
		segments[i] = url.PathEscape(segment)
	}
	return strings.Join(segments, "/") + ":streamGenerateContent?alt=sse", nil
}

// Concede requests thinking in the other form, or not at all, if the model rejects the form derived
// from its name.
func (x *exchange) Concede(failure *model.Error) (more bool) {
	if x.request.ReasoningEffort == nil || failure.Status != http.StatusBadRequest && failure.Status != http.StatusUnprocessableEntity {
		return false
	}
	if x.thinking, more = x.thinking.afterRefusal(failure.Message); more {
		x.executor.known.Remember(x.request.Model, x.thinking)
	}
	return more
}

// Translator returns the translator for the answer.
func (x *exchange) Translator() vendorhttp.Translator { return &translator{form: x.form, index: -1} }
