package vendorhttp

import (
	"cmp"
	"context"
	"errors"
	"maps"

	"github.com/agentruntime/agentruntime/internal/connection"
	"github.com/agentruntime/agentruntime/model"
)

// errConnectionURL reports a connection without the address of the API.
var errConnectionURL = errors.New("parameter baseUrl must be an http or https URL without user, query and fragment")

// bindCall returns the API with everything that one call needs.
func (a *API) bindCall(ctx context.Context) (*API, error) {
	bound, err := a.bindConnection(ctx)
	if err != nil {
		return nil, err
	}
	return bound.authorize(ctx)
}

// bindConnection returns the API with the headers and address of the host's connection for one
// request, if the settings name a connection.
func (a *API) bindConnection(ctx context.Context) (*API, error) {
	name := a.access.HostConnection
	if name == "" {
		return a, nil
	}
	found, err := connection.Resolve(ctx, name)
	if err != nil {
		return nil, a.failures.named(connectionError(err))
	}
	bound := *a
	bound.header = a.header.Clone()
	found.SetHeaders(bound.header)
	headers := maps.Clone(a.access.Headers)
	if headers == nil {
		headers = make(map[string]string, len(found.Headers))
	}
	for header, value := range found.Headers {
		headers["of the host: "+header] = value
	}
	bound.failures.redactor = newRedactor("", headers, a.protocol.Keys)
	if where := cmp.Or(found.Params["baseUrl"], found.Params["base_url"]); where != "" {
		if bound.base, err = parseBase(where); err != nil || CheckBaseURL(where).HasErrors() {
			return nil, a.failures.named(connectionError(&connection.Error{Name: name, Err: errConnectionURL}))
		}
	}
	return &bound, nil
}

// authorize returns the API with the authorization of one call.
func (a *API) authorize(ctx context.Context) (*API, error) {
	if a.protocol.Authorize == nil {
		return a, nil
	}
	granted, err := a.protocol.Authorize(ctx)
	if err != nil {
		failure := *model.AsError(err) // concurrent callers may share it
		return nil, a.failures.named(&failure)
	}
	bound := *a
	bound.granted = granted
	bound.header = a.header.Clone()
	secrets := make(map[string]string, len(a.access.Headers)+len(granted.Headers))
	maps.Copy(secrets, a.access.Headers)
	for name, value := range granted.Headers {
		bound.header.Set(name, value)
		secrets["granted: "+name] = value
	}
	bound.failures.redactor = newRedactor(a.access.APIKey, secrets, a.protocol.Keys)
	return &bound, nil
}

// connectionError returns why a connection cannot be used for a model.
func connectionError(err error) error {
	failed, ok := errors.AsType[*connection.Error](err)
	switch {
	case !ok:
		return err
	case failed.Temporary:
		return &model.Error{Class: model.Provider, Message: err.Error(), Err: err}
	default:
		return &model.Error{Class: model.Unauthorized, Message: err.Error(), Err: err}
	}
}
