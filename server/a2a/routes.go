package a2a

import (
	"net/http"

	"github.com/agentruntime/agentruntime/server"
)

// endpoint prepares requests for an SDK handler, and corrects its responses.
type endpoint struct {
	server  *Server
	handler http.Handler
	spoken  version
	// rpc selects JSON-RPC instead of HTTP+JSON.
	rpc bool
	// old receives requests without a version, which means 0.3; nil if 0.3 is off.
	old http.Handler
}

// Routes returns the routes of the surface: the cards, which are public, and for each agent the
// protocol endpoints.
func (s *Server) Routes() []server.Route {
	const at = "/a2a/{agent}"
	routes := []server.Route{
		{Pattern: "GET /.well-known/agent-card.json", Public: true, Handler: http.HandlerFunc(s.rootCard)},
		{Pattern: "GET /.well-known/agents.json", Public: true, Handler: http.HandlerFunc(s.serveList)},
		{Pattern: "GET " + at + "/.well-known/agent-card.json", Public: true, Handler: http.HandlerFunc(s.agentCard)},
	}
	rpc := &endpoint{server: s, handler: s.rpc, spoken: v10, rpc: true, old: s.oldRPC}
	routes = append(routes, s.bindingRoutes(at, rpc, &endpoint{server: s, handler: s.rest, spoken: v10})...)
	if s.settings.V03 {
		rpc := &endpoint{server: s, handler: s.oldRPC, spoken: v03, rpc: true}
		routes = append(routes, s.bindingRoutes(at+"/v0.3", rpc, &endpoint{server: s, handler: s.oldREST, spoken: v03})...)
	}
	return routes
}

// bindingRoutes returns the routes of JSON-RPC at an address and of HTTP+JSON below it. Clients
// that join addresses may add a slash to the former, which is equivalent.
func (s *Server) bindingRoutes(at string, rpc, rest *endpoint) []server.Route {
	post, below := s.newRoute("POST "+at, rpc), s.newRoute(at+"/{path...}", rest)
	only := s.postOnly(at) // else the router would redirect
	below.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.PathValue("path") != "":
			rest.ServeHTTP(w, r)
		case r.Method == http.MethodPost:
			rpc.ServeHTTP(w, r)
		default:
			only.Handler.ServeHTTP(w, r)
		}
	})
	return []server.Route{post, below, only}
}

// newRoute returns a route that may be a stream: in JSON-RPC the body decides.
func (s *Server) newRoute(pattern string, e *endpoint) server.Route {
	return server.Route{Pattern: pattern, Handler: e, Scope: s.settings.Scope, Stream: true}
}

// postOnly rejects requests to a JSON-RPC address that use another method.
func (s *Server) postOnly(pattern string) server.Route {
	return server.Route{Pattern: pattern, Scope: s.settings.Scope, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", http.MethodPost)
		writeProblem(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "requests are made with POST; the card is at .well-known/agent-card.json")
	})}
}

func (s *Server) rootCard(w http.ResponseWriter, r *http.Request) {
	s.serveCard(w, r, s.defaultAgent())
}

func (s *Server) agentCard(w http.ResponseWriter, r *http.Request) {
	s.serveCard(w, r, r.PathValue("agent"))
}
