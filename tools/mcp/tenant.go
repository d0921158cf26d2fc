package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/oauth"
)

// target is a server as reached with the settings alone or, if they use variables of tenants, for
// one tenant. It is immutable.
type target struct {
	// dir is a program's working directory. workspace is the same if it is a session's and the
	// program may know it.
	dir, workspace string
	// url and headers configure a server reached over HTTP.
	url     string
	headers map[string]string
	// transport returns the transport for requests.
	transport func() *http.Transport
	// secrets are the texts hidden in errors, longest first. own are the tenant's secrets among
	// them, which are also hidden in results.
	secrets, own []string
	// isForeign reports whether a tenant decides the host.
	isForeign bool
	// oauth gets tokens; nil if the server needs none.
	oauth tokenSource
}

// errBlocked is the error shown to a tenant for a rejected address.
var errBlocked = errors.New("it is not a public address, or not one that allow_private lists")

// hideSecrets returns an error with a text of moderate length without secrets.
func (t *target) hideSecrets(err error) error {
	text := err.Error()
	if _, blocked := errors.AsType[*netguard.BlockedError](err); blocked && t.isForeign {
		text = errBlocked.Error()
	}
	if missing, ok := errors.AsType[*oauth.LoginError](err); ok {
		text = missing.Error()
	}
	return &hiddenError{cleanText(redactTexts(redactTexts(text, t.tokens()), t.secrets), maxError), err}
}

func redactTexts(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, redact.Placeholder)
	}
	return text
}

// hideResult removes the tenant's secrets from a result, because servers repeat requests and the
// model must not see secrets.
func (t *target) hideResult(r tools.Result) tools.Result {
	own := t.hidden()
	if len(own) == 0 {
		return r
	}
	r.Content = slices.Clone(r.Content)
	for i := range r.Content {
		p := &r.Content[i]
		p.Text = redactTexts(p.Text, own)
		if p.Blob != nil {
			blob := *p.Blob
			blob.Name = redactTexts(blob.Name, own)
			for _, secret := range own {
				blob.Data = bytes.ReplaceAll(blob.Data, []byte(secret), []byte(redact.Placeholder))
			}
			p.Blob = &blob
		}
	}
	r.Data = json.RawMessage(redactTexts(string(r.Data), own))
	return r
}

// urlPlace is the position of a variable in a URL.
type urlPlace int

const (
	inBeginning urlPlace = iota
	inHost
	inPath
	inQuery
)

// nextPlace returns the position in a URL after the given beginning.
func nextPlace(begun string) urlPlace {
	_, rest, hasScheme := strings.Cut(begun, "://")
	switch {
	case !hasScheme:
		return inBeginning
	case strings.Contains(rest, "?"):
		return inQuery
	case strings.Contains(rest, "/"):
		return inPath
	default:
		return inHost
	}
}

// refersToTenant reports whether the url or the headers use variables of tenants.
func (c *config) refersToTenant() bool {
	refers := func(text string) bool { return len(spec.Template(text).References(spec.TenantScope)) > 0 }
	return refers(c.URL) || slices.ContainsFunc(slices.Collect(maps.Values(c.Headers)), refers)
}

var errTurnVariable = errors.New("a variable of a turn can stand in prompts only: no caller chooses where a request goes")

// fillURL returns the url with each variable replaced by the result of fill.
func (c *config) fillURL(fill func(name string, at urlPlace) (string, error)) (string, error) {
	var out strings.Builder
	for i, part := range spec.Template(c.URL).Parts() {
		switch at := nextPlace(out.String()); {
		case part.Name == "":
			if i == 1 && part.Text[0] != '/' && part.Text[0] != '?' && strings.HasPrefix(c.URL, "${") {
				return "", errors.New("after the variable that has the beginning of the url, a path must follow")
			}
			out.WriteString(part.Text)
		case part.Scope != spec.TenantScope:
			return "", errTurnVariable
		case at == inBeginning && i > 0 || i == 1 && strings.HasPrefix(c.URL, "${"):
			return "", errors.New("a variable may replace the start of the url, its host, its path or its query")
		default:
			value, err := fill(part.Name, at)
			if err != nil {
				return "", err
			}
			out.WriteString(value)
		}
	}
	return out.String(), nil
}

// sampleURL returns the url with a sample value for each variable, to be checked.
func (c *config) sampleURL() (string, error) {
	return c.fillURL(func(_ string, at urlPlace) (string, error) {
		if at == inBeginning {
			return "https://host.example", nil
		}
		return "1", nil
	})
}

// TenantReferences returns where the settings refer to variables of tenants.
func (s *server) TenantReferences() []tools.TenantReference { return s.config.tenantReferences() }

func (c *config) tenantReferences() []tools.TenantReference {
	var list []tools.TenantReference
	_, err := c.fillURL(func(name string, at urlPlace) (string, error) {
		list = append(list, tools.TenantReference{Path: "url", Name: name, Plain: at == inBeginning || at == inHost})
		return map[urlPlace]string{inBeginning: "https://host.example"}[at], nil
	})
	if err != nil {
		return nil // Validate has reported it
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		for _, variable := range spec.Template(c.Headers[name]).References(spec.TenantScope) {
			list = append(list, tools.TenantReference{Path: diag.Key("headers", name), Name: variable})
		}
	}
	return list
}

// hasForeignHost reports whether a tenant decides the host.
func (c *config) hasForeignHost() bool {
	return slices.ContainsFunc(c.tenantReferences(), func(r tools.TenantReference) bool { return r.Plain })
}

// plainTarget returns the server as reached with the settings alone.
func (s *server) plainTarget() *target {
	t := &target{dir: s.config.Dir, headers: make(map[string]string), transport: s.transport, secrets: s.secrets}
	t.url = plainText(s.config.URL)
	for name, value := range s.config.Headers {
		t.headers[name] = plainText(value)
	}
	t.oauth = s.clientTokens(t.url)
	return t
}

// plainText returns a text without references as it is sent.
func plainText(text string) string {
	var out strings.Builder
	for _, part := range spec.Template(text).Parts() {
		if out.WriteString(part.Text); part.Name != "" {
			out.WriteString(part.String())
		}
	}
	return out.String()
}

// bindTarget returns the server for one tenant. The error is a *tools.TenantVariableError, or
// reports that the address is blocked.
func (s *server) bindTarget(ctx context.Context, tenant *tools.TenantVariables) (*target, error) {
	b := &binding{ctx, tools.TenantReader{Variables: tenant}}
	t := &target{headers: make(map[string]string), transport: s.transport, isForeign: s.isForeign}
	var err error
	if t.url, err = b.bindURL(&s.config); err != nil {
		return nil, err
	}
	shown := slices.Clone(s.secrets)
	for name, value := range s.config.Headers {
		if t.headers[name], err = b.bindHeader(value); err != nil {
			return nil, err
		}
		shown = appendSecret(shown, t.headers[name])
	}
	if s.isForeign {
		if shown, err = s.checkForeign(t.url, shown); err != nil {
			return nil, err
		}
	}
	t.own = longestFirst(b.reader.Secrets())
	t.secrets = longestFirst(append(shown, t.own...))
	if t.oauth = s.clientTokens(t.url); s.NeedsLogin() {
		session, err := s.openLogin(t.url, tenant)
		if err != nil {
			return nil, err
		}
		t.oauth = session
	}
	return t, nil
}

// checkForeign rejects an address that a tenant must not reach through the runtime. It returns
// the hidden texts, including those from the address.
func (s *server) checkForeign(address string, hidden []string) ([]string, error) {
	if checkReach(s.guard, "url", address).HasErrors() {
		return nil, &Error{Server: s.id, Err: errBlocked}
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, &Error{Server: s.id, Err: errors.New("its address is not a URL")}
	}
	return append(hidden, address, u.Scheme+"://"+u.Host, u.Host, u.Hostname()), nil
}

// state distinguishes the current values of one tenant from later ones, without revealing any.
func (t *target) state() string {
	h := sha256.New()
	write := func(text string) { fmt.Fprintf(h, "%d:%s", len(text), text) }
	write(t.url)
	for _, name := range slices.Sorted(maps.Keys(t.headers)) {
		write(name)
		write(t.headers[name])
	}
	return string(h.Sum(nil))
}

// binding fills in the variables of one tenant for one call.
type binding struct {
	ctx    context.Context
	reader tools.TenantReader
}

func (b *binding) readVariable(name string) (string, error) { return b.reader.Read(b.ctx, name) }

func variableProblem(name, problem string) error {
	return &tools.TenantVariableError{Name: name, Problem: problem}
}

func (b *binding) bindURL(c *config) (string, error) {
	var inURL string
	address, err := c.fillURL(func(name string, at urlPlace) (string, error) {
		value, err := b.readVariable(name)
		if err != nil {
			return "", err
		}
		inURL = name
		switch at {
		case inBeginning:
			if strings.ContainsAny(value, "{}?#$") || checkURL("url", value).HasErrors() {
				return "", variableProblem(name, "must be the beginning of a url: http or https, a host, and perhaps a path, without a query")
			}
			return strings.TrimRight(value, "/"), nil
		case inHost:
			if !tools.IsHostPart(value) {
				return "", variableProblem(name, "must be part of a host's name")
			}
			return value, nil
		case inPath:
			if value == "" {
				return "", variableProblem(name, "is part of a path, so it must not be empty")
			}
			return url.PathEscape(value), nil
		default:
			return url.QueryEscape(value), nil
		}
	})
	if err != nil || inURL == "" {
		return address, err
	}
	u, err := url.Parse(address)
	if err != nil || checkURL("url", address).HasErrors() {
		return "", variableProblem(inURL, "does not make a valid url")
	}
	if slices.ContainsFunc(strings.Split(u.EscapedPath(), "/"), tools.LeavesPath) {
		return "", variableProblem(inURL, `is part of a path, so it must not make a segment "." or ".."`)
	}
	return address, nil
}

func (b *binding) bindHeader(text string) (string, error) {
	var out strings.Builder
	for _, part := range spec.Template(text).Parts() {
		out.WriteString(part.Text)
		if part.Name == "" {
			continue
		}
		value, err := b.readVariable(part.Name)
		if err != nil {
			return "", err
		}
		if strings.ContainsFunc(value, isControl) {
			return "", variableProblem(part.Name, "goes into a header: it must not have line breaks or other control characters")
		}
		out.WriteString(value)
	}
	return out.String(), nil
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// errNoTenant reports that a server's tools were requested without a tenant.
var errNoTenant = errors.New("its settings contain variables of tenants, so its tools can be listed only for a tenant")

// RefreshFor requests the tools from the server with the variables of a tenant, and keeps the
// response for all tenants. It closes the connection afterwards.
func (s *server) RefreshFor(ctx context.Context, tenant *tools.TenantVariables) error {
	if !s.refersToTenant && !s.NeedsLogin() {
		return s.Refresh(ctx)
	}
	if s.NeedsLogin() && !keepsLogins(tenant) {
		return s.rereadCatalog()
	}
	if tenant == nil {
		return &Error{Server: s.id, Err: errNoTenant}
	}
	to, err := s.bindTarget(ctx, tenant)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoTenant, err)
	}
	return s.listToolsAt(ctx, to)
}

// listToolsAt requests the tools of a target on a temporary connection.
func (s *server) listToolsAt(ctx context.Context, to *target) error {
	once := newLink(s.openTo(to))
	defer once.close()
	session, _, err := once.openSession(ctx)
	if err != nil {
		return err
	}
	_, err = s.listTools(ctx, session)
	return err
}
