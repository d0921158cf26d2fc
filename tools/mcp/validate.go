package mcp

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Validate checks the record by itself, without contacting the server. Paths are relative to the
// entry.
func (c *config) Validate() diag.List {
	var list diag.List
	switch local, remote := len(c.Command) > 0, c.URL != ""; {
	case local && remote:
		list = append(list, diag.New(diag.InvalidValue, "url", "command and url exclude each other"))
	case local:
		list = append(list, c.checkProgram()...)
	case remote:
		list = append(list, c.checkAddress()...)
	default:
		list = append(list, diag.New(diag.MissingField, "command", "command or url is required").
			WithHint("name the server's program, as in [npx, -y, some-server], or its address as url"))
	}
	list = append(list, c.checkFilter()...)
	if strings.Contains(c.Catalog, "\x00") {
		list = append(list, diag.New(diag.InvalidValue, "catalog", "catalog has a NUL character"))
	}
	if c.Prefix != nil && !prefixGrammar.MatchString(*c.Prefix) {
		list = append(list, diag.New(diag.InvalidValue, "prefix", "prefix must be at most 40 letters, digits, '_' or '-'"))
	}
	for i, name := range c.Features {
		if !slices.Contains(knownFeatures, name) {
			list = append(list, diag.New(diag.InvalidValue, diag.Index("features", i), "%q is not a feature; allowed are %s", name, strings.Join(knownFeatures, ", ")))
		}
	}
	if policies := []string{"", changesAccepted, changesWarned, changesRejected}; !slices.Contains(policies, c.ChangedTools) {
		list = append(list, diag.New(diag.InvalidValue, "changed_tools", "changed_tools is %q; allowed are accept, warn and error", c.ChangedTools))
	}
	if c.ConnectTimeout != nil && *c.ConnectTimeout <= 0 {
		list = append(list, diag.New(diag.InvalidValue, "connect_timeout", "connect_timeout is %s; it must be more than 0", c.ConnectTimeout))
	}
	effect := c.Effect
	if effect == "" {
		effect = tools.Once
	}
	return append(list, tools.CheckSettings(effect, c.Timeout, c.maxOutput())...)
}

var prefixGrammar = regexp.MustCompile(`^[A-Za-z0-9_-]{0,40}$`)

// checkProgram checks the settings of a program. Its messages do not quote arguments and values,
// which may contain secrets.
func (c *config) checkProgram() diag.List {
	var list diag.List
	if strings.TrimSpace(c.Command[0]) == "" {
		list = append(list, diag.New(diag.InvalidValue, "command[0]", "the name of the program is empty"))
	}
	for i, word := range c.Command {
		if strings.Contains(word, "\x00") {
			list = append(list, diag.New(diag.InvalidValue, diag.Index("command", i), "a command must not have NUL characters"))
		}
	}
	if strings.Contains(c.Dir, "\x00") {
		list = append(list, diag.New(diag.InvalidValue, "dir", "dir has a NUL character"))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			list = append(list, diag.New(diag.InvalidValue, diag.Key("env", name), "invalid environment variable name"))
		case strings.Contains(c.Env[name], "\x00"):
			list = append(list, diag.New(diag.InvalidValue, diag.Key("env", name), "the value has a NUL character"))
		}
	}
	list = append(list, misplacedField("headers", len(c.Headers) > 0, "url")...)
	list = append(list, misplacedField("allow_private", len(c.AllowPrivate) > 0, "url")...)
	return append(list, misplacedField("auth", c.Auth != nil, "url")...)
}

// misplacedField reports a field that belongs to the other way of connecting to a server.
func misplacedField(field string, set bool, with string) diag.List {
	if !set {
		return nil
	}
	return diag.List{diag.New(diag.InvalidValue, field, "%s goes with %s only", field, with)}
}

// ownHeaders are the headers that the protocol sets.
var ownHeaders = []string{"accept", "content-type", "content-length", "host", "last-event-id", "mcp-session-id", "mcp-protocol-version"}

// checkAddress checks the settings of a server reached over HTTP.
func (c *config) checkAddress() diag.List {
	list := c.checkReferences()
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		path := diag.Key("headers", name)
		switch {
		case !headerName.MatchString(name):
			list = append(list, diag.New(diag.InvalidValue, path, "invalid header name"))
		case slices.Contains(ownHeaders, strings.ToLower(name)):
			list = append(list, diag.New(diag.InvalidValue, path, "the protocol sets this header itself"))
		case strings.EqualFold(name, "authorization") && c.Auth != nil:
			list = append(list, diag.New(diag.InvalidValue, path, "auth sets this header"))
		case len(spec.Template(c.Headers[name]).References(spec.TurnScope)) > 0:
			list = append(list, diag.New(diag.InvalidValue, path, "%s", errTurnVariable))
		case strings.ContainsFunc(c.Headers[name], isControl):
			list = append(list, diag.New(diag.InvalidValue, path, "the value has a control character"))
		}
	}
	list = append(list, misplacedField("dir", c.Dir != "", "command")...)
	list = append(list, misplacedField("env", len(c.Env) > 0, "command")...)
	if c.Auth != nil {
		for _, d := range c.Auth.checkFields() {
			d.Path = diag.Join("auth", d.Path)
			list = append(list, d)
		}
	}
	return list
}

// checkReferences checks the url with a sample value for each variable, and the settings that
// depend on who decides the host.
func (c *config) checkReferences() diag.List {
	sample, err := c.sampleURL()
	if err != nil {
		return diag.List{diag.New(diag.InvalidValue, "url", "%s", err)}
	}
	list := checkURL("url", sample)
	if sample != plainText(c.URL) {
		if u, err := url.Parse(sample); err == nil && slices.ContainsFunc(strings.Split(u.EscapedPath(), "/"), tools.LeavesPath) {
			list = append(list, diag.New(diag.InvalidValue, "url", `the path of url must not have a "." or ".." in it`))
		}
	}
	isForeign := c.hasForeignHost()
	if isForeign && c.Auth != nil {
		list = append(list, diag.New(diag.InvalidValue, "auth", "a tenant decides the host of url, and must not be shown the credentials of auth").
			WithHint("set a header with a secret of the tenant, as in Authorization: Bearer ${tenant.NAME}"))
	}
	if !isForeign && !c.Auth.discovers() && len(c.AllowPrivate) > 0 {
		list = append(list, diag.New(diag.InvalidValue, "allow_private", "allow_private goes with ${tenant.NAME} in the host of url, or with an auth that finds its authorization server: any other url may be private"))
	}
	for i, entry := range c.AllowPrivate {
		if _, err := hostlist.Parse(entry); err != nil {
			list = append(list, diag.New(diag.InvalidValue, diag.Index("allow_private", i), "%s", err))
		}
	}
	return list
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// checkURL checks an address. The messages do not repeat it.
func checkURL(path, address string) diag.List {
	refuse := func(why string) diag.List {
		return diag.List{diag.New(diag.InvalidValue, path, "%s", why)}
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return refuse("must be a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse("must start with http:// or https://")
	case u.Host == "" || u.Hostname() == "":
		return refuse("it names no host")
	case u.User != nil:
		return refuse("credentials do not belong into a URL, which is shown; use headers or auth")
	case u.Fragment != "":
		return refuse("a fragment, which begins with #, is never sent")
	}
	return nil
}

func (c *config) checkFilter() diag.List {
	_, list := c.Filter.compileFilter()
	return list
}

// filter is a compiled ToolFilter.
type filter struct {
	// all is set if nothing but deny restricts.
	all         bool
	allow, deny []pattern.Pattern
}

// compileFilter compiles a filter; nil allows everything. Paths are below the entry.
func (f *toolFilter) compileFilter() (*filter, diag.List) {
	if f == nil {
		return &filter{all: true}, nil
	}
	var list diag.List
	compile := func(field string, sources []string) []pattern.Pattern {
		var out []pattern.Pattern
		for i, source := range sources {
			p, err := pattern.Compile(source)
			if err != nil {
				path := diag.Index(diag.Join("filter", field), i)
				list = append(list, diag.New(diag.InvalidPattern, path, "pattern %q: %v", source, err))
				continue
			}
			out = append(out, p)
		}
		return out
	}
	return &filter{all: f.Allow == nil, allow: compile("allow", f.Allow), deny: compile("deny", f.Deny)}, list
}

// allowsTool reports whether there is a tool with a name.
func (f *filter) allowsTool(name string) bool {
	matches := func(p pattern.Pattern) bool { return p.Match(name) }
	return (f.all || slices.ContainsFunc(f.allow, matches)) && !slices.ContainsFunc(f.deny, matches)
}
