package a2a

import "github.com/a2aproject/a2a-go/v2/a2a"

// acceptedCredentials returns the currently accepted credentials.
func (s *Server) acceptedCredentials() Credentials {
	switch {
	case s.settings.Open:
		return Credentials{}
	case s.settings.Credentials == nil:
		return Credentials{Keys: true}
	default:
		return s.settings.Credentials()
	}
}

// addSecurity adds the accepted credentials to a card. Each alone is enough. None has scopes, which
// the card's JSON states as an empty array: the SDKs for Go, JavaScript and Python read that, while
// the one for Go (2.4) rejects the object that the JSON of protobuf has.
func (s *Server) addSecurity(card *a2a.AgentCard) {
	if s.settings.Open {
		return
	}
	accepted := s.acceptedCredentials()
	card.SecuritySchemes = a2a.NamedSecuritySchemes{}
	add := func(name a2a.SecuritySchemeName, scheme a2a.SecurityScheme) {
		card.SecuritySchemes[name] = scheme
		card.SecurityRequirements = append(card.SecurityRequirements, a2a.SecurityRequirements{name: {}})
	}
	if accepted.Keys {
		add("bearer", a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "An API key of the server."})
		add("key", a2a.APIKeySecurityScheme{Location: a2a.APIKeySecuritySchemeLocationHeader, Name: "X-API-Key", Description: "An API key of the server."})
	}
	if accepted.Issuer != "" {
		add("jwt", a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", BearerFormat: "JWT", Description: "A token of " + accepted.Issuer + "."})
	}
	if accepted.TokenURL != "" {
		add("oauth", a2a.OAuth2SecurityScheme{
			Description: "An access token for the id and secret of a client.",
			Flows:       a2a.ClientCredentialsOAuthFlow{TokenURL: accepted.TokenURL, Scopes: map[string]string{}},
		})
	}
}
