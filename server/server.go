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

	"github.com/agentruntime/agentruntime/server/internal/openapi"
	"go.uber.org/zap"
)

// Server answers HTTP requests. Its life cycle is New, Listen, Mount for each surface, Serve
// until its context ends, and Shutdown; BeginDrain may be called before the end. Slow steps
// between Listen and Serve belong between BeginStartup and EndStartup. A program with its own
// HTTP server uses Handler instead of Listen.
type Server struct {
	settings Settings

	http     *http.Server
	router   *router
	document *openapi.Document
	listener net.Listener
	// listeners are the surfaces with their own listener.
	listeners []Listener
	// drainers are the surfaces that DrainClients waits for.
	drainers []Drainer
	unused   unusedConns
	// mounted counts the requests that arrived through Handler.
	mounted requestCount
	accepting
	startup
	// draining is set when the server is shutting down.
	draining atomic.Bool
	// open is set if no credentials are needed.
	open bool
	ends
}

// accepting is the state of the accept loop.
type accepting struct {
	// acceptEnded is closed when the loop has ended, with acceptErr. It is nil
	// before the loop starts.
	acceptEnded chan struct{}
	acceptErr   error
}

// ends are the contexts with which the server ends requests.
type ends struct {
	// waits ends when the server begins to drain, streams when streams have to end, and
	// requests when all requests are cut short.
	waits, streams, requests       context.Context
	endWaits, endStreams, cutShort context.CancelCauseFunc
}

// New returns a server that only answers probes. It fails if an origin is invalid,
// or if the meter provider rejects an instrument.
func New(settings Settings) (*Server, error) {
	settings.setDefaults()
	s := &Server{settings: settings}
	s.requests, s.cutShort = context.WithCancelCause(context.Background())
	s.streams, s.endStreams = context.WithCancelCause(s.requests)
	s.waits, s.endWaits = context.WithCancelCause(s.streams)
	if s.settings.Authenticator == nil {
		e, err := newLocalAuthenticator(&s.settings)
		if err != nil {
			return nil, err
		}
		s.settings.Authenticator, s.open = e, true
	}
	m, err := newMetrics(s.settings.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("create server metrics: %w", err)
	}
	s.router = newRouter(s, m)
	s.document = openapi.NewDocument(openapi.Server{Version: settings.Version, PublicURL: settings.PublicURL, Open: s.open})
	// Errors of connections are mostly caused by clients.
	complaints, err := zap.NewStdLogAt(s.settings.Logger, zap.DebugLevel)
	if err != nil {
		return nil, fmt.Errorf("create server log: %w", err)
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
	return s, s.Mount(context.Background(), newProbes(s))
}

// Mount adds the routes of a surface, before Serve, and opens its own listener, if
// it has one. It fails if a pattern is invalid or conflicts with a mounted one, if
// the description does not match the routes, or if the address is not available.
func (s *Server) Mount(ctx context.Context, surface Surface) error {
	routes := surface.Routes()
	for _, route := range routes {
		if err := s.router.addRoute(surface, route); err != nil {
			return err
		}
	}
	s.router.addRoot(surface, routes)
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

// Listen opens the address, so that it is reserved and URL is known. Requests are not handled
// before Serve.
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

// isLoopback reports whether an address is reachable only from this machine.
func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// URL returns the server's URL: PublicURL if set, otherwise LocalURL.
func (s *Server) URL() string {
	if s.settings.PublicURL != "" || s.listener == nil {
		return s.settings.PublicURL
	}
	return s.LocalURL()
}

// LocalURL returns the URL of the address that the server listens on; empty before Listen.
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

// Serve handles requests until ctx ends, then accepts no more and returns nil; requests in progress
// continue. Any other return is an error. It calls EndStartup if necessary. Without Listen it
// serves only surfaces with their own listener.
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
	for range left {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}

// BeginDrain rejects new work from now on, with 503 and Retry-After; everything else is served
// until the context of Serve ends. The server is no longer ready, and closes connections after
// their request.
func (s *Server) BeginDrain() {
	s.draining.Store(true)
	s.endWaits(ErrDraining)
	s.http.SetKeepAlivesEnabled(false)
}

// Draining reports whether new work is rejected.
func (s *Server) Draining() bool { return s.draining.Load() }

// DrainClients waits until no client has a pending answer to a run that it follows,
// or ctx ends. Call it after BeginDrain, while requests are still answered.
func (s *Server) DrainClients(ctx context.Context) {
	var all sync.WaitGroup
	for _, drainer := range s.drainers {
		all.Go(func() { drainer.DrainClients(ctx) })
	}
	all.Wait()
}

// startAccepting accepts connections until the listener is closed.
func (s *Server) startAccepting() {
	s.acceptEnded = make(chan struct{})
	go func() {
		defer close(s.acceptEnded)
		s.acceptErr = s.acceptConns()
	}()
}

// waitAccepting waits for the end of the accept loop and returns its error; without a listener it
// waits for ctx to end.
func (s *Server) waitAccepting(ctx context.Context) error {
	if s.listener == nil {
		<-ctx.Done()
		return nil
	}
	<-s.acceptEnded
	return s.acceptErr
}

// acceptConns accepts connections until the listener is closed.
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

// Shutdown ends streams and waits for all requests. If ctx ends first, the remaining ones are
// canceled, and the error is ErrCutShort. Call it after Serve has returned, or instead of Serve.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	s.endStreams(ErrDraining)
	if s.listener != nil {
		_ = s.listener.Close() // Serve may have closed it
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
	var cut error
	if err := errors.Join(s.http.Shutdown(ctx), s.mounted.drain(ctx)); err != nil {
		s.cutShort(ErrCutShort)
		cut = errors.Join(ErrCutShort, s.http.Close())
	}
	all.Wait()
	return errors.Join(append(errs, cut)...)
}

// Enter counts a request that did not pass the router, of a surface with its own
// listener, against the limits of its principal until leave is called. The error is
// a *RateError.
func (s *Server) Enter(p *Principal) (leave func(), err error) {
	return s.router.limiter.beginRequest(p.KeyID)
}

// Authenticate authenticates a request like the router. Like TLS and Limits, it is for surfaces
// with their own listener.
func (s *Server) Authenticate(r *http.Request) (*Principal, error) {
	return s.settings.Authenticator.Authenticate(r)
}

// TLS returns the TLS configuration of the server; nil means plain HTTP.
func (s *Server) TLS() *tls.Config { return s.settings.TLS }

// Limits returns the limits of each request.
func (s *Server) Limits() Limits { return s.settings.Limits }

// Routes returns all mounted routes, in order.
func (s *Server) Routes() []Route {
	routes := make([]Route, len(s.router.routes))
	for i, m := range s.router.routes {
		routes[i] = m.Route
	}
	return routes
}

// streamContext returns the context of a stream's request, which also ends when the server shuts
// down. Its cause is ErrClientGone, ErrDraining or ErrCutShort. end releases it.
func (s *Server) streamContext(request context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(request))
	unlinkStreams := context.AfterFunc(s.streams, func() { cancel(context.Cause(s.streams)) })
	unlinkRequest := context.AfterFunc(request, func() {
		if cause := context.Cause(request); !errors.Is(cause, context.Canceled) {
			cancel(cause)
		}
		cancel(ErrClientGone)
	})
	return ctx, func() {
		unlinkStreams()
		unlinkRequest()
		cancel(nil)
	}
}

// noteDisconnect marks the response of a stream whose client has disconnected as incomplete.
func noteDisconnect(ctx context.Context, w http.ResponseWriter) {
	if w, ok := w.(*response); ok && errors.Is(context.Cause(ctx), ErrClientGone) {
		_ = w.noteError(ErrClientGone)
	}
}

// UntilDrain returns a request context that ends with the cause ErrDraining when the server begins
// to drain, before its streams end. end releases it.
func UntilDrain(ctx context.Context) (_ context.Context, end func()) {
	m := exchangeFrom(ctx).mounted
	ctx, cancel := context.WithCancelCause(ctx)
	if m == nil { // not reached: the router sets it
		return ctx, func() { cancel(nil) }
	}
	unlink := context.AfterFunc(m.router.server.waits, func() { cancel(ErrDraining) })
	return ctx, func() {
		unlink()
		cancel(nil)
	}
}
