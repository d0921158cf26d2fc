package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// credentials are what a server asks for: keys, tokens that it issues itself, and
// tokens of another issuer.
type credentials struct {
	accepted *server.Replaceable
	// oauth issues tokens; nil when there are no clients.
	oauth *server.OAuth
	// enter counts the requests of clients; it is set before the first one.
	enter func(*server.Principal) (leave func(), err error)
	// published are the keys of the issuer at publishedAt. A new configuration goes on
	// with those that are known already: the issuer may be away when it comes.
	published   *server.RemoteKeys
	publishedAt string
}

// IssueRefreshToken returns a refresh token for a client of a configuration, with some
// of its scopes, that ends at a time. The error says that there is no such client, or
// that the configuration is wrong.
func IssueRefreshToken(s *spec.Server, client string, scopes []string, end time.Time) (string, error) {
	if s.OAuth == nil {
		return "", fmt.Errorf("there is no client %q below server.oauth", client)
	}
	c, err := newCredentials(s, nil, nil)
	if err != nil {
		return "", err
	}
	return c.oauth.IssueRefreshToken(client, scopes, end)
}

// newCredentials returns those that a configuration names. The tokens that are
// revoked are kept in a store; nil keeps them nowhere.
func newCredentials(s *spec.Server, revocations store.Revocations, logger *zap.Logger) (*credentials, error) {
	c := new(credentials)
	if s.OAuth != nil {
		clients, err := oauthClients(s.OAuth)
		if err != nil {
			return nil, err
		}
		c.oauth, err = server.NewOAuth(server.OAuthSettings{
			Key: s.EncryptionBytes(), TokenTTL: s.OAuth.TTL(), Clients: clients,
			Enter:       func(p *server.Principal) (func(), error) { return c.enter(p) },
			Revocations: revocations, Logger: logger,
		})
		if err != nil {
			return nil, err
		}
	}
	first, err := c.authenticator(s)
	if err != nil {
		return nil, err
	}
	c.accepted = server.NewReplaceable(first)
	return c, nil
}

// mount lets clients get tokens at a server.
func (c *credentials) mount(ctx context.Context, h *server.Server) error {
	if c == nil || c.oauth == nil {
		return nil
	}
	c.enter = h.Enter
	if err := c.oauth.LoadRevocations(ctx); err != nil {
		return err
	}
	return h.Mount(ctx, c.oauth)
}

// follow hears of the tokens that other processes revoke, until ctx ends.
func (c *credentials) follow(ctx context.Context) {
	if c != nil && c.oauth != nil {
		c.oauth.FollowRevocations(ctx)
	}
}

// prepare makes what a new configuration accepts. Calling swap makes it count. Of
// nil credentials nothing changes, and neither for a configuration that would ask
// for none.
func (c *credentials) prepare(s *spec.Server) (swap func(), err error) {
	if c == nil || !s.Authenticated() {
		return func() {}, nil
	}
	next, err := c.authenticator(s)
	if err != nil {
		return nil, err
	}
	var clients []server.Client // none, when there is no oauth any more
	ttl := spec.DefaultTokenTTL
	if s.OAuth != nil {
		ttl = s.OAuth.TTL()
		if clients, err = oauthClients(s.OAuth); err != nil {
			return nil, err
		}
	}
	return func() {
		c.accepted.Replace(next)
		if c.oauth != nil {
			c.oauth.Configure(ttl, clients)
		}
	}, nil
}

// authenticator returns what finds out who asks.
func (c *credentials) authenticator(s *spec.Server) (server.Authenticator, error) {
	var all server.Authenticators
	if c.oauth != nil {
		all = append(all, c.oauth)
	}
	keys := make([]server.Key, len(s.Keys))
	for i := range s.Keys {
		var err error
		if keys[i], err = apiKey(&s.Keys[i]); err != nil {
			return nil, err
		}
	}
	all = append(all, server.NewKeys(keys, nil))
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
func apiKey(k *spec.ServerKey) (server.Key, error) {
	tenant, subject := k.Owner()
	hash, err := secretHash(k.Hash, k.Key)
	if err != nil {
		return server.Key{}, fmt.Errorf("key %s: %w", k.ID, err)
	}
	return server.Key{Hash: hash, Expires: end(k.Expires), Principal: &server.Principal{
		Caller: runtime.Caller{Tenant: tenant, Subject: subject, Agents: runtime.NewAgentSet(k.Agents)}, KeyID: k.ID, Scopes: k.Scopes,
	}}, nil
}

// oauthClients returns the clients of a configuration.
func oauthClients(o *spec.ServerOAuth) ([]server.Client, error) {
	clients := make([]server.Client, len(o.Clients))
	for i := range o.Clients {
		c := &o.Clients[i]
		tenant, subject := c.Owner()
		hash, err := secretHash(c.SecretHash, c.Secret)
		if err != nil {
			return nil, fmt.Errorf("client %s: %w", c.ID, err)
		}
		scopes := append([]string{}, c.Scopes...) // nil would be all
		clients[i] = server.Client{Secret: hash, Expires: end(c.Expires), Principal: &server.Principal{
			Caller: runtime.Caller{Tenant: tenant, Subject: subject, Agents: runtime.NewAgentSet(c.Agents)}, KeyID: c.ID, Scopes: scopes,
		}}
	}
	return clients, nil
}

// issuerTokens returns what accepts the tokens of an external issuer.
func (c *credentials) issuerTokens(j *spec.ServerJWT) (server.Authenticator, error) {
	settings := server.JWTSettings{
		Issuer: j.Issuer, Audience: j.Audience, Algorithms: j.Signatures(),
		TenantClaim: j.TenantClaim, Tenant: cmp.Or(j.Tenant, spec.DefaultTenant),
		SubjectClaim: cmp.Or(j.SubjectClaim, "sub"), ScopesClaim: cmp.Or(j.ScopesClaim, "scope"),
	}
	if j.JWKSFile == "" {
		if c.publishedAt != j.JWKSURL {
			c.published, c.publishedAt = server.NewRemoteKeys(j.JWKSURL, nil, nil), j.JWKSURL
		}
		settings.Keys = c.published
		return server.NewJWT(settings)
	}
	data, err := os.ReadFile(j.JWKSFile)
	if err != nil {
		return nil, err
	}
	keys, err := server.ParseKeys(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j.JWKSFile, err)
	}
	settings.Keys = keys
	return server.NewJWT(settings)
}

// secretHash returns the hash of a secret that is given as one or the other.
func secretHash(hash, secret string) (server.KeyHash, error) {
	if secret != "" {
		return server.HashKey(secret), nil
	}
	return server.ParseKeyHash(hash)
}

// end returns when something ends; the zero time is never.
func end(d *spec.Date) time.Time {
	if d == nil {
		return time.Time{}
	}
	return d.End()
}
