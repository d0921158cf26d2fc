package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/landing"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/tools"
)

// loginRoutes returns the routes of logins at MCP servers. The server gets and stores the tokens;
// the client has the browser.
func (s *Surface) loginRoutes() []server.Route {
	const one = Prefix + "/tenants/{tenant}/logins/{server}"
	return []server.Route{
		server.Handle("POST "+one, settings.ScopeOwnConfigWrite, s.startLogin).WithAudit("start_login"),
		server.Handle("POST "+one+"/finish", settings.ScopeOwnConfigWrite, s.finishLogin).WithAudit("finish_login"),
		server.Handle("DELETE "+one, settings.ScopeOwnConfigWrite, s.deleteLogin).WithQuery("subject").WithAudit("delete_login"),
	}
}

// LoginRequest starts a login.
type LoginRequest struct {
	// Subject owns the login at a server with "per: subject".
	Subject string   `json:"subject,omitempty"`
	Scopes  []string `json:"scopes,omitempty"`
	// RedirectURL is where the client receives the browser: on a loopback host.
	RedirectURL string `json:"redirect_url"`
}

// StartedLogin is a login that waits for the browser.
type StartedLogin struct {
	ID string `json:"id"`
	// URL is to be opened in the browser.
	URL string `json:"url"`
	// RedirectURL is where the browser returns to: the configured URL, or else the client's.
	RedirectURL string `json:"redirect_url"`
}

// FinishRequest has the query with which the browser has returned.
type FinishRequest struct {
	ID       string `json:"id"`
	Redirect string `json:"redirect"`
}

// Login describes a stored login, without its tokens.
type Login struct {
	Issuer string   `json:"issuer"`
	Scopes []string `json:"scopes"`
	// ExpiresAt is when the token expires; zero if unknown.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Renewable bool      `json:"renewable"`
	Tools     int       `json:"tools"`
	Catalog   string    `json:"catalog"`
	// ListError is why the tools could not be listed.
	ListError string `json:"list_error,omitempty"`
}

// DeletedLogin describes a login that was deleted.
type DeletedLogin struct {
	// Found reports whether there was a login.
	Found  bool   `json:"found"`
	Issuer string `json:"issuer,omitempty"`
	// Revoked reports whether the tokens were revoked, and RevokeError why not.
	Revoked     bool   `json:"revoked"`
	RevokeError string `json:"revoke_error,omitempty"`
}

// maxSubject is the maximum length of a subject in bytes.
const maxSubject = 256

// openLogin returns the target of a request. The caller releases its revision.
func (s *Surface) openLogin(ctx context.Context, caller service.Caller, r *http.Request, subject string) (*loginTarget, error) {
	t, err := s.tenantOf(caller, r)
	if err != nil {
		return nil, err
	}
	if err := checkWhole(caller); err != nil {
		return nil, err
	}
	if len(subject) > maxSubject || !utf8.ValidString(subject) || strings.ContainsFunc(subject, unicode.IsControl) {
		return nil, &service.InvalidError{Field: "subject", Problem: fmt.Sprintf("must be a text of at most %d bytes without control characters", maxSubject)}
	}
	revision, err := s.fleet.AcquireTenant(ctx, t.Name())
	if err != nil {
		return nil, refuse(err)
	}
	id := r.PathValue("server")
	if bundle, ok := revision.Set().Bundles.Get(id); ok {
		if login, ok := bundle.Source.(tools.LoginBundle); ok && login.NeedsLogin() {
			return &loginTarget{
				revision: revision, server: login, key: t.Name() + "\x00" + id + "\x00" + subject,
				tenant: &tools.TenantVariables{Declared: revision.Set().Tenants, Source: s.service.LoginsOf(t.Name(), subject)},
			}, nil
		}
	}
	revision.Release()
	return nil, &service.NotFoundError{Kind: "tool server with a login", ID: id}
}

func (s *Surface) startLogin(ctx context.Context, caller service.Caller, r *http.Request, in LoginRequest) (*StartedLogin, error) {
	if !landing.IsURL(in.RedirectURL) {
		return nil, &service.InvalidError{Field: "redirect_url", Problem: "must be an http URL on a loopback host, with a port and a path"}
	}
	if len(in.Scopes) > maxScopes || strings.ContainsFunc(strings.Join(in.Scopes, ""), isNoScope) {
		return nil, &service.InvalidError{Field: "scopes", Problem: fmt.Sprintf("must be at most %d texts without spaces, quotes, backslashes and control characters", maxScopes)}
	}
	target, err := s.openLogin(ctx, caller, r, in.Subject)
	if err != nil {
		return nil, err
	}
	redirect := target.server.RedirectURL()
	if redirect == "" {
		redirect = in.RedirectURL
	}
	login := &pendingLogin{
		id: rand.Text(), target: target, owner: caller.Tenant, redirect: redirect,
		returned: make(chan url.Values, 1), ended: make(chan struct{}),
	}
	shown, err := s.logins.startLogin(login, in.Scopes)
	if err != nil {
		target.revision.Release()
		return nil, err
	}
	select {
	case address := <-shown:
		return &StartedLogin{ID: login.id, URL: address, RedirectURL: redirect}, nil
	case <-login.ended:
		return nil, loginFailure(login.err)
	case <-ctx.Done():
		login.cancel()
		return nil, ctx.Err()
	}
}

func (s *Surface) finishLogin(ctx context.Context, caller service.Caller, r *http.Request, in FinishRequest) (*Login, error) {
	t, err := s.tenantOf(caller, r)
	if err != nil {
		return nil, err
	}
	if err := checkWhole(caller); err != nil {
		return nil, err
	}
	query, err := url.ParseQuery(in.Redirect)
	if err != nil {
		return nil, &service.InvalidError{Field: "redirect", Problem: "must be the query of a URL"}
	}
	login := s.logins.takeLogin(in.ID, t.Name()+"\x00"+r.PathValue("server")+"\x00")
	if login == nil {
		return nil, &service.NotFoundError{Kind: "login", ID: in.ID}
	}
	login.returned <- query
	select {
	case <-login.ended:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if login.err != nil {
		return nil, loginFailure(login.err)
	}
	done := login.result
	out := &Login{
		Issuer: done.Issuer, Scopes: append([]string{}, done.Scopes...), ExpiresAt: done.Expiry, Renewable: done.IsRenewable, Tools: done.Tools, Catalog: done.Catalog,
	}
	if done.ListError != nil {
		out.ListError = done.ListError.Error()
	}
	return out, nil
}

func (s *Surface) deleteLogin(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*DeletedLogin, error) {
	target, err := s.openLogin(ctx, caller, r, r.URL.Query().Get("subject"))
	if err != nil {
		return nil, err
	}
	defer target.revision.Release()
	done, err := target.server.LogOut(ctx, target.tenant)
	if err != nil {
		return nil, loginFailure(err)
	}
	if done == nil {
		return &DeletedLogin{}, nil
	}
	out := &DeletedLogin{Found: true, Issuer: done.Issuer, Revoked: done.IsRevoked}
	if done.RevokeError != nil {
		out.RevokeError = done.RevokeError.Error()
	}
	return out, nil
}

const (
	codeLoginFailed = "login_failed"
	// maxLoginError bounds the text of a failure in bytes.
	maxLoginError = 2048
)

// loginFailure converts an error of a login, which the MCP server or its authorization server may
// have caused.
func loginFailure(err error) error {
	switch {
	case errors.As(err, new(*panics.Error)):
		return err
	case errors.Is(err, service.ErrNoEncryptionKey):
		return &server.Refusal{Status: http.StatusConflict, Code: codeNoKey, Message: service.ErrNoEncryptionKey.Error()}
	case errors.Is(err, context.Canceled):
		return &server.Refusal{Status: http.StatusConflict, Code: codeLoginFailed, Message: "another login has replaced this one, or the server is shutting down"}
	case errors.Is(err, service.ErrLoginStore):
		return err
	}
	return &server.Refusal{Status: http.StatusBadGateway, Code: codeLoginFailed, Message: clip.At(maxLoginError, err.Error())}
}
