// Package check provides validations shared by configuration records. Each check returns the
// problems of the field at a path, and nothing if the field is valid or absent.
package check

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/internal/redact"
)

// Within moves diagnostics below a path.
func Within(path string, list diag.List) diag.List {
	for i := range list {
		list[i].Path = diag.Join(path, list[i].Path)
	}
	return list
}

// Required checks a text that must not be empty.
func Required(path, value string) diag.List {
	if value != "" {
		return nil
	}
	return diag.List{diag.New(diag.MissingField, path, "%s is required", path)}
}

// OneOf checks a text that must be empty or one of the allowed values.
func OneOf(path, value string, allowed ...string) diag.List {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return diag.List{diag.New(diag.InvalidValue, path, "%q is not allowed here; choose one of %s", clip.Text(value), fmt.Sprint(allowed))}
}

// Positive checks a number that must be 1 or more.
func Positive(path string, v *int) diag.List {
	if v == nil || *v > 0 {
		return nil
	}
	return diag.List{diag.New(diag.InvalidValue, path, "%s is %d; it must be 1 or more", path, *v)}
}

// PositiveSpan checks a time span that must be more than 0.
func PositiveSpan[S ~int64](path string, v *S) diag.List {
	if v == nil || *v > 0 {
		return nil
	}
	return diag.List{diag.New(diag.InvalidValue, path, "%s is %v; it must be more than 0", path, *v)}
}

// NotNegative checks a number or time span that must be 0 or more.
func NotNegative[T ~int | ~int64](path string, v *T) diag.List {
	if v == nil || *v >= 0 {
		return nil
	}
	return diag.List{diag.New(diag.InvalidValue, path, "%s is %v; it must be 0 or more", path, *v)}
}

// Patterns checks a list of globs.
func Patterns(path string, globs []string) (list diag.List) {
	for i, glob := range globs {
		if _, err := pattern.Compile(glob); err != nil {
			list = append(list, diag.New(diag.InvalidPattern, diag.Index(path, i), "the pattern %q is not valid: %v", clip.Text(glob), err))
		}
	}
	return list
}

// Hosts checks a list of hosts and networks; see hostlist.Parse.
func Hosts(path string, hosts []string) (list diag.List) {
	for i, host := range hosts {
		if _, err := hostlist.Parse(host); err != nil {
			list = append(list, diag.New(diag.InvalidValue, diag.Index(path, i), "%v", err))
		}
	}
	return list
}

// PeerURL checks a peer's URL: http or https, with a host, without credentials, query and fragment.
// Messages do not repeat the URL, because it may contain a secret.
func PeerURL(path, raw string) diag.List {
	if raw == "" {
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s is required", path)}
	}
	u, err := url.Parse(raw)
	switch {
	case !strings.Contains(raw, "://"):
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s must start with http:// or https://", path)}
	case err != nil:
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s does not parse as a URL", path)}
	case u.Scheme != "http" && u.Scheme != "https":
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s must start with http:// or https://", path)}
	case u.Hostname() == "":
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s names no host", path)}
	case !IsPortValid(u):
		return diag.List{diag.New(diag.InvalidEndpoint, path, "the port of %s is not from 1 to 65535", path)}
	case u.User != nil:
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s must not contain a user or password", path).WithHint("use auth")}
	case u.RawQuery != "" || u.ForceQuery:
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s must not have a query", path)}
	case u.Fragment != "":
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s must not have a fragment", path)}
	}
	return nil
}

// IsPortValid reports whether a URL has no port or one from 1 to 65535.
func IsPortValid(u *url.URL) bool {
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || err == nil && port > 0
}

// PublicURL checks a publicly readable URL, unless it is empty: http or https, with a host and
// without secrets. Messages do not repeat the URL.
func PublicURL(path, raw string) diag.List {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || !IsPortValid(u) {
		return diag.List{diag.New(diag.InvalidValue, path, "%s must be an absolute http or https URL without a user", path)}
	}
	return PublicParameters(path, raw)
}

// PublicParameters checks a publicly readable text: if it is a URL, neither its user nor its
// parameters may be secrets.
func PublicParameters(path, raw string) diag.List {
	for _, part := range redact.URLParts(raw) {
		if !redact.IsHarmless(part.Name, raw[part.From:part.To]) {
			return diag.List{diag.New(diag.InvalidValue, path, "%s is public, and its user or parameters may be secrets", path).
				WithHint("leave them out")}
		}
	}
	return nil
}
