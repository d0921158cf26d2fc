package vertex

import (
	"cmp"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/agentruntime/agentruntime/model/internal/cloudauth"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// transports connect to the vendor and to the machine's metadata service.
type transports struct{ vendor, metadata http.RoundTripper }

const (
	scope = "https://www.googleapis.com/auth/cloud-platform"
	// metadataAddress is where cloud machines get their account's tokens.
	metadataAddress = "http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token?scopes=" + scope
	defaultTokenURL = "https://oauth2.googleapis.com/token" //nolint:gosec // an address
)

// tokenSource gets tokens of a service account.
type tokenSource struct {
	file             string
	vendor, metadata *cloudauth.Client
}

func newTokenSource(c *Config, t transports) *tokenSource {
	return &tokenSource{
		file:     c.ServiceAccountFile,
		vendor:   &cloudauth.Client{What: "a token of the service account", Transport: t.vendor, Code: errorCode},
		metadata: &cloudauth.Client{What: "a token of the metadata server", Transport: t.metadata, Code: errorCode},
	}
}

// fetch returns a token and its expiry.
func (s *tokenSource) fetch(ctx context.Context) (string, time.Time, error) {
	if s.file != "" {
		return s.fromAccount(ctx)
	}
	req, err := cloudauth.NewGet(ctx, metadataAddress, "Metadata-Flavor", "Google")
	if err != nil {
		return "", time.Time{}, s.metadata.Invalid(err.Error())
	}
	return s.metadata.FetchToken(req)
}

// account holds the required fields of a service account file.
type account struct {
	Type         string `json:"type"`
	Email        string `json:"client_email"`
	PrivateKey   string `json:"private_key"`
	PrivateKeyID string `json:"private_key_id"`
	TokenURL     string `json:"token_uri"`
}

// assertionTime is the lifetime of an assertion, the maximum that is accepted.
const assertionTime = time.Hour

// fromAccount exchanges an assertion signed with the account's key for a token. Errors about the
// file do not quote it.
func (s *tokenSource) fromAccount(ctx context.Context) (string, time.Time, error) {
	data, err := os.ReadFile(s.file)
	if err != nil {
		return "", time.Time{}, s.vendor.Invalid(err.Error())
	}
	var a account
	if json.Unmarshal(data, &a) != nil || a.Type != "service_account" {
		return "", time.Time{}, s.vendor.Invalid("service_account_file is not the JSON key of a service account")
	}
	address := cmp.Or(a.TokenURL, defaultTokenURL)
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" || vendorhttp.CheckBaseURL(address).HasErrors() {
		return "", time.Time{}, s.vendor.Invalid("token_uri in service_account_file is not an https URL")
	}
	assertion, err := a.sign(address, time.Now())
	if err != nil {
		return "", time.Time{}, s.vendor.Invalid("private_key in service_account_file is not an RSA key in PEM")
	}
	req, err := cloudauth.NewForm(ctx, address, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}})
	if err != nil {
		return "", time.Time{}, s.vendor.Invalid(err.Error())
	}
	return s.vendor.FetchToken(req)
}

// sign returns an assertion for a token server.
func (a *account) sign(audience string, now time.Time) (string, error) {
	key, err := parseKey(a.PrivateKey)
	if err != nil {
		return "", err
	}
	options := (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", a.PrivateKeyID)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, options)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(map[string]any{
		"iss": a.Email, "scope": scope, "aud": audience, "iat": now.Unix(), "exp": now.Add(assertionTime).Unix(),
	}).Serialize()
}

// parseKey reads a private key in PKCS #8 or #1.
func parseKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, x509.ErrUnsupportedAlgorithm
	}
	if parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if key, ok := parsed.(*rsa.PrivateKey); ok {
			return key, nil
		}
	}
	return x509.ParsePKCS1PrivateKey(block.Bytes)
}

// errorCode returns the code of an error.
func errorCode(body []byte) string {
	var failure struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(body, &failure) // a non-object has no code
	return failure.Error
}
