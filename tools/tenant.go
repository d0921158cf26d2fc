package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/spec"
)

// TenantSource has the values of the variables of one tenant. It is safe for concurrent
// use.
type TenantSource interface {
	// TenantName names the tenant: resources kept for one tenant, such as a connection, serve no
	// other. Sources of different tenants have different names.
	TenantName() string
	// ReadTenantVariable returns the tenant's value, and whether it is set. The error never
	// contains a value.
	ReadTenantVariable(ctx context.Context, name string) (TenantValue, bool, error)
}

// TenantValue is the value of a variable of a tenant.
type TenantValue struct {
	Text string
	// Secret reports whether the value was set as a secret.
	Secret bool
}

// TenantValues is a source that has plain values by name.
type TenantValues map[string]string

// TenantName returns "": such values belong to the only tenant of a program.
func (v TenantValues) TenantName() string { return "" }

// ReadTenantVariable returns a value.
func (v TenantValues) ReadTenantVariable(_ context.Context, name string) (TenantValue, bool, error) {
	text, ok := v[name]
	return TenantValue{Text: text}, ok, nil
}

// TenantVariables are the variables of the tenant of an operation. Values are read at each use.
// They must not be kept, logged or shown.
type TenantVariables struct {
	// Declared are the variables that the configuration declares; nil if none.
	Declared *spec.Tenants
	// Source has the tenant's values; nil if there is no tenant.
	Source TenantSource
}

// TenantName names the tenant; empty if none. It is safe for nil.
func (v *TenantVariables) TenantName() string {
	if v == nil || v.Source == nil {
		return ""
	}
	return v.Source.TenantName()
}

// TenantVariableError reports that a variable of a tenant cannot be used.
type TenantVariableError struct {
	Name string
	// Problem is the reason, without the value.
	Problem string
	// Err is why the variable cannot be read; nil otherwise.
	Err error
}

// Error names the variable.
func (e *TenantVariableError) Error() string {
	return fmt.Sprintf("the tenant variable %s %s", clip.Text(e.Name), e.Problem)
}

// Unwrap returns the cause, or nil.
func (e *TenantVariableError) Unwrap() error { return e.Err }

// Read returns the value of a variable, or its default. The error is a
// *TenantVariableError.
func (v *TenantVariables) Read(ctx context.Context, name string) (TenantValue, error) {
	if v == nil {
		v = new(TenantVariables)
	}
	var declared spec.TenantVariable
	known := false
	if v.Declared != nil {
		declared, known = v.Declared.Variables[name]
	}
	if !known {
		return TenantValue{}, &TenantVariableError{Name: name, Problem: "is not declared"}
	}
	if v.Source != nil {
		value, set, err := v.Source.ReadTenantVariable(ctx, name)
		switch {
		case err != nil:
			return TenantValue{}, &TenantVariableError{Name: name, Problem: "cannot be read", Err: err}
		case set && value.Secret && !declared.Secret:
			return TenantValue{}, &TenantVariableError{Name: name, Problem: "was set as a secret, but is not one any more: set it again"}
		case set:
			return TenantValue{Text: value.Text, Secret: declared.Secret}, nil
		}
	}
	if declared.Default == nil {
		return TenantValue{}, &TenantVariableError{Name: name, Problem: "is not set"}
	}
	return TenantValue{Text: *declared.Default}, nil
}

// TenantReader reads variables of a tenant for one request: each once, so that the whole request
// uses the same value. The zero value reads none. It is not safe for concurrent use.
type TenantReader struct {
	// Variables are the variables to read from.
	Variables *TenantVariables

	known   map[string]string
	secrets []string
}

// Read returns the value of a variable, or its default. The error is a
// *TenantVariableError.
func (r *TenantReader) Read(ctx context.Context, name string) (string, error) {
	if text, ok := r.known[name]; ok {
		return text, nil
	}
	value, err := r.Variables.Read(ctx, name)
	if err != nil {
		return "", err
	}
	if value.Secret {
		encoded, _ := json.Marshal(value.Text) // a text always encodes
		r.secrets = append(r.secrets, value.Text, url.QueryEscape(value.Text), url.PathEscape(value.Text), string(encoded[1:len(encoded)-1]))
	}
	if r.known == nil {
		r.known = make(map[string]string)
	}
	r.known[name] = value.Text
	return value.Text, nil
}

// Secrets returns the secrets that were read, in every spelling that a request or its response may
// use.
func (r *TenantReader) Secrets() []string { return r.secrets }

// TenantReference is where a setting of a tool refers to a variable of a tenant.
type TenantReference struct {
	// Path is the position, relative to the tool.
	Path, Name string
	// Plain reports whether secrets are forbidden there.
	Plain bool
}

// TenantReferrer is implemented by tools whose settings refer to variables of tenants.
type TenantReferrer interface {
	TenantReferences() []TenantReference
}
