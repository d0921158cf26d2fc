package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/tools"
	"golang.org/x/oauth2"
)

// login is the content of a record.
type login struct {
	// Server is the URL of the only server that the login is valid for.
	Server   string `json:"server"`
	Resource string `json:"resource,omitempty"`
	Issuer   string `json:"issuer"`
	TokenURL string `json:"token_url"`
	// ClientID and ClientSecret identify the client, which may have got them by registering.
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	AuthStyle    oauth2.AuthStyle `json:"auth_style"`
	Scopes       []string         `json:"scopes,omitempty"`
	AccessToken  string           `json:"access_token,omitempty"`
	RefreshToken string           `json:"refresh_token,omitempty"`
	// Expiry is the zero time for a token whose lifetime is not stated.
	Expiry time.Time `json:"expiry,omitzero"`
	// Renewal is the end of a process's sole right to renew the token.
	Renewal time.Time `json:"renewal,omitzero"`
}

// readLogin returns the stored login and its text; both are zero if absent.
func readLogin(ctx context.Context, r tools.LoginRecord) (*login, string, error) {
	text, err := r.Read(ctx)
	if err != nil || text == "" {
		return nil, "", err
	}
	l := new(login)
	if json.Unmarshal([]byte(text), l) != nil {
		return nil, "", errors.New("the stored login is malformed")
	}
	return l, text, nil
}

// replaceLogin stores a login, replacing the one with the old text.
func replaceLogin(ctx context.Context, r tools.LoginRecord, old string, l *login) (string, bool, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return "", false, err
	}
	done, err := r.Replace(ctx, old, string(text))
	return string(text), done, err
}

// set takes over a token that was issued now. A refresh token that is not replaced stays valid.
func (l *login) set(token *oauth2.Token) {
	l.AccessToken, l.Expiry, l.Renewal = token.AccessToken, token.Expiry.UTC(), time.Time{}
	if token.RefreshToken != "" {
		l.RefreshToken = token.RefreshToken
	}
	if granted := grantedScopes(token); granted != nil {
		l.Scopes = granted
	}
}
