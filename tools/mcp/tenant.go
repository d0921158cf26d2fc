package mcp

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// TenantReferences returns where the settings refer to variables of tenants.
func (s *server) TenantReferences() []tools.TenantReference { return s.config.tenantReferences() }

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
