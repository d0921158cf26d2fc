package auth

import (
	"encoding/json"
	"net/http"
	"regexp"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
)

// tokenForm is the form of a request for a token.
type tokenForm struct {
	GrantType    string `json:"grant_type" enum:"client_credentials,refresh_token"`
	RefreshToken string `json:"refresh_token,omitempty" jsonschema:"Refresh token. Required if grant_type is refresh_token."`
	Scope        string `json:"scope,omitempty" jsonschema:"Space-separated scopes of the token, which the client must have. Defaults to all scopes of the client, or to those of the refresh token."`
	ClientID     string `json:"client_id,omitempty"`
	ClientSecret string `json:"client_secret,omitempty"`
}

// revocationForm is the form of a request to revoke a token.
type revocationForm struct {
	Token         string `json:"token,omitempty"`
	TokenTypeHint string `json:"token_type_hint,omitempty" jsonschema:"Ignored."`
	ClientID      string `json:"client_id,omitempty"`
	ClientSecret  string `json:"client_secret,omitempty"`
}

// OpenAPI describes the endpoints.
func (o *OAuth) OpenAPI() []byte {
	type answers = map[int]openapi.Answer
	failed := func(doc, example string, headers openapi.Headers) openapi.Answer {
		return openapi.Answer{Doc: doc, Body: oauthError{}, Headers: headers, Examples: openapi.Examples{"error": {JSON: example}}}
	}
	prefixed := func(prefix string) openapi.Object { return openapi.Object{"pattern": "^" + regexp.QuoteMeta(prefix)} }
	noStore := openapi.Headers{"Cache-Control": {Doc: "The response must not be cached.", Schema: openapi.Object{"const": "no-store"}}}
	rejected := failed("The request was rejected.", `{"error":"invalid_grant","error_description":"the refresh token is not good"}`, nil)
	invalidClient := failed("The client does not exist, or its secret is wrong.", `{"error":"invalid_client","error_description":"the client or its secret is not good"}`,
		openapi.Headers{"WWW-Authenticate": {Doc: "Authentication scheme for the client's ID and secret."}})
	form := []string{"application/x-www-form-urlencoded"}
	example, err := json.Marshal(issued{AccessToken: o.access + "eyJpIjoi.Zm9vYmFy", TokenType: "Bearer", ExpiresIn: 3600, Scope: "runs:read runs:write"})
	if err != nil {
		return nil // not reached: strings and a number
	}
	return server.DescribeAPI(&openapi.API{
		Title: "OAuth",
		Doc:   "Issues and revokes access tokens for clients known to the server. A client sends its ID and secret in the form or with HTTP Basic authentication.",
		Operations: map[string]openapi.OperationDoc{
			"token": {Summary: "Exchange a client secret for an access token", Body: tokenForm{}, Media: form, Answers: answers{
				http.StatusOK:         {Doc: "The token.", Headers: noStore, Body: issued{}, Examples: openapi.Examples{"token": {JSON: string(example)}}},
				http.StatusBadRequest: rejected, http.StatusUnauthorized: invalidClient,
			}},
			"revoke": {
				Summary: "Revoke a token",
				Doc:     "Revoking a refresh token also revokes the access tokens issued for it. Anything that is not a token of the client counts as revoked.",
				Body:    revocationForm{}, Media: form,
				Answers: answers{
					http.StatusOK:         {Doc: "The token is revoked.", Headers: noStore, Body: openapi.Object{"type": "object", "maxProperties": 0}},
					http.StatusBadRequest: rejected, http.StatusUnauthorized: invalidClient,
					http.StatusServiceUnavailable: {
						Doc: "The token cannot be revoked at the moment.", Body: oauthError{},
						Headers: openapi.Headers{"Retry-After": {Doc: "Number of seconds to wait before retrying."}},
					},
				},
			},
		},
		Components: []openapi.Component{
			{Of: issued{}, Name: "Token", More: openapi.Object{"properties": openapi.Object{"access_token": prefixed(o.access), "refresh_token": prefixed(o.refresh)}}},
			{Of: oauthError{}, Name: "Error"},
		},
		Error: &rejected,
	}, o.Routes())
}

// DeferDescription does nothing: tests check the description against the routes.
func (*OAuth) DeferDescription() {}
