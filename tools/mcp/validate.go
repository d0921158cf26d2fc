package mcp

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/internal/landing"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/oauth"
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
	_, problems := c.Filter.compileFilter()
	list = append(list, problems...)
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
	return append(list, tools.CheckSettings(cmp.Or(c.Effect, tools.Once), c.Timeout, c.maxOutput())...)
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
	list = append(list, tools.CheckEnvironment(c.Env)...)
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
	case !check.IsPortValid(u):
		return refuse("its port is not from 1 to 65535")
	case u.User != nil:
		return refuse("credentials do not belong into a URL, which is shown; use headers or auth")
	case u.Fragment != "":
		return refuse("a fragment, which begins with #, is never sent")
	}
	return nil
}

// checkFields checks the fields of the type. Paths are relative to auth.
func (a *serverAuth) checkFields() diag.List {
	var list diag.List
	need := func(field, value string) {
		if value == "" {
			list = append(list, diag.New(diag.MissingField, field, "%s is required by auth of type %s", field, a.Type))
		}
	}
	switch a.Type {
	case authBearer:
		need("token", a.Token)
		if strings.ContainsFunc(a.Token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			list = append(list, diag.New(diag.InvalidValue, "token", "the token has a character that tokens cannot have"))
		}
	case authClientCredentials:
		need("client_id", a.ClientID)
		if a.PrivateKey == "" {
			need("client_secret", a.ClientSecret)
		} else if _, err := oauth.ParseKey(a.PrivateKey); err != nil {
			list = append(list, diag.New(diag.InvalidValue, "private_key", "%s", err))
		} else if a.ClientSecret != "" {
			list = append(list, diag.New(diag.InvalidValue, "client_secret", "client_secret and private_key exclude each other"))
		}
		if a.TokenURL != "" {
			list = append(list, checkURL("token_url", a.TokenURL)...)
		}
	case authLogin:
		list = append(list, a.checkLogin()...)
	default:
		list = append(list, diag.New(diag.InvalidValue, "type", "type is %q; allowed are bearer, oauth_client_credentials and oauth_authorization_code", a.Type))
	}
	if slices.ContainsFunc(a.Scopes, func(s string) bool { return s == "" || strings.ContainsFunc(s, isNoScope) }) {
		list = append(list, diag.New(diag.InvalidValue, "scopes", "a scope must not be empty or have spaces, quotes, backslashes or control characters"))
	}
	return list
}

// isNoScope reports whether a character is invalid in scopes (RFC 6749, section 3.3).
func isNoScope(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }

// checkLogin checks the fields of a login.
func (a *serverAuth) checkLogin() diag.List {
	var list diag.List
	if a.ClientSecret != "" && a.ClientID == "" {
		list = append(list, diag.New(diag.MissingField, "client_id", "client_id is required with client_secret"))
	}
	if a.ClientURL != "" {
		if u, err := url.Parse(a.ClientURL); err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "" {
			list = append(list, diag.New(diag.InvalidValue, "client_metadata_url", "client_metadata_url must be an https URL with a path"))
		}
	}
	if a.RedirectURL != "" && !landing.IsURL(a.RedirectURL) {
		list = append(list, diag.New(diag.InvalidValue, "redirect_url", "redirect_url must be an http URL on a loopback host, with a port and a path"))
	}
	if a.Per != "" && a.Per != perTenant && a.Per != perSubject {
		list = append(list, diag.New(diag.InvalidValue, "per", "per is %q; allowed are tenant and subject", a.Per))
	}
	return list
}
