package settings

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/spec"
)

// DefaultTokenTTL is the default lifetime of an access token.
const DefaultTokenTTL = time.Hour

// ServerOAuth configures the programs that exchange a secret for access tokens.
type ServerOAuth struct {
	Clients  []OAuthClient  `json:"clients" required:"true" min:"1" doc:"Clients that get access tokens at POST /api/oauth/token."`
	TokenTTL *spec.Duration `json:"token_ttl,omitempty" default:"1h" doc:"Lifetime of an access token."`
}

// OAuthClient is a program that exchanges its secret for access tokens.
type OAuthClient struct {
	ID         string     `json:"id" required:"true" doc:"The client_id. It names the client in logs, and is the default of subject."`
	SecretHash string     `json:"secret_hash,omitempty" pattern:"^sha256:[0-9a-f]{64}$" doc:"The SHA-256 of the client_secret, as sha256: and 64 hexadecimal digits. \"runtime keys new\" makes a secret and its hash."`
	Secret     string     `json:"secret,omitempty" secret:"true" doc:"The client_secret instead of its hash: at least 16 random characters."`
	Tenant     string     `json:"tenant,omitempty" default:"default" doc:"The tenant that owns everything created with it."`
	Subject    string     `json:"subject,omitempty" doc:"The client's subject in the tenant. Defaults to the client's id."`
	Agents     spec.Names `json:"agents,omitempty" doc:"Globs for the ids of usable agents. Defaults to all."`
	Scopes     spec.Names `json:"scopes" required:"true" doc:"The maximum scopes of a token."`
	Expires    *Date      `json:"expires,omitempty" doc:"The last valid day of the client and its tokens, in UTC, or the time at which they expire. If absent, they never expire."`
}

// TTL returns the lifetime of an access token.
func (o *ServerOAuth) TTL() time.Duration {
	return orDefault(o.TokenTTL, spec.Duration(DefaultTokenTTL)).Std()
}

// Owner returns the tenant and subject that own the records created by the client.
func (c *OAuthClient) Owner() (tenant, subject string) {
	return cmp.Or(c.Tenant, DefaultTenant), cmp.Or(c.Subject, c.ID)
}

// asServerKey returns the client as a key, with its secret as the key.
func (c *OAuthClient) asServerKey() *ServerKey {
	return &ServerKey{ID: c.ID, Hash: c.SecretHash, Key: c.Secret, Agents: c.Agents, Scopes: c.Scopes}
}

// Validate checks the record by itself. The secret is not repeated in messages.
func (c *OAuthClient) Validate() diag.List {
	list := c.asServerKey().Validate()
	for i := range list {
		switch list[i].Path {
		case "hash":
			list[i].Path = "secret_hash"
		case "key":
			list[i].Path = "secret"
		}
	}
	return list
}

// jwtAlgorithms are the accepted signature algorithms, all with public keys.
var jwtAlgorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// ServerJWT configures which tokens of an external issuer are accepted.
type ServerJWT struct {
	Issuer       string     `json:"issuer" required:"true" doc:"The exact value of the claim iss. It is public."`
	Audience     string     `json:"audience" required:"true" doc:"A value that the claim aud must contain."`
	JWKSURL      string     `json:"jwks_url,omitempty" doc:"The URL of the issuer's keys: https, or on this machine. They are refetched every five minutes, and when a token names an unknown key."`
	JWKSFile     string     `json:"jwks_file,omitempty" path:"read" doc:"The issuer's keys as a file instead of jwks_url: a JSON Web Key Set."`
	Algorithms   spec.Names `json:"algorithms,omitempty" enum:"RS256|RS384|RS512|PS256|PS384|PS512|ES256|ES384|ES512|EdDSA" doc:"Valid signing algorithms. Defaults to RS256, ES256 and EdDSA."`
	Tenant       string     `json:"tenant,omitempty" default:"default" doc:"The tenant that owns everything created with the token, if tenant_claim is absent."`
	TenantClaim  string     `json:"tenant_claim,omitempty" doc:"The claim with the tenant. Tokens without it are rejected."`
	SubjectClaim string     `json:"subject_claim,omitempty" default:"sub" doc:"The claim with the subject. Tokens without it are rejected."`
	ScopesClaim  string     `json:"scopes_claim,omitempty" default:"scope" doc:"The claim with the scopes: a list, or words in one text. Tokens without it have none."`
}

// Signatures returns the allowed algorithms.
func (j *ServerJWT) Signatures() []string {
	if len(j.Algorithms) == 0 {
		return []string{"RS256", "ES256", "EdDSA"}
	}
	return j.Algorithms
}

// Validate checks the record by itself. Paths are relative to it.
func (j *ServerJWT) Validate() diag.List {
	list := check.PublicParameters("issuer", j.Issuer)
	switch {
	case j.JWKSURL == "" && j.JWKSFile == "":
		list = append(list, diag.New(diag.MissingField, "", "jwt has neither jwks_url nor jwks_file: the keys of the issuer are unknown"))
	case j.JWKSURL != "" && j.JWKSFile != "":
		list = append(list, diag.New(diag.InvalidValue, "jwks_file", "jwt has both jwks_url and jwks_file; only one of them can be given"))
	case j.JWKSURL != "":
		if u, err := url.Parse(j.JWKSURL); err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !loopbackOnly(u.Hostname()+":0")) {
			list = append(list, diag.New(diag.InvalidValue, "jwks_url", "jwks_url is not an https URL").WithHint("anyone who can modify the keys in transit can forge tokens"))
		}
	}
	for i, name := range j.Algorithms {
		if !slices.Contains(jwtAlgorithms, name) {
			list = append(list, diag.New(diag.InvalidValue, diag.Index("algorithms", i), "%q is not a public-key algorithm", clip.Text(name)).
				WithHint("choose %s", strings.Join(jwtAlgorithms, ", ")))
		}
	}
	if j.Tenant != "" && j.TenantClaim != "" {
		list = append(list, diag.New(diag.InvalidValue, "tenant", "jwt has both tenant and tenant_claim; only one of them can be given"))
	}
	return list
}
