package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/agentruntime/agentruntime/settings"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/zap"
)

// Settings is what a server is made of. Everything but the Address has a
// default.
type Settings struct {
	// Address is where the server listens, as host:port; port 0 takes one that is
	// free.
	Address string
	// TLS holds the certificate; nil is HTTP without TLS.
	TLS *tls.Config
	// PublicURL is where clients find the server, when it stands behind something
	// else.
	PublicURL string
	// Version is that of the program, which the description of the server names;
	// empty is "devel".
	Version string
	// Authenticator finds out who asks. Without one everybody is the subject
	// "local" of the tenant "local", and the server listens on loopback only,
	// unless AllowUnauthenticated permits more.
	Authenticator        Authenticator
	AllowUnauthenticated bool
	// CORSOrigins are the sites whose pages may use the server, such as
	// https://console.example.com; "*" is all. None may when it is empty.
	CORSOrigins []string
	Limits      Limits
	Rate        Rate
	// Ready says why the server cannot do its work, or nil; nil is always.
	Ready func(ctx context.Context) error
	// Metrics answers GET /metrics; nil leaves that out. Whoever asks needs the
	// scope metrics:read.
	Metrics http.Handler
	// MeterProvider takes what the server measures of itself; nil for none.
	MeterProvider metric.MeterProvider
	// Logger takes in a line for each request; nil drops it.
	Logger *zap.Logger
	// Clock tells the time; nil is time.Now. NewID makes the ids of requests; nil
	// makes UUIDs of version 7.
	Clock func() time.Time
	NewID func() string

	_ struct{} // keyed literals only
}

// Limits bound what one request may cost. A field that is 0 has the default of
// settings.ServerLimits.
type Limits struct {
	// MaxBodyBytes and MaxHeaderBytes bound the size of a request.
	MaxBodyBytes   int64
	MaxHeaderBytes int
	// ReadHeaderTimeout and ReadTimeout are how long a client may take to send its
	// header, and then its body.
	ReadHeaderTimeout time.Duration
	ReadTimeout       time.Duration
	// WriteTimeout is how long a client may take to take in one write. There is
	// no limit to the time of a whole response.
	WriteTimeout time.Duration
	// IdleTimeout is how long a connection may lie idle between requests.
	IdleTimeout time.Duration
}

// Rate bounds what one credential may ask for. A field that is 0 is no limit.
type Rate struct {
	// PerSecond is how many requests a second are answered in the long run, and
	// Burst how many at once; a Burst of 0 is PerSecond, at least 1.
	PerSecond float64
	Burst     int
	// Concurrency is how many requests may be open at the same time, streams
	// included.
	Concurrency int
}

// setDefaults fills in the defaults.
func (s *Settings) setDefaults() {
	l := &s.Limits
	l.MaxBodyBytes = cmp.Or(l.MaxBodyBytes, settings.DefaultMaxBodyBytes)
	l.MaxHeaderBytes = cmp.Or(l.MaxHeaderBytes, settings.DefaultMaxHeaderBytes)
	l.ReadHeaderTimeout = cmp.Or(l.ReadHeaderTimeout, settings.DefaultReadHeaderTimeout)
	l.ReadTimeout = cmp.Or(l.ReadTimeout, settings.DefaultReadTimeout)
	l.WriteTimeout = cmp.Or(l.WriteTimeout, settings.DefaultWriteTimeout)
	l.IdleTimeout = cmp.Or(l.IdleTimeout, settings.DefaultIdleTimeout)
	s.Version = cmp.Or(s.Version, "devel")
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
