package server

import (
	"net/http"
	"slices"
)

// cors lets pages of other sites use a server. It never allows browsers to send their credentials,
// such as cookies.
type cors struct {
	origins []string
	all     bool
}

// preflightAge is how long browsers may cache a preflight, in seconds.
const preflightAge = "600"

// exposedHeaders are the response headers that pages may read, in addition to the standard ones.
const exposedHeaders = "A2A-Extensions, Allow, ETag, Mcp-Session-Id, Retry-After, Warning, WWW-Authenticate, X-Genkit-Stream-Id, X-Next-After, X-Request-Id"

func newCORS(origins []string) *cors {
	return &cors{origins: origins, all: slices.Contains(origins, "*")}
}

// addHeaders adds the CORS headers to a response. It reports whether the request was a preflight,
// which it then answers.
func (c *cors) addHeaders(w http.ResponseWriter, r *http.Request) bool {
	if len(c.origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !c.all && !slices.Contains(c.origins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", exposedHeaders)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	h.Set("Access-Control-Max-Age", preflightAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}
