package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/tools"
)

const (
	// loginTime is how long a login waits for the browser.
	loginTime = 10 * time.Minute
	// maxLogins and maxTenantLogins bound the logins that wait, of all callers and those of a tenant.
	maxLogins, maxTenantLogins = 64, 8
	// maxScopes bounds the scopes that a client requests.
	maxScopes = 64
)

// isNoScope reports whether a character is invalid in scopes (RFC 6749, section 3.3).
func isNoScope(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }

// loginTarget is a server at which somebody logs in, for an owner.
type loginTarget struct {
	revision *registry.Revision
	server   tools.LoginBundle
	tenant   *tools.TenantVariables
	// key names the server and the owner.
	key string
}

// pendingLogins keeps the logins that wait for the browser, in this process.
type pendingLogins struct {
	// ctx ends all logins.
	ctx  context.Context //nolint:containedctx // logins outlive the requests that start them
	stop context.CancelFunc

	mu      sync.Mutex
	byID    map[string]*pendingLogin
	running sync.WaitGroup
}

// pendingLogin is a login that waits for the browser. It is a tools.LoginReturn.
type pendingLogin struct {
	id     string
	target *loginTarget
	// owner is the tenant of the caller.
	owner    string
	redirect string
	cancel   context.CancelFunc
	returned chan url.Values
	// ended is closed once result and err are set.
	ended  chan struct{}
	result *tools.LoginResult
	err    error
}

var _ tools.LoginReturn = (*pendingLogin)(nil)

func newPendingLogins() *pendingLogins {
	p := &pendingLogins{byID: make(map[string]*pendingLogin)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// close ends the logins and waits for them.
func (p *pendingLogins) close() {
	p.stop()
	p.running.Wait()
}

// startLogin starts a login, which replaces another one of the same owner at the same server. The
// channel receives the URL to open.
func (p *pendingLogins) startLogin(login *pendingLogin, scopes []string) (<-chan string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.ctx.Err(); err != nil {
		return nil, err
	}
	own := 0
	for id, other := range p.byID {
		switch {
		case other.target.key == login.target.key:
			other.cancel()
			delete(p.byID, id)
		case other.owner == login.owner:
			own++
		}
	}
	if own >= maxTenantLogins || len(p.byID) >= maxLogins {
		return nil, &server.Refusal{
			Status: http.StatusTooManyRequests, Code: "too_many_logins", Message: fmt.Sprintf("too many logins wait for a browser; each ends after %s at the latest", loginTime),
		}
	}
	p.byID[login.id] = login
	var ctx context.Context
	ctx, login.cancel = context.WithTimeoutCause(p.ctx, loginTime, fmt.Errorf("nobody logged in within %s", loginTime))
	shown := make(chan string, 1)
	p.running.Go(func() {
		defer p.endLogin(login)
		defer panics.Recover(&login.err)
		login.result, login.err = login.target.server.LogIn(ctx, &tools.LoginRequest{
			Tenant: login.target.tenant, Scopes: scopes, Show: func(address string) { shown <- address }, Return: login,
		})
	})
	return shown, nil
}

// endLogin removes a login that has ended.
func (p *pendingLogins) endLogin(login *pendingLogin) {
	login.cancel()
	p.mu.Lock()
	delete(p.byID, login.id)
	p.mu.Unlock()
	login.target.revision.Release()
	close(login.ended)
}

// takeLogin removes and returns the login with an ID, so that only one caller continues it. It
// returns nil for an unknown login and for one whose key lacks the prefix.
func (p *pendingLogins) takeLogin(id, prefix string) *pendingLogin {
	p.mu.Lock()
	defer p.mu.Unlock()
	login := p.byID[id]
	if login == nil || !strings.HasPrefix(login.target.key, prefix) {
		return nil
	}
	delete(p.byID, id)
	return login
}

// URL returns the redirect URL.
func (l *pendingLogin) URL() string { return l.redirect }

// Wait waits for the client to pass on the query.
func (l *pendingLogin) Wait(ctx context.Context, _ string) (url.Values, error) {
	select {
	case query := <-l.returned:
		return query, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
