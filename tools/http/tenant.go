package http

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/tools"
)

// bindOrigin returns the beginning of a URL for one tenant: its scheme, host and port, and the
// first part of its path.
func (o *origin) bindOrigin(read readVariable) (*address, error) {
	if o.base == "" {
		host, err := o.parts.bindParts(read, func(name, value string) (string, error) {
			if !tools.IsHostPart(value) {
				return "", tenantProblem(name, "must be part of a host's name")
			}
			return value, nil
		})
		if err != nil {
			return nil, err
		}
		a := &address{base: o.scheme + "://" + host.joinLiterals()}
		if a.setHost(host.joinLiterals()) != nil {
			return nil, &tools.TenantVariableError{Name: o.parts.firstTenant(), Problem: "does not make " + o.label + " a host"}
		}
		return a, nil
	}
	value, err := read(o.base)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(value, "{}?#$") {
		return nil, tenantProblem(o.base, "must be the beginning of a url, without a query")
	}
	a, err := parseAddress(strings.TrimRight(value, "/"))
	if err != nil {
		return nil, tenantProblem(o.base, "must be the beginning of a url: http or https, a host, and perhaps a path")
	}
	return a, nil
}

func tenantProblem(name, problem string) error {
	return &tools.TenantVariableError{Name: name, Problem: problem}
}

// readVariable returns the value of a variable of the tenant.
type readVariable func(name string) (string, error)

// bindParts returns the template with variables replaced by their values, as escaped by escape, as
// literals.
func (t template) bindParts(read readVariable, escape func(name, value string) (string, error)) (template, error) {
	if t.firstTenant() == "" {
		return t, nil
	}
	bound := slices.Clone(t)
	for i := range bound {
		name := bound[i].tenant
		if name == "" {
			continue
		}
		value, err := read(name)
		if err == nil {
			value, err = escape(name, value)
		}
		if err != nil {
			return nil, err
		}
		bound[i] = part{literal: value}
	}
	return bound, nil
}

// tenantReferences returns where settings refer to variables of the tenant.
func (p *program) tenantReferences() []tools.TenantReference {
	var list []tools.TenantReference
	add := func(path string, t template, plain bool) {
		for i := range t {
			if t[i].tenant != "" {
				list = append(list, tools.TenantReference{Path: path, Name: t[i].tenant, Plain: plain})
			}
		}
	}
	if o := p.address.origin; o != nil {
		add("url", template{part{tenant: o.base}}, true)
		add("url", o.parts, true)
	}
	for _, segment := range p.address.segments {
		add("url", segment, false)
	}
	for i := range p.address.query {
		add("url", p.address.query[i].value, false)
	}
	for i := range p.query {
		add(diag.Key("query", p.query[i].configured), p.query[i].value, false)
	}
	for i := range p.headers {
		add(diag.Key("headers", p.headers[i].configured), p.headers[i].value, false)
	}
	return list
}

// bindProgram returns the program with the values of the tenant's variables. A program without
// variables is returned as it is. The error is a *tools.TenantVariableError.
func (p *program) bindProgram(ctx context.Context, tenant *tools.TenantVariables) (*program, error) {
	if !p.hasTenant {
		return p, nil
	}
	bound := *p
	reader := tools.TenantReader{Variables: tenant}
	read := func(name string) (string, error) { return reader.Read(ctx, name) }
	var err error
	if bound.address, err = p.address.bindAddress(read); err != nil {
		return nil, err
	}
	if bound.query, err = bindParams(p.query, read); err != nil {
		return nil, err
	}
	if bound.headers, err = bindHeaders(p.headers, read); err != nil {
		return nil, err
	}
	bound.secrets = longestFirst(append(reader.Secrets(), secretTexts(&bound)...))
	return &bound, nil
}

func (a *address) bindAddress(read readVariable) (*address, error) {
	bound := *a
	bound.segments = nil
	if a.origin != nil {
		begun, err := a.origin.bindOrigin(read)
		if err != nil {
			return nil, err
		}
		bound.base, bound.host, bound.port, bound.segments = begun.base, begun.host, begun.port, begun.segments
	}
	for _, segment := range a.segments {
		own, err := segment.bindParts(read, func(name, value string) (string, error) {
			if escaped := url.PathEscape(value); value != "" && !tools.LeavesPath(escaped) {
				return escaped, nil
			}
			return "", tenantProblem(name, `is used in a path: it must not be empty, nor have a "." or ".." as a segment`)
		})
		if err != nil {
			return nil, err
		}
		if own.isLiteral() && tools.LeavesPath(own.joinLiterals()) {
			return nil, tenantProblem(segment.firstTenant(), `is used in a path: it must not make a segment "." or ".."`)
		}
		bound.segments = append(bound.segments, own)
	}
	var err error
	bound.query, err = bindParams(a.query, read)
	return &bound, err
}

func bindParams(params []param, read readVariable) ([]param, error) {
	bound := slices.Clone(params)
	for i := range bound {
		var err error
		bound[i].value, err = bound[i].value.bindParts(read, func(_, value string) (string, error) { return url.QueryEscape(value), nil })
		if err != nil {
			return nil, err
		}
	}
	return bound, nil
}

func bindHeaders(headers []header, read readVariable) ([]header, error) {
	bound := slices.Clone(headers)
	for i := range bound {
		var err error
		bound[i].value, err = bound[i].value.bindParts(read, func(name, value string) (string, error) {
			if !httpguts.ValidHeaderFieldValue(value) {
				return "", tenantProblem(name, "goes into a header: it must not have line breaks or other control characters")
			}
			return value, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return bound, nil
}

// hideOrigin returns an error for a request to an address set by a variable, without the address.
func (o *origin) hideOrigin(err error) error {
	problem := "cannot be reached"
	if _, blocked := errors.AsType[*netguard.BlockedError](err); blocked {
		problem = "is not a public address, or not one that allow_private lists"
	}
	return errors.New("call " + o.label + ": it " + problem)
}
