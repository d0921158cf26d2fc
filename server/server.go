package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/server/openapi"
	"go.uber.org/zap"
)

var (
	// ErrUnauthenticated says that a server without credentials was to listen
	// where other machines reach it.
	ErrUnauthenticated = errors.New("without keys the server listens on loopback only")
	// ErrDraining is the cause with which the contexts of streams end when the
	// server does.
	ErrDraining = errors.New("the server is shutting down")
	// ErrCutShort says that requests did not end in time, and were ended.
	ErrCutShort = errors.New("requests were cut short")
)

// Server answers HTTP requests. Its life is New, Listen, Mount for each surface,
// Serve until its context ends, Shutdown; BeginDrain may come ahead of the end. What
// takes long between Listen and Serve goes between BeginStartup and EndStartup. In a program with an HTTP server of its
// own, Handler takes the place of Listen.
type Server struct {
	settings Settings

	http     *http.Server
	router   *router
	document *openapi.Document
	listener net.Listener
	// beside are the surfaces that listen elsewhere, too.
	listeners []Listener
	// drainers are the surfaces that the end waits for.
	drainers []Drainer
	unused   unusedConns
	events   *eventConns
	// mounted counts the requests that came by Handler.
	mounted requestCount
	accepting
	// starting tells that only probes are answered, and draining that the server
	// ends.
	starting, draining atomic.Bool
	// open tells that nobody needs a credential.
	open bool
	ends
}

// accepting is how connections are accepted.
type accepting struct {
	// acceptEnded is closed when no more connections are accepted, and acceptErr
	// says why then. acceptEnded is nil until they are.
	acceptEnded chan struct{}
	acceptErr   error
}

// ends are the contexts that end requests with the server.
type ends struct {
	// streams ends when streams are to end, and requests when all are cut short.
	streams, requests    context.Context
	endStreams, cutShort context.CancelCauseFunc
}

// New returns a server that answers probes and nothing else yet. The error says
// that an origin is none, or that the meter provider refused an instrument.
func New(settings Settings) (*Server, error) {
	settings.setDefaults()
	s := &Server{settings: settings}
	s.streams, s.endStreams = context.WithCancelCause(context.Background())
	s.requests, s.cutShort = context.WithCancelCause(context.Background())
	if s.settings.Authenticator == nil {
		e, err := newLocalAuthenticator(&s.settings)
		if err != nil {
			return nil, err
		}
		s.settings.Authenticator, s.open = e, true
	}
	m, err := newMetrics(s.settings.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("make the instruments of the server: %w", err)
	}
	s.router = newRouter(s, m)
	s.document = openapi.NewDocument(openapi.Server{Version: settings.Version, PublicURL: settings.PublicURL, Open: s.open})
	// What goes wrong with a connection is the client's doing, mostly.
	complaints, err := zap.NewStdLogAt(s.settings.Logger, zap.DebugLevel)
	if err != nil {
		return nil, fmt.Errorf("make the log of the server: %w", err)
	}
	s.http = &http.Server{
		Handler:           s.router,
		ReadHeaderTimeout: s.settings.Limits.ReadHeaderTimeout,
		IdleTimeout:       s.settings.Limits.IdleTimeout,
		MaxHeaderBytes:    s.settings.Limits.MaxHeaderBytes,
		TLSConfig:         withHTTP(s.settings.TLS),
		ConnState:         s.unused.noteState,
		ConnContext:       withFraming,
		BaseContext:       func(net.Listener) context.Context { return s.requests },
		ErrorLog:          complaints,
	}
	s.events = newEventConns(s.http)
	return s, s.Mount(context.Background(), newProbes(s))
}

// Mount adds the routes of a surface, before Serve, and opens the address that it
// listens at by itself, if it does. The error says that a pattern is none or
// matches what another one does, that the description does not fit the routes,
// or that the address cannot be had.
func (s *Server) Mount(ctx context.Context, surface Surface) error {
	routes := surface.Routes()
	for _, route := range routes {
		if err := s.router.addRoute(surface, route); err != nil {
			return err
		}
	}
	if err := s.addDescription(surface, routes); err != nil {
		return err
	}
	if drainer, ok := surface.(Drainer); ok {
		s.drainers = append(s.drainers, drainer)
	}
	beside, ok := surface.(Listener)
	if !ok {
		return nil
	}
	if err := beside.Listen(ctx); err != nil {
		return err
	}
	s.listeners = append(s.listeners, beside)
	return nil
}

// Listen opens the address, so that nothing else can take it and URL is known.
// Requests are answered from Serve on.
func (s *Server) Listen(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.settings.Address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if s.open && !s.settings.AllowUnauthenticated && !isLoopback(l.Addr()) {
		return errors.Join(fmt.Errorf("listen on %s: %w", s.settings.Address, ErrUnauthenticated), l.Close())
	}
	s.listener = l
	return nil
}

// isLoopback reports whether only this machine reaches an address.
func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// URL is where the server is found: PublicURL, or else the address that it
// listens at.
func (s *Server) URL() string {
	if s.settings.PublicURL != "" || s.listener == nil {
		return s.settings.PublicURL
	}
	return s.LocalURL()
}

// LocalURL is the address that the server listens at; empty before Listen.
func (s *Server) LocalURL() string {
	switch {
	case s.listener == nil:
		return ""
	case s.settings.TLS != nil:
		return "https://" + s.listener.Addr().String()
	default:
		return "http://" + s.listener.Addr().String()
	}
}

// BeginStartup answers requests from now on, before Serve: GET /healthz with 200,
// and all others with 503 and Retry-After, until EndStartup. It is called once,
// after Listen. Surfaces may be mounted meanwhile, and Ready is not called.
func (s *Server) BeginStartup() {
	s.starting.Store(true)
	s.startAccepting()
}

// EndStartup answers requests as Serve does, on the same connections. Nothing is
// mounted after it. Without BeginStartup it changes nothing.
func (s *Server) EndStartup() { s.starting.Store(false) }

// Serve answers requests until ctx ends, and then takes no more; those that are
// under way go on. It returns nil then, and otherwise says why it cannot go on. It
// ends the startup if EndStartup did not. Without Listen only those surfaces are
// served that listen by themselves.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.EndStartup(); s.acceptEnded == nil && s.listener != nil {
		s.startAccepting()
	}
	ended := make(chan error, 1+len(s.listeners))
	go func() { ended <- s.waitAccepting(ctx) }()
	for _, beside := range s.listeners {
		go func() { ended <- beside.Serve(ctx) }()
	}
	var errs []error
	left := cap(ended)
	select {
	case <-ctx.Done():
	case err := <-ended:
		errs = append(errs, err)
		left--
	}
	cancel()
	s.BeginDrain()
	if s.listener != nil {
		_ = s.listener.Close()
	}
	_ = s.events.Close()
	for range left {
		errs = append(errs, <-ended)
	}
	s.events.serving.Wait()
	return errors.Join(errs...)
}

// BeginDrain refuses what begins new work from now on, with 503 and Retry-After; all
// else is answered until the context of Serve ends. The server is not ready any
// more, and keeps no connections for further requests.
func (s *Server) BeginDrain() {
	s.draining.Store(true)
	s.http.SetKeepAlivesEnabled(false)
}

// Draining reports whether what begins new work is refused.
func (s *Server) Draining() bool { return s.draining.Load() }

// DrainClients waits until no client owes an answer to what it follows, or ctx ends.
// It comes behind BeginDrain, while requests are still answered.
func (s *Server) DrainClients(ctx context.Context) {
	var all sync.WaitGroup
	for _, drainer := range s.drainers {
		all.Go(func() { drainer.DrainClients(ctx) })
	}
	all.Wait()
}

// startAccepting takes connections until the listener is closed.
func (s *Server) startAccepting() {
	s.acceptEnded = make(chan struct{})
	go func() {
		defer close(s.acceptEnded)
		s.acceptErr = s.acceptConns()
	}()
}

// waitAccepting waits until no more connections are accepted and says why; without a
// listener it waits for the end of ctx.
func (s *Server) waitAccepting(ctx context.Context) error {
	if s.listener == nil {
		<-ctx.Done()
		return nil
	}
	<-s.acceptEnded
	return s.acceptErr
}

// acceptConns takes connections until the listener is closed.
func (s *Server) acceptConns() error {
	var l net.Listener = framingListener{s.listener}
	if s.http.TLSConfig != nil {
		l = newHandshaker(s.listener, s.http.TLSConfig.Clone(), s.settings.Limits.ReadHeaderTimeout)
	}
	err := s.http.Serve(l)
	if s.draining.Load() || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("accept connections: %w", err)
}

// Shutdown tells streams to end and waits for all requests. When ctx ends first,
// those that are left are ended, and the error is ErrCutShort. It is called once
// Serve has returned, or in its place.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	s.endStreams(ErrDraining)
	if s.listener != nil {
		_ = s.listener.Close() // closed already when there was a Serve
	}
	if s.acceptEnded != nil {
		<-s.acceptEnded
	}
	errs := make([]error, len(s.listeners))
	var all sync.WaitGroup
	for i, beside := range s.listeners {
		all.Go(func() { errs[i] = beside.Shutdown(ctx) })
	}
	s.unused.close()
	_ = s.events.Close()
	var cut error
	if err := errors.Join(s.http.Shutdown(ctx), s.events.streams.wait(ctx), s.mounted.drain(ctx)); err != nil {
		s.cutShort(ErrCutShort)
		s.events.cutShort()
		cut = errors.Join(ErrCutShort, s.http.Close())
	}
	all.Wait()
	return errors.Join(append(errs, cut)...)
}

// Enter begins a request that did not come through the router: one of a surface
// that listens by itself. It counts like those that did. leave ends it; the error
// is a *RateError.
func (s *Server) Enter(p *Principal) (leave func(), err error) {
	return s.router.limiter.beginRequest(p.KeyID)
}

// Authenticate finds out who a request comes from, as the router does. It is for
// surfaces that listen by themselves, as are TLS and Limits.
func (s *Server) Authenticate(r *http.Request) (*Principal, error) {
	return s.settings.Authenticator.Authenticate(r)
}

// TLS returns the server's certificate; nil is HTTP without TLS.
func (s *Server) TLS() *tls.Config { return s.settings.TLS }

// Limits returns what bounds each request.
func (s *Server) Limits() Limits { return s.settings.Limits }

// Routes returns all routes that are mounted, in their order.
func (s *Server) Routes() []Route {
	routes := make([]Route, len(s.router.routes))
	for i, m := range s.router.routes {
		routes[i] = m.Route
	}
	return routes
}

// streamContext returns ctx for a stream, which ends when the server does. end frees
// what it holds.
func (s *Server) streamContext(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(s.streams, func() { cancel(ErrDraining) })
	return ctx, func() {
		unlink()
		cancel(nil)
	}
}

// detachedContext returns a context with the values of ctx for a stream whose handler has
// returned. It ends when the server does, or cuts requests short.
func (s *Server) detachedContext(ctx context.Context) (_ context.Context, end func()) {
	ctx, endStream := s.streamContext(context.WithoutCancel(ctx))
	ctx, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(s.requests, func() { cancel(context.Cause(s.requests)) })
	return ctx, func() {
		unlink()
		cancel(nil)
		endStream()
	}
}
