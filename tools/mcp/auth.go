package mcp

// The types of ServerAuth.
const (
	authBearer            = "bearer"
	authClientCredentials = "oauth_client_credentials"
	authLogin             = "oauth_authorization_code"
)

// The values of ServerAuth.Per.
const (
	perTenant  = "tenant"
	perSubject = "subject"
)

// serverAuth is how the runtime authenticates to a server.
type serverAuth struct {
	Type         string   `json:"type" required:"true" enum:"bearer|oauth_client_credentials|oauth_authorization_code" doc:"The method: a fixed token, tokens issued by an authorization server for a client's credentials, or tokens of a person logged in with runtime login."`
	Token        string   `json:"token,omitempty" secret:"true" of:"bearer" doc:"The token. Required."`
	TokenURL     string   `json:"token_url,omitempty" of:"oauth_client_credentials" doc:"The authorization server's token URL: http or https. If empty, it comes from the server, and tokens are requested for its address."`
	ClientID     string   `json:"client_id,omitempty" of:"oauth_client_credentials|oauth_authorization_code" doc:"The client's ID. Required for oauth_client_credentials; without it a login registers the runtime as a client."`
	ClientSecret string   `json:"client_secret,omitempty" secret:"true" of:"oauth_client_credentials|oauth_authorization_code" doc:"The client's secret. oauth_client_credentials requires it or private_key."`
	PrivateKey   string   `json:"private_key,omitempty" secret:"true" of:"oauth_client_credentials" doc:"The private key that signs the client's assertions, instead of client_secret: an RSA, EC or Ed25519 key, as PEM or JWK."`
	Scopes       []string `json:"scopes,omitempty" of:"oauth_client_credentials|oauth_authorization_code" doc:"The scopes of the tokens. Defaults to those that the server asks for; if set, oauth_client_credentials requests no others."`
	ClientURL    string   `json:"client_metadata_url,omitempty" of:"oauth_authorization_code" doc:"The https URL of a client ID metadata document, used where the authorization server supports it."`
	RedirectURL  string   `json:"redirect_url,omitempty" of:"oauth_authorization_code" doc:"The registered redirect URL of the client, on a loopback host with a port, as in http://127.0.0.1:8976/callback. Defaults to a free port."`
	Per          string   `json:"per,omitempty" enum:"tenant|subject" default:"tenant" of:"oauth_authorization_code" doc:"Whose login a turn uses: its tenant's or its owning subject's."`
}

// discovers reports whether the server names the authorization server. It is safe for nil.
func (a *serverAuth) discovers() bool {
	return a != nil && (a.Type == authLogin || a.Type == authClientCredentials && a.TokenURL == "")
}
