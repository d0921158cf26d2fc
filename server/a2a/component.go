package a2a

import (
	"strings"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/component"
)

// Component returns the protocol as a component of a program.
func Component() component.Surface {
	return component.Surface{
		Name: PushSurface, Roots: []string{"/a2a/"}, Errors: (*Server)(nil), NewSender: newSender, New: newComponent,
		Scopes: []string{settings.ScopeA2AInvoke, settings.ScopeA2ADiscovery},
	}
}

// newSender creates the sender of task notifications; nil if the configuration disables them.
func newSender(f *config.File) (component.WebhookSender, error) {
	c := &f.Server.A2A
	if !c.On() || !c.Push.On() {
		return nil, nil //nolint:nilnil // nobody is notified
	}
	return NewPushSender(PushSettings{AllowPrivate: c.Push.AllowPrivate, Key: f.Server.EncryptionBytes()})
}

// newComponent returns nil if the configuration disables the protocol.
func newComponent(s component.Settings) (server.Surface, error) {
	c := &s.File.Server.A2A
	if !c.On() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	made := Settings{
		Service: s.Service, PublicURL: s.Server.URL(), DefaultAgent: c.DefaultAgent, V03: c.V03, UniqueMessageIDs: c.UniqueMessageIDs,
		Scope: settings.ScopeA2AInvoke, Open: !s.File.Server.Authenticated(), NoPush: !c.Push.On(),
		MaxWait: c.WaitTime(), MaxBody: int64(s.File.Server.Limits.BodyLimit()),
		Organization: c.Organization, OrganizationURL: c.OrganizationURL, GRPCURL: c.GRPCAddress,
		GRPC: c.GRPCListen, GRPCTLS: s.Server.TLS(), WriteTimeout: s.Server.Limits().WriteTimeout,
		Authenticator: s.Server, Enter: s.Server.Enter, Draining: s.Server.Draining, Logger: s.Logger,
	}
	made.Credentials = func() Credentials {
		accepted := s.Accepted()
		c := Credentials{Keys: accepted.Keys, Issuer: accepted.Issuer}
		if accepted.Clients {
			c.TokenURL = strings.TrimSuffix(s.Server.URL(), "/") + "/api/oauth/token"
		}
		return c
	}
	if c.SigningKeyFile != "" {
		signer, err := LoadSigner(c.SigningKeyFile)
		if err != nil {
			return nil, err
		}
		made.Signer = signer
	}
	return New(made)
}
