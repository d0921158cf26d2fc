package http

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// address is a URL with placeholders for arguments in its path and query.
type address struct {
	// base is scheme://host, without a trailing slash.
	base string
	// host is the host's name or IP address, without a port.
	host string
	// port is as written; empty for the scheme's default.
	port string
	// segments are the parts of the path, each preceded by a slash.
	segments []template
	query    []param
	// origin, if set, decides base, host and port for each tenant.
	origin *origin
}

// param is one parameter of a query.
type param struct {
	// key is escaped, and ends with '=' unless the parameter has no value.
	key   string
	value template
	// configured is the name in the query setting; empty for a parameter of the URL.
	configured string
}

// origin is the beginning of a URL that depends on variables of the tenant.
type origin struct {
	// base is the variable that holds a URL, up to some part of its path; empty if the authority
	// has the variables.
	base string
	// scheme is the scheme of the authority, whose texts and variables are in parts.
	scheme string
	parts  template
	// label is the beginning as configured.
	label string
}

// parseAddress compiles a URL. Its errors do not quote the URL, which may contain a secret.
func parseAddress(raw string) (*address, error) {
	raw, _, hasFragment := strings.Cut(raw, "#")
	if hasFragment {
		return nil, errors.New("url must not have a fragment, which is never sent")
	}
	a := new(address)
	begin, rest, err := parseOrigin(raw)
	if err != nil {
		return nil, err
	}
	a.origin = begin
	if begin == nil {
		scheme, after, ok := strings.Cut(raw, "://")
		if scheme = strings.ToLower(scheme); !ok || scheme != "http" && scheme != "https" {
			return nil, errors.New("url must start with http:// or https://")
		}
		authority, _, _ := splitAddress(after)
		if a.base = scheme + "://" + authority; a.setHost(authority) != nil {
			return nil, a.setHost(authority)
		}
		rest = after[len(authority):]
	}
	_, path, query := splitAddress(rest)
	if err := a.setPath(path); err != nil {
		return nil, err
	}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		p, err := parsePair(pair)
		if err != nil {
			return nil, err
		}
		a.query = append(a.query, p)
	}
	return a, nil
}

// parseOrigin compiles the beginning of a URL if it contains variables of the tenant, and returns
// what follows; o is nil if absent.
func parseOrigin(raw string) (o *origin, rest string, err error) {
	if parts := spec.Template(raw).Parts(); len(parts) > 0 && parts[0].Name != "" {
		o = &origin{base: parts[0].Name, label: parts[0].String()}
		if rest = raw[len(o.label):]; parts[0].Scope != spec.TenantScope {
			return nil, "", errTurnVariable
		}
		if rest != "" && rest[0] != '/' && rest[0] != '?' {
			return nil, "", fmt.Errorf("after %s, which has the beginning of the url, a path must follow", o.label)
		}
		return o, rest, nil
	}
	scheme, after, ok := strings.Cut(raw, "://")
	authority, _, _ := splitAddress(after)
	if !ok || !spec.Template(authority).HasReferences() {
		return nil, raw, nil
	}
	o = &origin{scheme: strings.ToLower(scheme), label: scheme + "://" + authority}
	if o.scheme != "http" && o.scheme != "https" {
		return nil, "", errors.New("url must start with http:// or https://")
	}
	if strings.Contains(authority, "{{") {
		return nil, "", errHostPlaceholder
	}
	if o.parts, err = parseReferring(authority); err != nil {
		return nil, "", err
	}
	sample := make(template, len(o.parts))
	for i, p := range o.parts {
		if sample[i] = p; p.tenant != "" {
			sample[i] = part{literal: "1"}
		}
	}
	host := sample.joinLiterals()
	return o, after[len(authority):], (&address{base: o.scheme + "://" + host}).setHost(host)
}

func splitAddress(rest string) (authority, path, query string) {
	rest, query, _ = strings.Cut(rest, "?")
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[:i], rest[i:], query
	}
	return rest, "", query
}

var errHostPlaceholder = errors.New("a placeholder must not appear in the host, port or user of url: arguments cannot choose where a request goes")

// setHost checks the part of a URL that names the host.
func (a *address) setHost(authority string) error {
	if strings.Contains(authority, "{{") || strings.Contains(authority, "}}") {
		return errHostPlaceholder
	}
	u, err := url.Parse(a.base)
	switch {
	case err != nil:
		return errors.New("the host of url does not parse")
	case u.User != nil:
		return errors.New("url must not contain a user or password; use headers")
	case u.Hostname() == "":
		return errors.New("url names no host")
	case !utf8.ValidString(authority):
		return errors.New("url host must be a string")
	case strings.HasSuffix(u.Host, ":"):
		return errors.New("url has an empty port")
	}
	a.host, a.port = u.Hostname(), u.Port()
	if !check.IsPortValid(u) {
		return errors.New("the port of url is not from 1 to 65535")
	}
	return nil
}

func (a *address) setPath(path string) error {
	if path == "" {
		return nil
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		t, err := parseEscaped(segment)
		if err != nil {
			return err
		}
		if t.isLiteral() && tools.LeavesPath(segment) {
			return errors.New(`the path of url must not have a "." or ".." in it`)
		}
		a.segments = append(a.segments, t)
	}
	return nil
}

// parsePair compiles a parameter of a URL's query, which is already escaped.
func parsePair(pair string) (param, error) {
	key, value, hasValue := strings.Cut(pair, "=")
	if strings.Contains(key, "{{") {
		return param{}, errors.New("a placeholder may be in the value of a query parameter, not in its name")
	}
	key, err := escapeLiteral(key)
	if err != nil {
		return param{}, err
	}
	if hasValue {
		key += "="
	}
	t, err := parseEscaped(value)
	return param{key: key, value: t}, err
}

// parseParam compiles a parameter of the query setting, which is plain text.
func parseParam(name, value string) (param, error) {
	t, err := parseReferring(value)
	if err != nil {
		return param{}, err
	}
	for i := range t {
		t[i].literal = url.QueryEscape(t[i].literal)
	}
	return param{key: url.QueryEscape(name) + "=", value: t, configured: name}, nil
}

// parseEscaped compiles a template whose literals are parts of a URL.
func parseEscaped(text string) (template, error) {
	t, err := parseReferring(text)
	if err != nil {
		return nil, err
	}
	for i := range t {
		if t[i].literal, err = escapeLiteral(t[i].literal); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// escapeLiteral escapes characters that are invalid in a path or query, and leaves escapes and
// delimiters alone.
func escapeLiteral(text string) (string, error) {
	const plain = "-._~!$&'()*+,;=:@/?"
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(plain, c) >= 0:
			b.WriteByte(c)
		case c == '%':
			if i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2]) {
				return "", errors.New("url has a '%' that starts no escape; write %25 for a literal '%'")
			}
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String(), nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// addNames adds the names of the arguments in a to a set.
func (a *address) addNames(set map[string]bool) {
	for _, segment := range a.segments {
		segment.addNames(set)
	}
	for i := range a.query {
		a.query[i].value.addNames(set)
	}
}

// renderURL returns the escaped path and query with the arguments filled in. Additional
// parameters follow the URL's own.
func (a *address) renderURL(args tools.Arguments, more []param) (path, query string, err error) {
	dst := make([]byte, 0, 128)
	for _, segment := range a.segments {
		dst = append(dst, '/')
		start := len(dst)
		if dst, err = segment.appendTo(dst, args, escapeSegment); err != nil {
			return "", "", err
		}
		if err := checkSegment(segment, string(dst[start:]), args); err != nil {
			return "", "", err
		}
	}
	split := len(dst)
	for _, params := range [][]param{a.query, more} {
		for i := range params {
			if dst, err = params[i].appendTo(dst, split, args); err != nil {
				return "", "", err
			}
		}
	}
	return string(dst[:split]), string(dst[split:]), nil
}

func (p *param) appendTo(dst []byte, start int, args tools.Arguments) ([]byte, error) {
	if name := p.value.onlyName(); name != "" && !args.Has(name) {
		return dst, nil
	}
	if len(dst) > start {
		dst = append(dst, '&')
	}
	return p.value.appendTo(append(dst, p.key...), args, escapeQuery)
}

func escapeSegment(dst []byte, _, value string) ([]byte, error) {
	return append(dst, url.PathEscape(value)...), nil
}

func escapeQuery(dst []byte, _, value string) ([]byte, error) {
	return append(dst, url.QueryEscape(value)...), nil
}

// checkSegment rejects arguments that would make a server use a path other than the configured one.
// Escaping does not prevent this: many servers resolve dots, and some also slashes, after
// unescaping.
func checkSegment(t template, rendered string, args tools.Arguments) error {
	if t.isLiteral() {
		return nil
	}
	if tools.LeavesPath(rendered) {
		return inputErrorf("argument %s is used in a path and must not contain %q or %q as a segment", t.firstName(), ".", "..")
	}
	// A missing argument was omitted on purpose; an empty one would turn "delete item x" into
	// "delete items".
	if rendered == "" && slices.ContainsFunc(t, func(p part) bool { return args.Has(p.name) }) {
		return inputErrorf("argument %s is used in a path and must not be empty", t.firstName())
	}
	return nil
}

func (t template) firstName() string {
	for i := range t {
		if t[i].name != "" {
			return t[i].name
		}
	}
	return ""
}
