package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
)

// loginPrefix prefixes the names of the variables that store logins. Names of declared variables
// cannot contain a slash.
const loginPrefix = "login/"

func isLogin(name string) bool { return strings.HasPrefix(name, loginPrefix) }

// ErrLoginStore reports that a login cannot be read or stored. The error also wraps the cause.
var ErrLoginStore = errors.New("the store of the login failed")

func loginStoreError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrLoginStore, err)
}

// loginRecord stores a login as a secret of a tenant.
type loginRecord struct {
	*tenantSource
	name string
}

// SubjectName returns the subject.
func (t *tenantSource) SubjectName() string { return t.subject }

// LoginRecord returns the record of a login. The ID of a server has no slash.
func (t *tenantSource) LoginRecord(server, subject string) tools.LoginRecord {
	name := loginPrefix + server
	if subject != "" {
		name += "/" + subject
	}
	return &loginRecord{t, name}
}

// Read returns the stored text, or "".
func (r *loginRecord) Read(ctx context.Context) (string, error) {
	text, _, err := r.load(ctx)
	return text, err
}

// load returns the text and its stored value.
func (r *loginRecord) load(ctx context.Context) (text string, sealed []byte, err error) {
	s := r.variables
	kept, err := s.settings.Store.TenantVariable(ctx, r.tenant, r.name)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, loginStoreError(err)
	}
	if s.box == nil {
		return "", nil, ErrNoEncryptionKey
	}
	plain, err := s.box.Open(placeVariable(r.tenant, r.name), kept.Value)
	if err != nil {
		return "", nil, loginStoreError(err)
	}
	text, err = decodeValue(plain)
	return text, kept.Value, loginStoreError(err)
}

// Replace replaces a stored text with another, or deletes it.
func (r *loginRecord) Replace(ctx context.Context, old, text string) (bool, error) {
	s := r.variables
	now, sealed, err := r.load(ctx)
	if err != nil || now != old {
		return false, err
	}
	if text == "" {
		err := s.settings.Store.DeleteTenantVariable(ctx, r.tenant, r.name)
		if errors.Is(err, store.ErrNotFound) { // nothing was stored, or another process has deleted it
			err = nil
		}
		return err == nil, loginStoreError(err)
	}
	plain, err := json.Marshal(text)
	if err != nil {
		return false, err
	}
	v := &store.TenantVariable{Tenant: r.tenant, Name: r.name, Secret: true, Author: r.tenant + "/" + r.subject, UpdatedAt: s.now()}
	if v.Value, err = s.sealVariable(r.tenant, r.name, plain); err != nil {
		return false, err
	}
	done, err := s.settings.Store.ReplaceTenantVariable(ctx, v, sealed)
	return done, loginStoreError(err)
}
