package redact

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// URLPart is a part of a URL that may be a secret, as text[From:To].
type URLPart struct {
	// Name is the name of the parameter, or user or password; empty for a parameter without "=".
	Name string
	// Start is the start of the part including its name.
	Start, From, To int
}

// references matches {{name}}, ${NAME} and ${file:path}, which are replaced by their values.
var references = regexp.MustCompile(`\$?\{\{[^{}]*\}\}|\$\{(?:file:[^}]*|[\w.]+)\}`)

// maxLogin is the maximum length of a URL's user that counts as a login name.
const maxLogin = 7

// URLParts returns the user, the password and the query values of a URL. It omits values that
// consist only of references, and short user names, which are not secret.
func URLParts(text string) []URLPart {
	// References are blanked, because they may contain the characters that delimit the parts of a
	// URL.
	text = references.ReplaceAllStringFunc(text, func(r string) string { return strings.Repeat("\x00", len(r)) })
	var parts []URLPart
	add := func(p URLPart) {
		if strings.Trim(text[p.From:p.To], "\x00") != "" {
			parts = append(parts, p)
		}
	}
	from := 0
	if at := strings.Index(text, "://"); at >= 0 {
		from = at + len("://")
		if n := strings.LastIndexByte(text[from:from+indexAny(text[from:], "/?#")], '@'); n >= 0 {
			user := from + indexAny(text[from:from+n], ":")
			if user-from > maxLogin {
				add(URLPart{Name: "user", Start: from, From: from, To: user})
			}
			if user < from+n {
				add(URLPart{Name: "password", Start: from, From: user + 1, To: from + n})
			}
		}
	}
	from += indexAny(text[from:], "?#")
	for from < len(text) {
		from++
		to := from + indexAny(text[from:], "&;#")
		p := URLPart{Start: from, From: from, To: to}
		if at := strings.IndexByte(text[from:to], '='); at >= 0 {
			p.Name, p.From = text[from:from+at], from+at+1
		}
		if isAnchor := text[from-1] == '#' && p.Name == ""; !isAnchor {
			add(p)
		}
		from = to
	}
	return parts
}

// indexAny returns the index of the first of the characters, or the length of the text.
func indexAny(text, chars string) int {
	if at := strings.IndexAny(text, chars); at >= 0 {
		return at
	}
	return len(text)
}

// harmless matches parameters too short to be a secret, and dates, as used for API versions.
var harmless = regexp.MustCompile(`^(.{0,7}|\d{4}-\d\d-\d\d(-preview)?)$`)

// IsHarmless reports whether a part of a URL may be stored and published unmasked.
func IsHarmless(name, value string) bool {
	return harmless.MatchString(value) && !IsCredential(name) && !strings.Contains(value, Placeholder)
}

// credentialName matches the names of parameters that hold credentials.
var credentialName = regexp.MustCompile(`(?i)(key|token|secret|passw(or)?d|pass|pwd|auth|authorization|credentials?|cookie|signature|sig|jwt|code)$`)

// IsCredential reports whether a parameter with this name holds a credential.
func IsCredential(name string) bool { return credentialName.MatchString(name) }

// URL returns a URL without its user and its parameters' values. References stay.
func URL(text string) string {
	parts := URLParts(text)
	for i := len(parts) - 1; i >= 0; i-- {
		text = text[:parts[i].From] + Placeholder + text[parts[i].To:]
	}
	return text
}

// IsURL reports whether the value of a field is a URL, possibly after a prefix such as --url=. In
// fields for URLs it may also begin with a reference or be relative.
func IsURL(name, text string) bool {
	if strings.ContainsAny(text, " \t\r\n") || !strings.ContainsAny(text, "?@#") {
		return false
	}
	before := text[:indexAny(text, "?#")]
	return strings.Contains(before, "://") || strings.HasPrefix(before, "${") ||
		strings.HasPrefix(before, "/") && urlName.MatchString(name)
}

// urlName matches the names of fields whose values are URLs.
var urlName = regexp.MustCompile(`(^|_)(url|uri|list)$`)

// WithoutURL returns an HTTP client's error without the request's URL, whose parameters may be
// secrets.
func WithoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// Parameters returns a copy of query parameters without their values. References stay.
func Parameters(values map[string]string) map[string]string {
	shown := Values(values)
	for name, value := range values {
		if references.ReplaceAllString(value, "") == "" {
			shown[name] = value
		}
	}
	return shown
}
