package cli

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
)

// advise returns the setting to change after a failure; empty if unknown.
func (x *providerCheck) advise(t *trial) string {
	var sent string
	if n := len(t.exchanges); n > 0 {
		sent = t.exchanges[n-1].URL
	}
	switch e := t.failure; {
	case http.StatusMultipleChoices <= e.Status && e.Status < http.StatusBadRequest:
		return x.path + ".base_url without a redirect"
	case rejectsTools.MatchString(e.Message):
		return "a model that can call tools, as " + x.loaded.file.DecidedPath(diag.Key("models", x.model.ID)) + ".upstream_model; vLLM needs the options --enable-auto-tool-choice and --tool-call-parser"
	case e.Status == http.StatusPaymentRequired:
		return "a key of an account that has credit left"
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

// rejectsTools matches errors of servers for models that cannot call tools: "x does not support
// tools", "No endpoints found that support tool use", and vLLM's "tool choice requires".
var rejectsTools = regexp.MustCompile(`(?i)support\w* (\w+ ){0,2}(tools?|function calling)\b|\b(tools|tool use|tool calling|function calling) (is|are) (not supported|unsupported|not available)|tool choice requires`)

// credentialFields are the provider settings that contain or select a credential, in order of
// precedence.
var credentialFields = []string{"entra_id", "credentials", "service_account_file", "token", "host_connection", "api_key", "headers"}

// usualCredentials are the credentials to suggest for a provider without one, by vendor; others
// take api_key.
var usualCredentials = map[string]string{
	"azure-openai": "api_key or entra_id", "bedrock": "api_key or credentials", "vertex": "service_account_file, token: metadata or api_key",
}

// adviseKey names the credential's setting and its source variables.
func (x *providerCheck) adviseKey() string {
	for _, field := range credentialFields {
		path := diag.Join(x.path, field)
		if !x.loaded.file.HasValue(path) {
			continue
		}
		if refs := x.loaded.file.References(path); len(refs) > 0 {
			return "a valid key in " + strings.Join(refs, ", ") + ", which " + path + " takes it from"
		}
		return "a valid credential, as " + path + ", with access to the model"
	}
	name := ""
	if vendor, ok := x.provider.(model.Vendor); ok {
		name = vendor.Vendor()
	}
	return "a valid key, as " + x.path + "." + cmp.Or(usualCredentials[name], "api_key") + ", which is not set"
}

// advisePath returns the part of a URL to change after a not found error.
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

// repeatedPart returns the part of a path that is repeated immediately, or "".
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
