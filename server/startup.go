package server

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// startupWait is how long a request waits for the startup to end. It is less than the read timeout
// of common clients and proxies.
const startupWait = 20 * time.Second

// SurfaceErrors is the error format of the paths below a root, which begins and ends with a slash.
type SurfaceErrors struct {
	Root   string
	Writer ErrorWriter
}

// startup is the time in which only probes are answered.
type startup struct {
	starting atomic.Bool
	ended    chan struct{} // nil without a startup
	end      sync.Once
}

// BeginStartup answers requests before Serve, until EndStartup: GET /healthz with 200, reads with
// 503 and Retry-After. Streams and requests that are not reads wait for EndStartup. formats are the
// error formats of the surfaces. Call it once, after Listen. Surfaces may be mounted during
// startup, and Ready is not called.
func (s *Server) BeginStartup(formats ...SurfaceErrors) {
	for _, f := range formats {
		s.router.startRoots = append(s.router.startRoots, surfaceRoot{f.Root, f.Writer})
	}
	s.ended = make(chan struct{})
	s.starting.Store(true)
	s.startAccepting()
}

// EndStartup begins to answer all requests, on the same connections. Nothing may be
// mounted after it. Without BeginStartup it changes nothing.
func (s *Server) EndStartup() {
	s.end.Do(func() {
		s.starting.Store(false)
		if s.ended != nil {
			close(s.ended)
		}
	})
}

// awaitStartup waits for the startup to end if the request may take long anyway. It reports whether
// the startup has ended.
func (s *Server) awaitStartup(r *http.Request) bool {
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
	if isRead && !wantsStream(r) {
		return false
	}
	timer := time.NewTimer(startupWait)
	defer timer.Stop()
	select {
	case <-s.ended:
		return true
	case <-timer.C:
	case <-s.waits.Done():
	case <-r.Context().Done():
	}
	return false
}

// wantsStream reports whether a read is for a stream. Many clients do not say so in Accept, and the
// routes may not be mounted yet, so the path and the query count too.
func wantsStream(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream") ||
		strings.HasSuffix(r.URL.Path, "/stream") || strings.HasSuffix(r.URL.Path, ":subscribe") ||
		r.URL.Query().Get("stream") == "true"
}
