package tools

import (
	"context"
	"net/url"
	"time"
)

// LoginSource is a TenantSource that also keeps logins at servers, encrypted.
type LoginSource interface {
	TenantSource
	// SubjectName names the subject of an operation; empty if none.
	SubjectName() string
	// LoginRecord returns the record of the login of the tenant, or of a subject, at a server.
	LoginRecord(server, subject string) LoginRecord
}

// LoginRecord keeps one login. It is safe for concurrent use, also by several processes. Its text
// must not be logged or shown.
type LoginRecord interface {
	// Read returns the stored text, or "".
	Read(ctx context.Context) (string, error)
	// Replace stores text if the stored text is still old, the result of Read. It returns false if
	// the text has changed since. An empty text deletes the record.
	Replace(ctx context.Context, old, text string) (bool, error)
}

// LoginBundle is a Bundle of a server that may require a person to log in.
type LoginBundle interface {
	Bundle
	// NeedsLogin reports whether the server requires a login.
	NeedsLogin() bool
	// RedirectURL is the configured redirect URL of the logins; empty allows any on a loopback host.
	RedirectURL() string
	// LogIn waits for the person until ctx ends, stores the login, and lists the tools with it.
	LogIn(ctx context.Context, asked *LoginRequest) (*LoginResult, error)
	// CheckLogin returns the stored login without using it. The error names the command to run if a
	// person has to log in.
	CheckLogin(ctx context.Context, tenant *TenantVariables) (*LoginResult, error)
	// LogOut deletes the login and revokes its tokens. The result is nil if there is no login.
	LogOut(ctx context.Context, tenant *TenantVariables) (*LogoutResult, error)
}

// LogoutResult describes a deleted login.
type LogoutResult struct {
	// Issuer is the authorization server; empty if the login was malformed.
	Issuer string
	// IsRevoked reports whether the tokens were revoked. RevokeError is why that failed; nil if the
	// authorization server does not support it.
	IsRevoked   bool
	RevokeError error
}

// LoginRequest is one login of a person at a server.
type LoginRequest struct {
	// Tenant is the owner of the login. Its Source is a LoginSource.
	Tenant *TenantVariables
	// Scopes are requested in addition to the server's.
	Scopes []string
	// Show shows the person the URL to open.
	Show func(url string)
	// Return receives the browser; nil listens on a loopback address of this machine.
	Return LoginReturn
}

// LoginReturn receives the redirect that ends a login.
type LoginReturn interface {
	// URL is the redirect URL.
	URL() string
	// Wait waits for the redirect with a state and returns its query.
	Wait(ctx context.Context, state string) (url.Values, error)
}

// LoginResult describes a stored login.
type LoginResult struct {
	// Issuer is the authorization server.
	Issuer string
	Scopes []string
	// Expiry is when the token expires; zero if unknown. IsRenewable reports whether it can be
	// renewed.
	Expiry      time.Time
	IsRenewable bool
	// Tools is the number of the server's tools, in the file Catalog. ListError is why they could
	// not be listed.
	Tools     int
	Catalog   string
	ListError error
}
