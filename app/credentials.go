package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// credentials accepts keys, tokens issued by the server, and tokens of an external issuer.
type credentials struct {
	accepted *auth.Replaceable
	// current is the credentials' configuration, which a reload replaces.
	current atomic.Pointer[settings.Server]
	// oauth issues tokens; nil if there are no clients.
	oauth *auth.OAuth
	// enter counts client requests; it is set before the first one.
	enter func(*server.Principal) (leave func(), err error)
	// published are the issuer's keys, from publishedAt. A new configuration keeps the known
	// keys, because the issuer may be unreachable at that moment.
	published   *auth.RemoteKeys
	publishedAt string
}

// IssueRefreshToken returns a refresh token for a client of a configuration, with some
// of its scopes and an expiry. It fails if the client does not exist or the
// configuration is invalid.
func (c *Components) IssueRefreshToken(s *settings.Server, client string, scopes []string, end time.Time) (string, error) {
	if s.OAuth == nil {
		return "", fmt.Errorf("client %q is not defined below server.oauth", client)
	}
	made, err := newCredentials(new(auth.Replaceable), s, c.TokenPrefix, nil, nil)
	if err != nil {
		return "", err
	}
	return made.oauth.IssueRefreshToken(client, scopes, end)
}

// newCredentials returns a configuration's credentials, which accepted checks from then on. Issued
// tokens start with tokenPrefix; revoked tokens are stored in revocations, or not stored if it is
// nil.
func newCredentials(accepted *auth.Replaceable, s *settings.Server, tokenPrefix string, revocations store.Revocations, logger *zap.Logger) (*credentials, error) {
	c := &credentials{accepted: accepted}
	if s.OAuth != nil {
		clients, err := oauthClients(s.OAuth)
		if err != nil {
			return nil, err
		}
		c.oauth, err = auth.NewOAuth(auth.OAuthSettings{
			Key: s.EncryptionBytes(), TokenTTL: s.OAuth.TTL(), TokenPrefix: tokenPrefix, Clients: clients,
			Enter:       func(p *server.Principal) (func(), error) { return c.enter(p) },
			Revocations: revocations, Logger: logger,
		})
		if err != nil {
			return nil, err
		}
	}
	first, err := c.newAuthenticator(s)
	if err != nil {
		return nil, err
	}
	accepted.Replace(first)
	c.current.Store(s)
	return c, nil
}

// acceptedKinds returns the kinds of credentials accepted now; empty if none are required.
func (c *credentials) acceptedKinds() component.AcceptedCredentials {
	if c == nil {
		return component.AcceptedCredentials{}
	}
	s := c.current.Load()
	kinds := component.AcceptedCredentials{Keys: len(s.Keys) > 0, Clients: c.oauth != nil && s.OAuth != nil}
	if s.JWT != nil {
		kinds.Issuer = s.JWT.Issuer
	}
	return kinds
}

// mountTokens mounts the endpoints at which clients get tokens.
func (c *credentials) mountTokens(ctx context.Context, h *server.Server) error {
	if c == nil || c.oauth == nil {
		return nil
	}
	c.enter = h.Enter
	if err := c.oauth.LoadRevocations(ctx); err != nil {
		return err
	}
	return h.Mount(ctx, c.oauth)
}

// followRevocations follows token revocations by other processes until ctx ends.
func (c *credentials) followRevocations(ctx context.Context) {
	if c != nil && c.oauth != nil {
		c.oauth.FollowRevocations(ctx)
	}
}

// prepareSwap prepares the credentials of a new configuration, which take effect when swap is
// called. It changes nothing for nil credentials, or if the new configuration requires none.
func (c *credentials) prepareSwap(s *settings.Server) (swap func(), err error) {
	if c == nil || !s.Authenticated() {
		return func() {}, nil
	}
	next, err := c.newAuthenticator(s)
	if err != nil {
		return nil, err
	}
	var clients []auth.Client // none if oauth was removed
	ttl := settings.DefaultTokenTTL
	if s.OAuth != nil {
		ttl = s.OAuth.TTL()
		if clients, err = oauthClients(s.OAuth); err != nil {
			return nil, err
		}
	}
	return func() {
		c.accepted.Replace(next)
		c.current.Store(s)
		if c.oauth != nil {
			c.oauth.Configure(ttl, clients)
		}
	}, nil
}

// newAuthenticator returns the authenticator of a configuration.
func (c *credentials) newAuthenticator(s *settings.Server) (server.Authenticator, error) {
	var all auth.Chain
	if c.oauth != nil {
		all = append(all, c.oauth)
	}
	keys := make([]auth.Key, len(s.Keys))
	for i := range s.Keys {
		var err error
		if keys[i], err = apiKey(&s.Keys[i]); err != nil {
			return nil, err
		}
	}
	all = append(all, auth.NewKeys(keys, nil))
	if s.JWT != nil {
		tokens, err := c.issuerTokens(s.JWT)
		if err != nil {
			return nil, fmt.Errorf("the tokens of %s: %w", s.JWT.Issuer, err)
		}
		all = append(all, tokens)
	}
	return all, nil
}

// apiKey returns a key of a configuration.
func apiKey(k *settings.ServerKey) (auth.Key, error) {
	tenant, subject := k.Owner()
	hash, err := secretHash(k.Hash, k.Key)
	if err != nil {
		return auth.Key{}, fmt.Errorf("key %s: %w", k.ID, err)
	}
	return auth.Key{Hash: hash, Expires: endOf(k.Expires), Principal: &server.Principal{
		Caller: service.Caller{Tenant: tenant, Subject: subject, Agents: service.NewAgentSet(k.Agents), Scopes: k.Scopes}, KeyID: k.ID, AuthSource: "api_key",
	}}, nil
}

// oauthClients returns the clients of a configuration.
func oauthClients(o *settings.ServerOAuth) ([]auth.Client, error) {
	clients := make([]auth.Client, len(o.Clients))
	for i := range o.Clients {
		c := &o.Clients[i]
		tenant, subject := c.Owner()
		hash, err := secretHash(c.SecretHash, c.Secret)
		if err != nil {
			return nil, fmt.Errorf("client %s: %w", c.ID, err)
		}
		scopes := append([]string{}, c.Scopes...) // nil would be all
		clients[i] = auth.Client{Secret: hash, Expires: endOf(c.Expires), Principal: &server.Principal{
			Caller: service.Caller{Tenant: tenant, Subject: subject, Agents: service.NewAgentSet(c.Agents), Scopes: scopes}, KeyID: c.ID, AuthSource: "oauth",
		}}
	}
	return clients, nil
}

// issuerTokens returns an authenticator for the tokens of an external issuer.
func (c *credentials) issuerTokens(j *settings.ServerJWT) (server.Authenticator, error) {
	settings := auth.JWTSettings{
		Issuer: j.Issuer, Audience: j.Audience, Algorithms: j.Signatures(),
		TenantClaim: j.TenantClaim, Tenant: cmp.Or(j.Tenant, settings.DefaultTenant),
		SubjectClaim: cmp.Or(j.SubjectClaim, "sub"), ScopesClaim: cmp.Or(j.ScopesClaim, "scope"),
	}
	if j.JWKSFile == "" {
		if c.publishedAt != j.JWKSURL {
			c.published, c.publishedAt = auth.NewRemoteKeys(j.JWKSURL, nil, nil), j.JWKSURL
		}
		settings.Keys = c.published
		return auth.NewJWT(settings)
	}
	data, err := os.ReadFile(j.JWKSFile)
	if err != nil {
		return nil, err
	}
	keys, err := auth.ParseKeys(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j.JWKSFile, err)
	}
	settings.Keys = keys
	return auth.NewJWT(settings)
}

// secretHash returns the hash of a secret, which is given as a hash or as text.
func secretHash(hash, secret string) (auth.KeyHash, error) {
	if secret != "" {
		return auth.HashKey(secret), nil
	}
	return auth.ParseKeyHash(hash)
}

// endOf returns the end of a date; the zero time means never.
func endOf(d *settings.Date) time.Time {
	if d == nil {
		return time.Time{}
	}
	return d.End()
}
