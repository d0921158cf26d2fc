package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/credential"
	"github.com/agentruntime/agentruntime/internal/landing"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// LogIn has a person authorize the runtime in a browser, waits for the redirect until ctx ends, and
// stores the login.
func (s *Server) LogIn(ctx context.Context, record tools.LoginRecord, headers map[string]string, asked *tools.LoginRequest) (*tools.LoginResult, error) {
	before, _, err := readLogin(ctx, record)
	if err != nil {
		return nil, err
	}
	scopes := asked.Scopes
	if before != nil && before.Server == s.URL {
		scopes = addScopes(scopes, before.Scopes)
	}
	req, header, err := s.provoke(ctx, headers)
	if err != nil {
		return nil, err
	}
	// A response to a request without a token counts as a challenge too.
	resp := &http.Response{StatusCode: http.StatusUnauthorized, Header: header, Body: http.NoBody}
	c, err := readChallenge(resp)
	if err != nil {
		return nil, err
	}
	found, err := s.discover(ctx, c) // stricter than the handler, and explains errors
	if err != nil {
		return nil, err
	}
	back := asked.Return
	if back == nil {
		page, err := landing.Open(ctx, s.Client.RedirectURL)
		if err != nil {
			return nil, err
		}
		defer page.Close()
		back = page
	}
	kept := &login{Server: s.URL, Issuer: found.issuer}
	handler, err := auth.NewAuthorizationCodeHandler(s.handlerConfig(kept, found, back, scopes, asked.Show))
	if err != nil {
		return nil, err
	}
	if err := handler.Authorize(ctx, req, resp); err != nil {
		if _, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
			err = credential.ExplainTokenError(err)
		}
		return nil, err
	}
	if kept.AccessToken == "" {
		return nil, errors.New("the authorization server returns no token")
	}
	return kept.result(), storeLogin(ctx, record, kept)
}

// probes are requests that provoke a challenge, with the version of the program. Some servers
// accept initialize from everyone.
var probes = []string{
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agentruntime","version":%q}}}`,
	`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`,
}

// provoke sends requests without a token until one is rejected. It returns the last request and its
// response header.
func (s *Server) provoke(ctx context.Context, headers map[string]string) (req *http.Request, header http.Header, err error) {
	for _, probe := range probes {
		probe = strings.Replace(probe, "%q", strconv.Quote(s.Version), 1)
		req, err = http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(probe))
		if err != nil {
			return nil, nil, errors.New("its address is not a URL")
		}
		for name, value := range headers {
			req.Header.Set(name, value)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := s.HTTP.Do(req)
		if err != nil {
			return nil, nil, err
		}
		_ = resp.Body.Close()
		if header = resp.Header; resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
			break
		}
	}
	return req, header, nil
}

// handlerConfig returns the settings of the SDK's handler, which fills kept.
func (s *Server) handlerConfig(kept *login, found *metadata, back tools.LoginReturn, scopes []string, show func(string)) *auth.AuthorizationCodeHandlerConfig {
	c := &auth.AuthorizationCodeHandlerConfig{RedirectURL: back.URL(), RequestRefreshToken: true, Client: s.HTTP}
	if s.Client.MetadataURL != "" {
		c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: s.Client.MetadataURL}
	}
	if s.Client.ID != "" {
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: s.Client.ID}
		if s.Client.Secret != "" {
			c.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: s.Client.Secret}
		}
	} else {
		client := &oauthex.ClientRegistrationMetadata{
			ClientName: "agentruntime", RedirectURIs: []string{back.URL()},
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}
		if slices.Contains(found.methods, "none") {
			client.TokenEndpointAuthMethod = "none"
		}
		c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: client}
	}
	c.ScopeFilter = func(discovered []string) []string {
		if len(s.Client.Scopes) > 0 {
			discovered = s.Client.Scopes
		}
		kept.Scopes = addScopes(discovered, scopes)
		return kept.Scopes
	}
	c.AuthorizationCodeFetcher = func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		u, err := url.Parse(args.URL)
		if err != nil {
			return nil, errors.New("the authorization endpoint is not a URL")
		}
		query := u.Query()
		kept.Resource = query.Get("resource")
		show(args.URL)
		state := query.Get("state")
		returned, err := back.Wait(ctx, state)
		switch {
		case err != nil:
			return nil, err
		case !landing.HasState(returned, state):
			return nil, errors.New("the browser returned from another login")
		case returned.Get("code") == "":
			return nil, denied(returned)
		}
		return &auth.AuthorizationResult{Code: returned.Get("code"), State: state, Iss: returned.Get("iss")}, nil
	}
	c.NewTokenSource = func(_ context.Context, config *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
		kept.ClientID, kept.ClientSecret = config.ClientID, config.ClientSecret
		kept.TokenURL, kept.AuthStyle = config.Endpoint.TokenURL, config.Endpoint.AuthStyle
		kept.set(token)
		return oauth2.StaticTokenSource(token), nil
	}
	return c
}

func (l *login) result() *tools.LoginResult {
	return &tools.LoginResult{Issuer: l.Issuer, Scopes: l.Scopes, Expiry: l.Expiry, IsRenewable: l.RefreshToken != ""}
}

// storeAttempts bounds the tries to store a login while others change the record.
const storeAttempts = 10

var errUnsettled = errors.New("the stored login keeps changing")

// storeLogin stores a login, replacing any other.
func storeLogin(ctx context.Context, record tools.LoginRecord, l *login) error {
	for range storeAttempts {
		old, err := record.Read(ctx)
		if err != nil {
			return err
		}
		if _, done, err := replaceLogin(ctx, record, old, l); err != nil || done {
			return err
		}
	}
	return errUnsettled
}

// denied reports that the authorization server did not authorize the runtime.
func denied(query url.Values) error {
	return fmt.Errorf("the authorization server refuses: %s", cmp.Or(query.Get("error_description"), query.Get("error"), "it returns no code"))
}
