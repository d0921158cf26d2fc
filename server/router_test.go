package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/server"
)

// exposed are the routes of the credential tests: each of them answers with who
// asks.
var exposed = []server.Route{
	{Pattern: "GET /public", Handler: echo, Public: true},
	{Pattern: "POST /private", Handler: echo},
	{Pattern: "GET /stream/{id}", Handler: echo, Stream: true},
	{Pattern: "GET /scoped", Handler: echo, Scope: "things:read"},
}

func TestEveryRouteAnswersWhomItMayAndNobodyElse(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{Authenticator: keys(), Metrics: echo}, exposed...)
	credentials := map[string][]string{
		"none":     nil,
		"wrong":    {"Authorization", "Bearer ark_wrong"},
		"expired":  {"Authorization", "Bearer " + expiredKey},
		"no key":   {"Authorization", "Basic " + goodKey},
		"empty":    {"Authorization", "Bearer "},
		"two":      {"Authorization", "Bearer " + goodKey, "X-API-Key", goodKey},
		"scoped":   {"X-API-Key", scopedKey},
		"good":     {"Authorization", "Bearer " + goodKey},
		"good too": {"authorization", "bearer  " + goodKey},
		"header":   {"X-API-Key", goodKey},
	}
	for _, route := range s.Routes() {
		request := strings.NewReplacer("{id}", "17", "{$}", "").Replace(route.Pattern)
		for name, headers := range credentials {
			t.Run(route.Pattern+" "+name, func(t *testing.T) {
				t.Parallel()
				got := s.ask(t, request, "", headers...)
				good, known := strings.HasPrefix(name, "good") || name == "header", name == "scoped"
				want, challenge := http.StatusUnauthorized, `Bearer realm="agentruntime", error="invalid_token"`
				switch {
				case route.Public, good, known && route.Scope == "":
					want, challenge = http.StatusOK, ""
				case known:
					want, challenge = http.StatusForbidden, fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, route.Scope)
				case name == "none":
					challenge = `Bearer realm="agentruntime"`
				}
				if got.status != want || got.header.Get("WWW-Authenticate") != challenge {
					t.Errorf("status %d, challenge %s; want %d, %s", got.status, got.header.Get("WWW-Authenticate"), want, challenge)
				}
				if want != http.StatusOK && strings.Contains(got.body, "acme") {
					t.Errorf("the refusal says %s", got.body)
				}
			})
		}
	}
}

func TestEveryRouteNeedsAPrincipalUnlessItIsPublic(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{Authenticator: keys(), Metrics: echo}, exposed...)
	public := map[string]bool{"GET /healthz": true, "GET /readyz": true, "GET /openapi.json": true, "GET /{$}": true, "GET /public": true}
	for _, route := range s.Routes() {
		if route.Public != public[route.Pattern] {
			t.Errorf("%s is public: %v", route.Pattern, route.Public)
		}
	}
}

func TestAPublicRouteKnowsWhoShowsAGoodKey(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{Authenticator: keys()}, exposed...)
	for headers, want := range map[string]string{"Bearer " + goodKey: "acme/good", "Bearer other": "nobody", "Basic x": "nobody"} {
		if got := s.ask(t, "GET /public", "", "Authorization", headers); got.body != want {
			t.Errorf("%s is %s, want %s", headers, got.body, want)
		}
	}
}

// failing is an authenticator that cannot tell.
type failing struct{}

// Authenticate fails.
func (failing) Authenticate(*http.Request) (*server.Principal, error) {
	return nil, errors.New("the directory at 10.0.0.7 does not answer")
}

func TestWhatCannotBeCheckedIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{Authenticator: failing{}}, exposed...)
	got := s.ask(t, "POST /private", "", "Authorization", "Bearer "+goodKey)
	if got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "10.0.0.7") || got.header.Get("Retry-After") != "1" {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	if got := s.ask(t, "GET /public", ""); got.status != http.StatusOK {
		t.Errorf("the public route answers with %d", got.status)
	}
}

func TestErrorsOfTheRouterAreJSON(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{Authenticator: keys(), NewID: func() string { return "r1" }},
		append(exposed, server.Route{Pattern: "GET /panics", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the password is x") }), Public: true})...)
	for request, want := range map[string]string{
		"GET /nowhere":  `404 not_found no such route r1`,
		"PUT /private":  `405 method_not_allowed the method PUT is not allowed here r1`,
		"FROB /private": `405 method_not_allowed the method _OTHER is not allowed here r1`,
		"POST /private": `401 unauthorized a credential is needed: an API key, as bearer token or in X-API-Key r1`,
		"GET /panics":   `500 internal internal error; see the server log r1`,
	} {
		got := s.ask(t, request, "")
		var shown struct {
			Error struct {
				Code, Message string
				RequestID     string `json:"request_id"`
			}
		}
		if err := json.Unmarshal([]byte(got.body), &shown); err != nil {
			t.Fatalf("%s: %v in %s", request, err, got.body)
		}
		if text := fmt.Sprint(got.status, " ", shown.Error.Code, " ", shown.Error.Message, " ", shown.Error.RequestID); text != want {
			t.Errorf("%s gives %s\nwant %s", request, text, want)
		}
		if got.header.Get("Content-Type") != "application/json" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s has the headers %v", request, got.header)
		}
	}
	if got := s.ask(t, "PUT /private", ""); got.header.Get("Allow") != "POST" {
		t.Errorf("allowed is %q", got.header.Get("Allow"))
	}
}

// TestEncodedBodiesAreRejected sends bodies with and without a Content-Encoding. The handler does
// not see encoded ones.
func TestEncodedBodiesAreRejected(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{}, server.Route{Pattern: "POST /x", Public: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})})
	for _, tt := range []struct {
		body    string
		codings []string
		status  int
		text    string
	}{
		{"{}", nil, 200, "{}"},
		{"{}", []string{"identity"}, 200, "{}"},
		{"{}", []string{"Identity"}, 200, "{}"},
		{"", []string{"gzip"}, 200, ""},
		{"{}", []string{"gzip"}, 415, `the body has the Content-Encoding \"gzip\"; it must not be encoded`},
		{"{}", []string{"br"}, 415, `\"br\"`},
		{"{}", []string{"identity", "zstd"}, 415, `\"identity, zstd\"`},
		{"{}", []string{strings.Repeat("x", 1000)}, 415, "x…"},
	} {
		var header []string
		for _, coding := range tt.codings {
			header = append(header, "Content-Encoding", coding)
		}
		got := s.ask(t, "POST /x", tt.body, header...)
		if got.status != tt.status || !strings.Contains(got.body, tt.text) || (tt.status == 415) != (got.header.Get("Accept-Encoding") == "identity") {
			t.Errorf("%q: %d %v %s", tt.codings, got.status, got.header, got.body)
		}
	}
}

// tersely is a surface with errors of its own.
type tersely struct{ routes }

// WriteError writes a code alone.
func (tersely) WriteError(w http.ResponseWriter, _ *http.Request, e *server.Error) {
	w.WriteHeader(e.Status)
	_, _ = io.WriteString(w, e.Code+" "+e.RequestID)
}

func TestASurfaceMayHaveErrorsOfItsOwn(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{Authenticator: keys(), NewID: func() string { return "r1" }})
	if err := s.Mount(t.Context(), tersely{append(slices.Clip(exposed), server.Route{Pattern: "GET /things/{id}", Handler: echo})}); err != nil {
		t.Fatal(err)
	}
	if got := s.ask(t, "GET /scoped", "", "X-API-Key", scopedKey); got.body != "insufficient_scope r1" || got.status != http.StatusForbidden {
		t.Errorf("%d %s", got.status, got.body)
	}
	for request, want := range map[string]string{
		"PUT /scoped": "method_not_allowed r1", "PUT /things/1": "method_not_allowed r1", "GET /things/1/parts": "not_found r1",
		"GET /scopedly": `{"error":{"code":"not_found","message":"no such route","request_id":"r1"}}` + "\n",
	} {
		if got := s.ask(t, request, ""); got.body != want {
			t.Errorf("%s gives %q, want %q", request, got.body, want)
		}
	}
}

// TestUnknownPathsBelowASurfaceHaveItsErrors: what its routes have in common is its own.
func TestUnknownPathsBelowASurfaceHaveItsErrors(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{Authenticator: keys(), NewID: func() string { return "r1" }})
	var routes []server.Route
	for _, path := range []string{"/api/v1/agent/things", "/api/v1/agent/others/{id}", "/api/v1/auth/info"} {
		routes = append(routes, server.Route{Pattern: "GET " + path, Handler: echo})
	}
	if err := s.Mount(t.Context(), tersely{routes}); err != nil {
		t.Fatal(err)
	}
	const own, servers = "not_found r1", `{"error":{"code":"not_found","message":"no such route","request_id":"r1"}}` + "\n"
	for path, want := range map[string]string{
		"/api/v1/agent/nothing": own, "/api/v1/agent/": own, "/api/v1/nothing/at/all": own,
		"/api/v2": servers, "/api/v1": servers, "/nothing": servers,
	} {
		if got := s.ask(t, "GET "+path, ""); got.body != want || got.status != http.StatusNotFound {
			t.Errorf("%s gives %d %q, want %q", path, got.status, got.body, want)
		}
	}
}

func TestPatternsThatCannotBeMounted(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"", "GET healthz", "GET /healthz", "GET /{a}/{a}"} {
		s, err := server.New(server.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Mount(t.Context(), routes{{Pattern: pattern, Handler: echo}}); err == nil {
			t.Errorf("%q was mounted", pattern)
		}
	}
}

func TestAPanicInTheMiddleOfAResponseClosesTheConnection(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{}, server.Route{Pattern: "GET /half", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic("no more")
	})})
	if got, err := raw(t, s.dial(t), "GET /half HTTP/1.1\r\nHost: localhost\r\n\r\n"); err == nil || got.body != "half" {
		t.Errorf("the response %q looks whole: %v", got.body, err)
	}
}

func TestAnAmbiguousQueryIsRejected(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{}, server.Route{Pattern: "GET /things", Public: true, Handler: echo}.WithQuery("dry_run", "limit"),
		server.Route{Pattern: "GET /any", Public: true, Handler: echo})
	for query, want := range map[string]string{
		"dry_run=true&limit=1":        "",
		"dry_run=true&dry_run=false":  "dry_run is given more than once",
		"limit=1&limit=1":             "limit is given more than once",
		"dry_run=true;limit=1":        "query cannot be read",
		"dry_run=%zz":                 "query cannot be read",
		"dryrun=true&dryrun=true":     `dryrun: unknown parameter; did you mean \"dry_run\"?`,
		"dry_run=true&limit=1&offset": "offset: unknown parameter",
	} {
		got, err := raw(t, s.dial(t), "GET /things?"+query+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		if ok := got.status == http.StatusOK; ok != (want == "") || !ok && (got.status != http.StatusBadRequest || !strings.Contains(got.body, want)) {
			t.Errorf("%s gives %d %s, want %s", query, got.status, got.body, want)
		}
		if got, err := raw(t, s.dial(t), "GET /any?"+query+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil || got.status != http.StatusOK {
			t.Errorf("%s gives %d %s, %v where any query is allowed", query, got.status, got.body, err)
		}
	}
}
