package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/buildversion"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/zap"
)

// Settings are the settings of a server. Everything except Address has a default.
type Settings struct {
	// Address is the listen address, as host:port; port 0 picks a free one.
	Address string
	// TLS contains the certificate; nil means plain HTTP.
	TLS *tls.Config
	// PublicURL is the server's URL as clients see it, if it is behind a proxy.
	PublicURL string
	// Version is the program's version in the OpenAPI document; the default is the version in its
	// build information.
	Version string
	// Authenticator authenticates requests. If it is nil, every client is the subject "local" of
	// the tenant "local", and the server listens only on loopback unless AllowUnauthenticated is
	// set.
	Authenticator        Authenticator
	AllowUnauthenticated bool
	// LocalScopes are the scopes that clients have without an Authenticator, in addition to all
	// that need not be listed.
	LocalScopes []string
	// CORSOrigins are the origins whose pages may use the server, such as
	// https://console.example.com; "*" means all. By default none may.
	CORSOrigins []string
	Limits      Limits
	Rate        Rate
	// Ready returns an error if the server cannot do its work. If it is nil, the
	// server is always ready.
	Ready func(ctx context.Context) error
	// ReadyDetail returns a line about a ready server, for GET /readyz?verbose; nil adds nothing.
	// The line must not be secret: anyone may request it.
	ReadyDetail func() string
	// Metrics serves GET /metrics, which needs the scope metrics:read; nil omits the route.
	Metrics http.Handler
	// MeterProvider receives the metrics of the server; nil disables them.
	MeterProvider metric.MeterProvider
	// Logger logs each request; nil disables it.
	Logger *zap.Logger
	// Clock returns the time; the default is time.Now. NewID creates request ids;
	// the default is UUIDs of version 7.
	Clock func() time.Time
	NewID func() string

	_ struct{} // keyed literals only
}

// Limits are the limits of one request. Their defaults are in settings.ServerLimits.
type Limits struct {
	// MaxBodyBytes and MaxHeaderBytes limit the size of a request.
	MaxBodyBytes   int64
	MaxHeaderBytes int
	// ReadHeaderTimeout and ReadTimeout are how long a client may take to send its
	// header, and then its body.
	ReadHeaderTimeout time.Duration
	ReadTimeout       time.Duration
	// WriteTimeout is how long a client may take to receive one write. The time of
	// a whole response is not limited.
	WriteTimeout time.Duration
	// IdleTimeout is how long a connection may be idle between requests.
	IdleTimeout time.Duration
}

// Rate limits the requests of one credential. 0 means no limit.
type Rate struct {
	// PerSecond is the sustained rate of requests, and Burst how many may arrive at
	// once; a Burst of 0 means PerSecond, at least 1.
	PerSecond float64
	Burst     int
	// Concurrency limits the open requests, including streams.
	Concurrency int
}

// setDefaults sets the defaults.
func (s *Settings) setDefaults() {
	l := &s.Limits
	l.MaxBodyBytes = cmp.Or(l.MaxBodyBytes, settings.DefaultMaxBodyBytes)
	l.MaxHeaderBytes = cmp.Or(l.MaxHeaderBytes, settings.DefaultMaxHeaderBytes)
	l.ReadHeaderTimeout = cmp.Or(l.ReadHeaderTimeout, settings.DefaultReadHeaderTimeout)
	l.ReadTimeout = cmp.Or(l.ReadTimeout, settings.DefaultReadTimeout)
	l.WriteTimeout = cmp.Or(l.WriteTimeout, settings.DefaultWriteTimeout)
	l.IdleTimeout = cmp.Or(l.IdleTimeout, settings.DefaultIdleTimeout)
	s.Version = cmp.Or(s.Version, buildversion.Program())
	s.Rate.Burst = cmp.Or(s.Rate.Burst, max(1, int(s.Rate.PerSecond)))
	if s.Ready == nil {
		s.Ready = func(context.Context) error { return nil }
	}
	if s.MeterProvider == nil {
		s.MeterProvider = noop.NewMeterProvider()
	}
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	if s.Clock == nil {
		s.Clock = time.Now
	}
	if s.NewID == nil {
		s.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
}
