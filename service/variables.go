package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
)

const (
	// maxTenantValue limits the value of a tenant's variable, in bytes.
	maxTenantValue = 32 << 10
	// minTenantSecret is the minimum length of a secret, in bytes: a shorter one could not be
	// hidden in the responses of servers.
	minTenantSecret = 8
)

// Variables stores the variables of tenants. It is safe for concurrent use.
type Variables struct{ *core }

// TenantVariable is a declared variable and its state for a tenant. It never contains the value of
// a secret.
type TenantVariable struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Secret      bool   `json:"secret"`
	// State is set, default or unset.
	State TenantVariableState `json:"state"`
	// Value is the value of a plain variable: the tenant's, or its default.
	Value *string `json:"value,omitempty"`
	// SetBy and SetAt describe the last change of a set value.
	SetBy string     `json:"set_by,omitempty"`
	SetAt *time.Time `json:"set_at,omitempty"`
}

// SetTenantVariable is a request to set a variable of a tenant.
type SetTenantVariable struct {
	Tenant, Name, Value string
	// Author is the tenant and subject that set the variable.
	Author string
}

// TenantVariableState is the source of a variable's value.
type TenantVariableState string

// States of tenant variables.
const (
	// VariableSet means that the tenant has set a value, and VariableDefault that the
	// configuration's default applies.
	VariableSet     TenantVariableState = "set"
	VariableDefault TenantVariableState = "default"
	// VariableUnset means that there is no value: references to the variable fail.
	VariableUnset TenantVariableState = "unset"
	// VariableStale means that the value was set as a secret, but the variable is now plain.
	// VariableUndeclared means that a value is set but the configuration no longer declares it.
	VariableStale      TenantVariableState = "stale"
	VariableUndeclared TenantVariableState = "undeclared"
)

// ErrNoEncryptionKey means that a secret cannot be stored because no encryption key is configured.
var ErrNoEncryptionKey = errors.New("secrets cannot be kept without server.encryption_key")

// TenantVariables returns by name the declared variables with the tenant's values, and undeclared
// variables the tenant has set.
func (s *Variables) TenantVariables(ctx context.Context, tenant string) ([]TenantVariable, error) {
	kept := make(map[string]*store.TenantVariable)
	for after := ""; ; {
		page, err := s.settings.Store.TenantVariables(ctx, tenant, after, store.MaxPage)
		if err != nil {
			return nil, err
		}
		for _, v := range page {
			if after = v.Name; !isLogin(v.Name) {
				kept[v.Name] = v
			}
		}
		if len(page) < store.MaxPage {
			break
		}
	}
	declared := s.declaredTenantVariables()
	names := slices.AppendSeq(slices.Collect(maps.Keys(declared)), maps.Keys(kept))
	slices.Sort(names)
	list := []TenantVariable{}
	for _, name := range slices.Compact(names) {
		d, isDeclared := declared[name]
		list = append(list, describeVariable(name, d, isDeclared, kept[name]))
	}
	return list, nil
}

func describeVariable(name string, declared spec.TenantVariable, isDeclared bool, kept *store.TenantVariable) TenantVariable {
	v := TenantVariable{Name: name, Description: declared.Description, Secret: declared.Secret, State: VariableUnset}
	if kept == nil {
		if declared.Default != nil {
			v.State, v.Value = VariableDefault, declared.Default
		}
		return v
	}
	v.SetBy, v.SetAt = kept.Author, &kept.UpdatedAt
	switch v.Secret = v.Secret || kept.Secret; {
	case !isDeclared:
		v.State = VariableUndeclared
	case kept.Secret && !declared.Secret:
		v.State = VariableStale
	default:
		v.State = VariableSet
	}
	if text, err := decodeValue(kept.Value); err == nil && !v.Secret {
		v.Value = &text
	}
	return v
}

// SetTenantVariable sets a declared variable of a tenant. The next use has the value. The
// error is an *InvalidError, or ErrNoEncryptionKey; it never contains the value.
func (s *Variables) SetTenantVariable(ctx context.Context, set SetTenantVariable) (*TenantVariable, error) {
	tenant, name, value := set.Tenant, set.Name, set.Value
	declared := s.declaredTenantVariables()
	d, ok := declared[name]
	switch {
	case !ok:
		return nil, &InvalidError{"name", undeclaredVariable(name, slices.Sorted(maps.Keys(declared)))}
	case len(value) > maxTenantValue:
		return nil, &InvalidError{"value", fmt.Sprintf("has %d bytes; at most %d are allowed", len(value), maxTenantValue)}
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return nil, &InvalidError{"value", "must be a text in UTF-8 without NUL"}
	case d.Secret && len(value) < minTenantSecret:
		return nil, &InvalidError{"value", fmt.Sprintf("a secret must have at least %d bytes", minTenantSecret)}
	case tenant == "" || len(tenant) > 256 || !clip.IsClean(tenant):
		return nil, &InvalidError{"tenant", "must be a text of at most 256 bytes"}
	}
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	v := &store.TenantVariable{
		Tenant: tenant, Name: name, Secret: d.Secret, Value: plain, Author: set.Author, UpdatedAt: s.now(),
	}
	if d.Secret {
		if v.Value, err = s.sealVariable(tenant, name, plain); err != nil {
			return nil, err
		}
	}
	if err := s.settings.Store.PutTenantVariable(ctx, v); err != nil {
		return nil, err
	}
	shown := describeVariable(name, d, true, v)
	return &shown, nil
}

// DeleteTenantVariable deletes a tenant's value. The error is a *NotFoundError if the tenant has
// not set one.
func (s *Variables) DeleteTenantVariable(ctx context.Context, tenant, name string) error {
	_, err := s.settings.Store.TenantVariable(ctx, tenant, name) // lets a read-only store report a missing one
	if err == nil {
		err = s.settings.Store.DeleteTenantVariable(ctx, tenant, name)
	}
	if errors.Is(err, store.ErrNotFound) {
		return &NotFoundError{Kind: "variable", ID: name}
	}
	return err
}

func undeclaredVariable(name string, names []string) string {
	text := fmt.Sprintf("tenants.variables does not declare %q", clip.Text(name))
	if near, ok := nearest.Of(name, names); ok {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return text
}

// declaredTenantVariables returns the variables that the current revision declares.
func (s *Variables) declaredTenantVariables() map[string]spec.TenantVariable {
	if s.settings.Runtime == nil || s.settings.Runtime.Revision().Set().Tenants == nil {
		return nil
	}
	return s.settings.Runtime.Revision().Set().Tenants.Variables
}

// placeVariable returns the place of a tenant's sealed secret.
func placeVariable(tenant, name string) string { return sealed.Place("tenant variable", tenant, name) }

func (s *Variables) sealVariable(tenant, name string, plain json.RawMessage) (json.RawMessage, error) {
	if s.badKey != nil {
		return nil, s.badKey
	}
	if s.box == nil {
		return nil, ErrNoEncryptionKey
	}
	return s.box.Seal(placeVariable(tenant, name), plain)
}

func decodeValue(plain json.RawMessage) (text string, err error) {
	if json.Unmarshal(plain, &text) != nil {
		return "", errors.New("the stored value is not a string")
	}
	return text, nil
}

// tenantSource returns the values that one tenant has set. It reads the store on each use.
type tenantSource struct {
	variables *Variables
	tenant    string
	// subject owns the turn; empty if absent.
	subject string
}

// VariablesOf returns a source of the tenant's values. It reads the store on each use.
func (s *Variables) VariablesOf(tenant string) tools.TenantSource {
	return &tenantSource{variables: s, tenant: tenant}
}

// LoginsOf returns a source of the tenant's values, and of the tenant's and the subject's logins.
func (s *Variables) LoginsOf(tenant, subject string) tools.LoginSource {
	return &tenantSource{s, tenant, subject}
}

// FillForTenant returns a text with a tenant's variables filled in. The error is a
// *tools.TenantVariableError.
func (s *Variables) FillForTenant(ctx context.Context, tenant string, text spec.Template) (string, error) {
	variables := tools.TenantVariables{Source: s.VariablesOf(tenant)}
	if s.settings.Runtime != nil {
		variables.Declared = s.settings.Runtime.Revision().Set().Tenants
	}
	var out strings.Builder
	for _, part := range text.Parts() {
		out.WriteString(part.Text)
		if part.Name == "" {
			continue
		}
		value, err := variables.Read(ctx, part.Name)
		if err != nil {
			return "", err
		}
		out.WriteString(value.Text)
	}
	return out.String(), nil
}

// TenantName returns the name of the tenant.
func (t *tenantSource) TenantName() string { return t.tenant }

// ReadTenantVariable returns the tenant's value.
func (t *tenantSource) ReadTenantVariable(ctx context.Context, name string) (value tools.TenantValue, set bool, err error) {
	kept, err := t.variables.settings.Store.TenantVariable(ctx, t.tenant, name)
	if errors.Is(err, store.ErrNotFound) {
		return value, false, nil
	}
	if err != nil {
		return value, false, err
	}
	plain := json.RawMessage(kept.Value)
	if value.Secret = kept.Secret; kept.Secret {
		if plain, err = t.variables.box.Open(placeVariable(t.tenant, name), plain); err != nil {
			return value, false, err
		}
	}
	value.Text, err = decodeValue(plain)
	return value, err == nil, err
}
