package google

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// endpoint is where requests go, and the headers they carry.
type endpoint struct {
	base   *url.URL
	header http.Header
}

// keyHeader carries the key; a key in the URL would end up in logs.
const keyHeader = "X-Goog-Api-Key"

func newEndpoint(c *Config) (endpoint, error) {
	base, err := url.Parse(c.apiAccess().URL())
	if err != nil {
		return endpoint{}, err
	}
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
	if c.APIKey != "" {
		header.Set(keyHeader, c.APIKey)
	}
	for name, value := range maps.All(c.Headers) {
		header.Set(name, value)
	}
	return endpoint{base: base.JoinPath(c.apiVersion()), header: header}, nil
}

// streamURL returns where a model is asked. A name without a collection is
// that of a model of the vendor's own.
func (e *endpoint) streamURL(name string) (string, error) {
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
	u := e.base.JoinPath(segments...)
	return u.String() + ":streamGenerateContent?alt=sse", nil
}
