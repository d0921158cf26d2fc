// Package a2a lets other runtimes and programs reach the local agents as A2A peers. A task is a
// turn and a context is a session, so every replica can show, follow and cancel a turn, whatever
// process works on it.
//
// The SDK decodes and encodes the protocol. This package implements the requests on top of
// service.Service.
package a2a

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// The defaults of Settings.
const (
	// defaultMaxBody bounds a request, in bytes.
	defaultMaxBody = 4 << 20
	// defaultCardAge is how long clients may cache a card.
	defaultCardAge = 5 * time.Minute
)

// Settings configures the surface. Service and PublicURL are required.
type Settings struct {
	// Service runs the turns and provides the agents.
	Service *service.Service
	// PublicURL is the server's URL for clients and the prefix of addresses in cards. It is never
	// derived from a request.
	PublicURL string
	// DefaultAgent is the agent whose card is at the root. Empty means the only local agent, if
	// there is exactly one.
	DefaultAgent string
	// V03 also enables version 0.3 of the protocol.
	V03 bool
	// UniqueMessageIDs rejects a message with the id of an earlier, different one. Otherwise it
	// is accepted as a new message.
	UniqueMessageIDs bool
	// Scope is the scope that requests require; empty requires none.
	Scope string
	// Open omits the security schemes from the cards: no credential is required.
	Open bool
	// Credentials returns the credentials that cards name, which may change; nil means keys. It is
	// called concurrently.
	Credentials func() Credentials
	// Organization and OrganizationURL are the provider that cards name; empty names none.
	Organization, OrganizationURL string
	// Signer signs the cards; nil disables signing.
	Signer *Signer
	// NoPush disables push notifications. So does a service without a PushSender for PushSurface.
	NoPush bool
	// MaxWait is how long a request waits for its task to settle; 0 means
	// settings.DefaultMaxWait. MaxBody and CardAge have the defaults above, and KeepAlive the
	// server's.
	MaxWait   time.Duration
	MaxBody   int64
	KeepAlive time.Duration
	CardAge   time.Duration
	// GRPC is the address for gRPC, as host:port; empty disables it. It requires the Authenticator,
	// and uses TLS if GRPCTLS is set. GRPCURL is its address in cards; empty means the host of
	// PublicURL with the port.
	GRPC          string
	GRPCURL       string
	GRPCTLS       *tls.Config
	Authenticator server.Authenticator
	// WriteTimeout is how long a gRPC client may take to receive one message; 0 means
	// settings.DefaultWriteTimeout. The server limits everything else.
	WriteTimeout time.Duration
	// Enter starts a gRPC request, like server.Server.Enter; nil means no limit.
	Enter func(p *server.Principal) (leave func(), err error)
	// Draining reports whether the server is shutting down: it then rejects messages that begin a
	// task, and answers everything else. Nil means never.
	Draining func() bool
	// Logger logs internal errors; nil drops them.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Server is the surface. It is safe for concurrent use.
type Server struct {
	settings Settings

	base    string
	handler *handler
	// rpc and rest implement version 1.0, and the others 0.3.
	rpc, rest, oldRPC, oldREST http.Handler
	grpc                       *grpcServer
}

var (
	_ server.Surface     = (*Server)(nil)
	_ server.ErrorWriter = (*Server)(nil)
	_ server.Listener    = (*Server)(nil)
)

var (
	errNoAuth = errors.New("gRPC requires a separate authenticator")
)

// Credentials are the accepted credentials, as stated in cards.
type Credentials struct {
	// Keys is set when API keys are accepted.
	Keys bool
	// Issuer is the issuer of accepted JSON Web Tokens; empty for none.
	Issuer string
	// TokenURL is where a client gets an access token for its id and secret; empty for none.
	TokenURL string
}

// New returns the surface. It fails if the settings are invalid.
func New(s Settings) (*Server, error) {
	if err := surfacekit.CheckService(s.Service); err != nil {
		return nil, err
	}
	base, err := publicBase(s.PublicURL)
	if err != nil {
		return nil, err
	}
	if s.GRPC != "" && s.Authenticator == nil {
		return nil, errNoAuth
	}
	s.MaxWait = cmp.Or(s.MaxWait, settings.DefaultMaxWait)
	s.MaxBody = cmp.Or(s.MaxBody, defaultMaxBody)
	s.KeepAlive = cmp.Or(s.KeepAlive, server.DefaultKeepAlive)
	s.CardAge = cmp.Or(s.CardAge, defaultCardAge)
	s.WriteTimeout = cmp.Or(s.WriteTimeout, settings.DefaultWriteTimeout)
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	v := &Server{settings: s, base: base}
	v.handler = &handler{server: v, service: s.Service}
	if sender, ok := s.Service.WebhookSender(PushSurface).(*PushSender); ok && !s.NoPush {
		v.handler.sender = sender
		sender.tasks.Store(v.handler)
	}
	options := []a2asrv.TransportOption{
		a2asrv.WithTransportKeepAlive(s.KeepAlive),
		a2asrv.WithTransportPanicHandler(v.onSDKPanic),
	}
	v.rpc, v.rest = a2asrv.NewJSONRPCHandler(v.handler, options...), a2asrv.NewRESTHandler(v.handler, options...)
	if s.V03 {
		v.oldRPC, v.oldREST = a2av0.NewJSONRPCHandler(v.handler, options...), a2av0.NewRESTHandler(v.handler, options...)
	}
	if s.GRPC != "" {
		v.grpc = newGRPCServer(v)
	}
	return v, nil
}

// onSDKPanic returns the SDK's error for a panic outside of the handler, which recovers itself.
func (s *Server) onSDKPanic(cause any) error {
	s.settings.Logger.Error("the answer to an A2A request panicked", zap.Any("panic", cause))
	return errInternal
}

func publicBase(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("the public URL %q is not an http or https URL without query", text)
	}
	return strings.TrimRight(text, "/"), nil
}

// agentURL returns the URL of an agent.
func (s *Server) agentURL(agent string) string { return s.base + "/a2a/" + url.PathEscape(agent) }

// defaultAgent returns the agent at the root; empty if the root has no agent. It is the only
// local one, or without any, the only one at a hosted provider.
func (s *Server) defaultAgent() string {
	if s.settings.DefaultAgent != "" {
		return s.settings.DefaultAgent
	}
	var local, hosted []string
	for id, a := range s.settings.Service.Revision().Set().Agents.All() {
		switch {
		case a.Local():
			local = append(local, id)
		case a.Hosted():
			hosted = append(hosted, id)
		}
	}
	switch {
	case len(local) == 1:
		return local[0]
	case len(local) == 0 && len(hosted) == 1:
		return hosted[0]
	default:
		return ""
	}
}
