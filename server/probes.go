package server

import (
	"io"
	"net/http"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"go.uber.org/zap"
)

// probes is the surface for operators: health, metrics and the OpenAPI document.
type probes struct {
	server    *Server
	readiness readiness
}

func newProbes(s *Server) *probes {
	return &probes{server: s, readiness: readiness{look: s.settings.Ready}}
}

// Routes returns the probes and the server's description, which are public, and the metrics, which
// are not.
func (p *probes) Routes() []Route {
	routes := []Route{
		{Pattern: "GET /healthz", ID: "health", Handler: http.HandlerFunc(p.serveHealthz), Public: true, Quiet: true},
		{Pattern: "GET /readyz", ID: "readiness", Handler: http.HandlerFunc(p.serveReadyz), Public: true, Quiet: true},
		{Pattern: "GET /{$}", ID: "root", Handler: http.HandlerFunc(serveRoot), Public: true},
		{Pattern: "GET /openapi.json", ID: "description", Handler: http.HandlerFunc(p.server.serveDocument), Public: true},
	}
	if p.server.settings.Metrics != nil {
		routes = append(routes, Route{Pattern: "GET /metrics", ID: "metrics", Handler: p.server.settings.Metrics, Scope: settings.ScopeMetricsRead, Quiet: true})
	}
	return routes
}

// isProbe reports whether a server answers a path during startup.
func isProbe(path string) bool { return path == "/healthz" || path == "/readyz" }

// serveRoot points to the description of the server, relative to the root.
func serveRoot(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Link", `<openapi.json>; rel="service-desc"`)
	_ = WriteJSON(w, http.StatusOK, map[string]string{"openapi": "openapi.json"}) // the client may be gone
}

// serveHealthz responds as long as the process runs.
func (*probes) serveHealthz(w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusOK, "ok\n")
}

// serveReadyz reports whether requests should be sent here. The reason is logged.
func (p *probes) serveReadyz(w http.ResponseWriter, r *http.Request) {
	switch {
	case p.server.draining.Load():
		writeText(w, http.StatusServiceUnavailable, "draining\n")
		return
	case p.server.starting.Load():
		w.Header().Set("Retry-After", formatSeconds(time.Second))
		writeText(w, http.StatusServiceUnavailable, "starting\n")
		return
	}
	if err := p.readiness.check(r.Context()); err != nil {
		p.server.settings.Logger.Warn("not ready", zap.Error(err))
		writeText(w, http.StatusServiceUnavailable, "not ready\n")
		return
	}
	text := "ready\n"
	if detail := p.server.settings.ReadyDetail; detail != nil && r.URL.Query().Has("verbose") {
		text += detail() + "\n"
	}
	writeText(w, http.StatusOK, text)
}

// writeText writes a text that must not be cached.
func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the status is sent
}
