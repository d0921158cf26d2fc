package cli

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
)

// advise returns which setting to change after a failure; empty if nothing is known.
func (x *providerCheck) advise(t *trial) string {
	var sent string
	if n := len(t.exchanges); n > 0 {
		sent = t.exchanges[n-1].URL
	}
	switch e := t.failure; {
	case e.Class == model.Unauthorized:
		return x.adviseKey()
	case e.Class == model.ModelNotFound:
		return "a model that the provider serves, as " + x.loaded.file.DecidedPath(diag.Key("models", x.model.ID)) + ".upstream_model; it is " + x.model.UpstreamModel
	case e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed:
		return advisePath(sent)
	case e.Class == model.RateLimited:
		return "a key with quota left; agents repeat such calls with the section retry"
	case e.Class == model.Timeout:
		return "a first event in time; local servers that read long prompts need sections.retry.first_token_timeout"
	case e.Class == model.EmptyAnswer:
		return "a text or a tool call; check that the server speaks the API of the provider's type and api"
	case e.Class == model.InvalidRequest && e.Status != 0:
		return "a request that the server takes; leave out the field that the message names with request: {omit: […]}"
	case e.Status == 0 && sent != "":
		return "an answer from " + hostOf(sent) + "; check " + x.path + ".base_url and the network"
	default:
		return ""
	}
}

// adviseKey names the variable that the key is from.
func (x *providerCheck) adviseKey() string {
	for _, field := range []string{"api_key", "headers", "client_secret", "secret_access_key", "credentials"} {
		path := diag.Join(x.path, field)
		if refs := x.loaded.file.References(path); len(refs) > 0 {
			return "a valid key in " + strings.Join(refs, ", ") + ", which " + path + " takes it from"
		}
	}
	return "a valid key, as " + diag.Join(x.path, "api_key") + ", which is not set or is plain text"
}

// advisePath returns which part of an address to change after a request that is not found.
func advisePath(sent string) string {
	u, err := url.Parse(sent)
	if err != nil {
		return "a path that the server knows; check base_url"
	}
	if twice := repeatedPart(u.Path); twice != "" {
		return "a path without " + twice + " twice; leave it out of base_url"
	}
	switch {
	case strings.HasSuffix(u.Path, "/responses"):
		return "api: chat_completions, if the server does not know the Responses API"
	case strings.HasSuffix(u.Path, "/chat/completions") && !strings.Contains(u.Path, "/v1"):
		return "a base_url that ends in /v1, as those of most compatible servers do; or api: responses"
	case strings.HasSuffix(u.Path, "/chat/completions"):
		return "api: responses, if the server does not know Chat Completions; or another base_url"
	default:
		return "a path that the server knows; check base_url"
	}
}

// repeatedPart returns the part of a path that is repeated immediately; empty for none.
func repeatedPart(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for size := len(parts) / 2; size > 0; size-- {
		for i := 0; i+2*size <= len(parts); i++ {
			if part := strings.Join(parts[i:i+size], "/"); part == strings.Join(parts[i+size:i+2*size], "/") {
				return "/" + part
			}
		}
	}
	return ""
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return address
}
