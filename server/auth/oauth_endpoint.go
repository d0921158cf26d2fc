package auth

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"go.uber.org/zap"
)

// maxForm bounds the form of a request for a token, in bytes.
const maxForm = 64 << 10

// retryRevocation is the Retry-After of a failed revocation, in seconds.
const retryRevocation = "5"

// Routes returns the endpoints that issue and revoke tokens. They are public: clients authenticate
// with their secret.
func (o *OAuth) Routes() []server.Route {
	return []server.Route{
		{Pattern: "POST /api/oauth/token", ID: "token", Handler: http.HandlerFunc(o.serveToken), Public: true},
		{Pattern: "POST /api/oauth/revoke", ID: "revoke", Handler: http.HandlerFunc(o.serveRevoke), Public: true},
	}
}

// WriteError writes the router's errors in OAuth's format.
func (*OAuth) WriteError(w http.ResponseWriter, _ *http.Request, e *server.Error) {
	writeOAuth(w, e.Status, oauthError{e.Code, e.Message})
}

// oauthError is the body of an error response.
type oauthError struct {
	Code        string `json:"error" jsonschema:"Machine-readable error code." examples:"['invalid_request','invalid_client','invalid_grant','invalid_scope','unsupported_grant_type','rate_limited','server_error','temporarily_unavailable']"`
	Description string `json:"error_description,omitempty" jsonschema:"Human-readable description of the error."`
}

// issued is the body of a response with a token.
type issued struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type" const:"Bearer"`
	ExpiresIn    int64  `json:"expires_in" minimum:"0" jsonschema:"Lifetime of the token, in seconds."`
	RefreshToken string `json:"refresh_token,omitempty" jsonschema:"Refresh token from the request."`
	Scope        string `json:"scope" jsonschema:"Space-separated scopes of the token."`
}

// serveToken exchanges a client's secret, optionally with its refresh token, for an access token.
func (o *OAuth) serveToken(w http.ResponseWriter, r *http.Request) {
	client, form, leave := o.beginRequest(w, r)
	if client == nil {
		return
	}
	defer leave()
	scopes, refresh := client.Principal.Caller.Scopes, ""
	g := &grant{Client: client.Principal.KeyID}
	now := o.clock().Unix()
	end := now + int64(o.tokenLifetime()/time.Second)
	switch form.Get("grant_type") {
	case "client_credentials":
	case "refresh_token":
		refresh = form.Get("refresh_token")
		kept, _, err := o.openToken(o.refresh, refresh)
		if err != nil || !strings.HasPrefix(refresh, o.refresh) || kept.Client != g.Client {
			writeOAuth(w, http.StatusBadRequest, oauthError{"invalid_grant", "the refresh token is not good"})
			return
		}
		scopes, g.Refresh, end = intersectScopes(kept.Scopes, scopes), kept.ID, min(end, kept.Expires)
	case "":
		writeOAuth(w, http.StatusBadRequest, oauthError{"invalid_request", "grant_type is required"})
		return
	default:
		writeOAuth(w, http.StatusBadRequest, oauthError{"unsupported_grant_type", "grant_type is client_credentials or refresh_token"})
		return
	}
	if asked := strings.Fields(form.Get("scope")); len(asked) > 0 {
		if slices.ContainsFunc(asked, func(s string) bool { return !slices.Contains(scopes, s) }) {
			writeOAuth(w, http.StatusBadRequest, oauthError{"invalid_scope", "the client does not have all of the scopes"})
			return
		}
		scopes = asked
	}
	g.Scopes, g.Expires = scopes, end
	token, err := o.sealToken(o.access, client, g)
	if err != nil {
		writeOAuth(w, http.StatusInternalServerError, oauthError{"server_error", ""})
		return
	}
	writeOAuth(w, http.StatusOK, issued{token, "Bearer", end - now, refresh, strings.Join(scopes, " ")})
}

// serveRevoke revokes a token of a client. An invalid token counts as revoked.
func (o *OAuth) serveRevoke(w http.ResponseWriter, r *http.Request) {
	client, form, leave := o.beginRequest(w, r)
	if client == nil {
		return
	}
	defer leave()
	token, prefix := form.Get("token"), o.access
	if strings.HasPrefix(token, o.refresh) {
		prefix = o.refresh
	}
	if g, _, err := o.openToken(prefix, token); err == nil && strings.HasPrefix(token, prefix) && g.Client == client.Principal.KeyID {
		if err := o.revoked.addToken(r.Context(), g); err != nil {
			const problem = "the token is not revoked"
			server.NoteRefusal(r.Context(), "", problem)
			o.logger.Warn(problem, zap.String("request_id", server.RequestID(r.Context())), zap.String("key_id", g.Client), zap.Error(err))
			w.Header().Set("Retry-After", retryRevocation)
			writeOAuth(w, http.StatusServiceUnavailable, oauthError{"temporarily_unavailable", "the token is not revoked; try again"})
			return
		}
	}
	writeOAuth(w, http.StatusOK, struct{}{})
}

// beginRequest reads the form of a request and authenticates its client. It returns nil after
// answering a rejected request.
func (o *OAuth) beginRequest(w http.ResponseWriter, r *http.Request) (client *Client, form url.Values, leave func()) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(media), "application/x-www-form-urlencoded") || r.ParseForm() != nil {
		writeOAuth(w, http.StatusBadRequest, oauthError{"invalid_request", "the body is not a form"})
		return nil, nil, nil
	}
	form = r.PostForm
	for _, values := range form {
		if len(values) > 1 {
			writeOAuth(w, http.StatusBadRequest, oauthError{"invalid_request", "a parameter is there twice"})
			return nil, nil, nil
		}
	}
	id, secret := form.Get("client_id"), form.Get("client_secret")
	if user, password, ok := r.BasicAuth(); ok {
		if secret != "" {
			writeOAuth(w, http.StatusBadRequest, oauthError{"invalid_request", "the client shows its secret twice"})
			return nil, nil, nil
		}
		id, secret = unescapeHeader(user), unescapeHeader(password)
	}
	client = o.findClient(id)
	if !client.matchesSecret(secret) || client.hasExpired(o.clock()) {
		server.NoteRefusal(r.Context(), "", "the client or its secret is not good")
		w.Header().Set("WWW-Authenticate", `Basic realm="agentruntime"`)
		writeOAuth(w, http.StatusUnauthorized, oauthError{"invalid_client", "the client or its secret is not good"})
		return nil, nil, nil
	}
	leave, err := o.enter(client.Principal)
	if err != nil {
		server.SetRetryAfter(w, err)
		writeOAuth(w, http.StatusTooManyRequests, oauthError{"rate_limited", err.Error()})
		return nil, nil, nil
	}
	server.NoteRefusal(r.Context(), id, "")
	return client, form, leave
}

// unescapeHeader decodes a part of the header as OAuth specifies; text that is not encoded is
// returned unchanged.
func unescapeHeader(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// writeOAuth writes an answer.
func writeOAuth(w http.ResponseWriter, status int, body any) {
	if err := server.WriteJSON(w, status, body); err != nil {
		w.WriteHeader(status) // not reached: only strings and numbers
	}
}
