package vendorhttp

import (
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/internal/redact"
)

// CheckBaseURL checks the setting base_url; empty is valid. A query would be dropped, and a user
// and password would replace the key, so both are rejected.
func CheckBaseURL(raw string) diag.List { return CheckURL("base_url", raw) }

// CheckURL checks the setting at path like CheckBaseURL.
func CheckURL(path, raw string) diag.List {
	if raw == "" {
		return nil
	}
	fault := func(what string) diag.List {
		return diag.List{diag.New(diag.InvalidValue, path, "%s %s", path[strings.LastIndexByte(path, '.')+1:], what)}
	}
	u, err := url.Parse(raw)
	switch {
	case !strings.Contains(raw, "://"):
		list := fault("must start with http:// or https://")
		if host, _, _ := strings.Cut(raw, "/"); isAddress.MatchString(host) {
			list[0] = list[0].WithHint("write %s%s", schemeOf(host), raw)
		}
		return list
	case err != nil:
		return fault("does not parse as a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return fault("must start with http:// or https://")
	case u.Hostname() == "":
		return fault("names no host")
	case !check.IsPortValid(u):
		return fault("has a port that is not from 1 to 65535")
	case u.User != nil:
		list := fault("must not contain a user or password")
		list[0] = list[0].WithHint("use api_key or headers")
		return list
	case u.RawQuery != "" || u.ForceQuery:
		return fault("must not have a query")
	case u.Fragment != "":
		return fault("must not have a fragment")
	}
	for _, p := range requestPaths {
		if path == "base_url" && strings.HasSuffix(strings.TrimRight(u.Path, "/"), p.end) {
			list := fault("ends in " + p.below + ", the path of requests, which are sent below it")
			list[0] = list[0].WithHint("leave out %s", p.below)
			return list
		}
	}
	return nil
}

// isAddress matches a host with an optional port.
var isAddress = regexp.MustCompile(`^([A-Za-z0-9-]+\.)*[A-Za-z0-9-]+(:[0-9]+)?$`)

// schemeOf returns the most likely scheme of a server at host.
func schemeOf(host string) string {
	name, _, _ := strings.Cut(host, ":")
	if hostlist.IsLoopback(name) || net.ParseIP(name).IsPrivate() {
		return "http://"
	}
	return "https://"
}

// requestPaths are the ends of the paths that requests are sent to, with their part below base_url.
// API addresses are often given with them.
var requestPaths = []struct{ end, below string }{
	{"/chat/completions", "/chat/completions"}, {"/v1/responses", "/responses"}, {"/v1/messages", "/v1/messages"},
}

// CheckSecret checks the setting at path, a secret header value. The findings call it name.
func CheckSecret(path, name, value string) diag.List {
	switch {
	case value == redact.Placeholder:
		return diag.List{diag.New(diag.InvalidValue, path, "%s is the placeholder for a hidden value", name)}
	case !httpguts.ValidHeaderFieldValue(value):
		return diag.List{diag.New(diag.InvalidValue, path, "%s contains a line break or another control character", name)}
	}
	return nil
}

// reservedHeader is a header that a setting controls; empty for none.
type reservedHeader struct{ name, setting string }

// checkHeaders checks a provider's additional headers, the setting headers, which must not conflict
// with the header that carries the key.
func checkHeaders(headers map[string]string, key reservedHeader) diag.List {
	var list diag.List
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		list = append(list, checkHeader(name, headers[name], key)...)
	}
	return list
}

func checkHeader(name, value string, key reservedHeader) diag.List {
	path := diag.Key("headers", name)
	if !httpguts.ValidHeaderFieldName(name) {
		return diag.List{diag.New(diag.InvalidValue, path, "invalid header name %q", name)}
	}
	switch canonical := http.CanonicalHeaderKey(name); {
	case canonical == http.CanonicalHeaderKey(key.name):
		return diag.List{diag.New(diag.InvalidValue, path, "the header %s contradicts %s", canonical, key.setting).
			WithHint("give one of the two")}
	case slices.Contains(ownHeaders, canonical):
		return diag.List{diag.New(diag.InvalidValue, path, "the header %s is set by the runtime", canonical)}
	}
	return CheckSecret(path, "the header "+name, value)
}

// ownHeaders depend on the body and the connection, so a configuration cannot set them.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length",
	"Content-Type", "Host", "Transfer-Encoding",
}
