package azure

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/model/internal/cloudauth"
)

// transports reach the vendor and the machine's metadata service.
type transports struct{ vendor, metadata http.RoundTripper }

const (
	defaultAuthority = "https://login.microsoftonline.com"
	defaultScope     = "https://cognitiveservices.azure.com/.default"
	// metadataAddress is the endpoint where virtual machines get tokens for their identity.
	metadataAddress = "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01"
	// appVersion is the version of the endpoint that provides tokens to apps.
	appVersion = "2019-08-01"
	// assertionType marks a client assertion signed by another issuer.
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
)

// fetcher returns a function that gets a token.
func (e *EntraID) fetcher(t transports) func(context.Context) (string, time.Time, error) {
	client := &cloudauth.Client{What: "a token of Entra ID", Transport: t.vendor, Code: entraCode}
	request := e.clientRequest
	if e.ManagedIdentity {
		client.What, client.Transport = "a token of the managed identity", t.metadata
		request = e.identityRequest
	}
	return func(ctx context.Context) (token string, expiry time.Time, err error) {
		req, err := request(ctx)
		if err != nil {
			return "", time.Time{}, client.Invalid(err.Error())
		}
		return client.FetchToken(req)
	}
}

func (e *EntraID) scope() string { return cmp.Or(e.Scope, defaultScope) }

// clientRequest returns the request for an application's token.
func (e *EntraID) clientRequest(ctx context.Context) (*http.Request, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {e.ClientID}, "scope": {e.scope()}}
	if e.FederatedTokenFile == "" {
		form.Set("client_secret", e.ClientSecret)
	} else {
		assertion, err := os.ReadFile(e.FederatedTokenFile)
		if err != nil {
			return nil, err
		}
		form.Set("client_assertion_type", assertionType)
		form.Set("client_assertion", strings.TrimSpace(string(assertion)))
	}
	authority := strings.TrimRight(cmp.Or(e.Authority, defaultAuthority), "/")
	return cloudauth.NewForm(ctx, authority+"/"+url.PathEscape(e.TenantID)+"/oauth2/v2.0/token", form)
}

// identityRequest returns the request for a managed identity's token.
func (e *EntraID) identityRequest(ctx context.Context) (*http.Request, error) {
	address, header, value := metadataAddress, "Metadata", "true"
	if e.IdentityEndpoint != "" {
		address, header, value = e.IdentityEndpoint+"?api-version="+appVersion, "X-Identity-Header", e.IdentityHeader
	}
	address += "&resource=" + url.QueryEscape(strings.TrimSuffix(e.scope(), "/.default"))
	if e.ClientID != "" {
		address += "&client_id=" + url.QueryEscape(e.ClientID)
	}
	return cloudauth.NewGet(ctx, address, header, value)
}

// entraNumber matches the error number in an error description.
var entraNumber = regexp.MustCompile(`AADSTS\d+`)

// entraCode returns the code of an error with its number.
func entraCode(body []byte) string {
	var failure struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(body, &failure) // a non-object has no code
	return strings.TrimSpace(failure.Error + " " + entraNumber.FindString(failure.Description))
}
