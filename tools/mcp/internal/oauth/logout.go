package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

// LogOut deletes the stored login and then revokes its tokens. The result is nil if there is no
// login.
func (s *Server) LogOut(ctx context.Context, record tools.LoginRecord) (*tools.LogoutResult, error) {
	for range storeAttempts {
		text, err := record.Read(ctx)
		if err != nil || text == "" {
			return nil, err
		}
		done, err := record.Replace(ctx, text, "")
		if err != nil {
			return nil, err
		}
		if !done {
			continue
		}
		kept := new(login)
		if json.Unmarshal([]byte(text), kept) != nil {
			return &tools.LogoutResult{RevokeError: errors.New("the stored login is malformed")}, nil
		}
		result := &tools.LogoutResult{Issuer: kept.Issuer}
		result.IsRevoked, result.RevokeError = s.revoke(ctx, kept)
		return result, nil
	}
	return nil, errUnsettled
}

// revoke revokes the tokens of a login (RFC 7009). It returns false if the authorization server
// does not support revocation.
func (s *Server) revoke(ctx context.Context, kept *login) (bool, error) {
	server, err := auth.GetAuthServerMetadata(ctx, kept.Issuer, s.HTTP)
	if err != nil {
		return false, errors.New("the metadata of the authorization server cannot be used")
	}
	if server == nil || server.RevocationEndpoint == "" {
		return false, nil
	}
	at, err := url.Parse(server.RevocationEndpoint)
	if err != nil || at.Scheme != "https" && (at.Scheme != "http" || !hostlist.IsLoopback(at.Hostname())) {
		return false, errors.New("the revocation endpoint is not an https URL")
	}
	// The access tokens expire with the refresh token, if the server supports that.
	for _, token := range []struct{ text, hint string }{{kept.RefreshToken, "refresh_token"}, {kept.AccessToken, "access_token"}} {
		if token.text == "" {
			continue
		}
		if err := s.revokeToken(ctx, kept, at.String(), url.Values{"token": {token.text}, "token_type_hint": {token.hint}}); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (s *Server) revokeToken(ctx context.Context, kept *login, address string, form url.Values) error {
	inHeader := kept.ClientSecret != "" && kept.AuthStyle != oauth2.AuthStyleInParams
	if !inHeader {
		form.Set("client_id", kept.ClientID)
		if kept.ClientSecret != "" {
			form.Set("client_secret", kept.ClientSecret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return errors.New("the revocation endpoint is not a URL")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if inHeader {
		req.SetBasicAuth(url.QueryEscape(kept.ClientID), url.QueryEscape(kept.ClientSecret))
	}
	resp, err := s.HTTP.Do(req)
	if err != nil {
		return errors.New("the revocation endpoint cannot be reached")
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the revocation endpoint answers with status %d", resp.StatusCode)
	}
	return nil
}
