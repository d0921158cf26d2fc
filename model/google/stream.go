package google

import (
	"fmt"
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
}

// Encode returns the request.
func (x *exchange) Encode() (path string, body []byte, err error) {
	path, err = x.executor.path(x.request.Model)
	if err != nil {
		return "", nil, err
	}
	body, err = x.executor.encodeRequest(x.request, x.form)
	return x.executor.version + "/" + path, body, err
}

// streamPath returns the path at which a model is asked, below that of the version. A
// name without a collection is that of a model of the vendor's own.
func streamPath(name string) (string, error) {
	if !strings.Contains(name, "/") {
		name = "models/" + name
	}
	segments := strings.Split(name, "/")
	for i, segment := range segments {
		if segment == "" || segment == "." || segment == ".." {
			return "", &model.Error{Class: model.InvalidRequest, Message: fmt.Sprintf("invalid model name %q", name)}
		}
		segments[i] = url.PathEscape(segment)
	}
	return strings.Join(segments, "/") + ":streamGenerateContent?alt=sse", nil
}

// Concede concedes nothing: what a model accepts is known from its name.
func (x *exchange) Concede(*model.Error) bool { return false }

// Translator returns the translator for the answer.
func (x *exchange) Translator() vendorhttp.Translator { return &translator{form: x.form} }
