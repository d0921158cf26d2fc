package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/openapitest"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/agentruntime/agentruntime/service"
)

// routes is a surface of a test.
type routes []server.Route

// Routes returns the routes.
func (r routes) Routes() []server.Route { return r }

// OpenAPI describes the routes, each of which may answer anything.
func (r routes) OpenAPI() []byte { return describing("Test", r) }

// describing returns the description of routes that may answer anything.
func describing(title string, routes []server.Route) []byte {
	type object = map[string]any
	anything := object{"description": "Anything.", "content": object{"*/*": object{"schema": true}}}
	paths := map[string]object{}
	for _, route := range routes {
		method, path, _ := strings.Cut(route.Pattern, " ")
		parameters := []object{{"name": "query", "in": "query", "schema": object{"type": "object"}}}
		for _, match := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
			parameters = append(parameters, object{"name": match[1], "in": "path", "required": true, "schema": object{"type": "string"}})
		}
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(method)] = object{
			"parameters": parameters, "responses": object{"200": anything},
			"requestBody": object{"content": object{"*/*": object{"schema": true}}},
		}
	}
	text, err := json.Marshal(object{
		"openapi": "3.1.0", "info": object{"title": title, "version": "1"}, "paths": paths,
		"components": object{"responses": object{"Error": anything}},
	})
	if err != nil {
		panic(err)
	}
	return text
}

// echo answers with who asks.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	p, ok := server.PrincipalFrom(r.Context())
	if !ok {
		_, _ = io.WriteString(w, "nobody")
		return
	}
	_, _ = io.WriteString(w, p.Caller.Tenant+"/"+p.Caller.Subject)
})

// The keys of the tests.
const (
	goodKey    = "ark_good-good-good-good"
	scopedKey  = "ark_scoped-scoped-scoped"
	expiredKey = "ark_expired-expired-expired"
)

var newYear = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// keys accepts goodKey, scopedKey without any scope, and no longer expiredKey.
func keys() *auth.Keys {
	of := func(id string, scopes []string) *server.Principal {
		return &server.Principal{Caller: service.Caller{Tenant: "acme", Subject: id, Scopes: scopes}, KeyID: id, AuthSource: "api_key"}
	}
	return auth.NewKeys([]auth.Key{
		{Hash: auth.HashKey(goodKey), Principal: of("good", nil)},
		{Hash: auth.HashKey(scopedKey), Principal: of("scoped", []string{})},
		{Hash: auth.HashKey(expiredKey), Principal: of("expired", nil), Expires: newYear.AddDate(-1, 0, 0)},
	}, func() time.Time { return newYear })
}

// running is a server at work.
type running struct {
	*server.Server
	conns *pipes
	stop  context.CancelFunc
	ended chan error
}

// start serves the routes until the test ends. In a bubble its time is that of the
// bubble, because the connections are pipes.
func start(t *testing.T, settings server.Settings, mounted ...server.Route) *running {
	t.Helper()
	s, err := server.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Mount(t.Context(), routes(mounted)); err != nil {
		t.Fatal(err)
	}
	r := &running{Server: s, conns: newPipes(), ended: make(chan error, 1)}
	s.ListenOn(r.conns)
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.ended <- s.Serve(ctx) }()
	t.Cleanup(func() { r.end(t) })
	return r
}

// end stops the server and waits for it.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		t.Errorf("serve: %v", err)
	}
	r.ended <- nil // for who asks again
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// dial opens a connection.
func (r *running) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := r.conns.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// client returns a client of the server. Its connections end with the test.
func (r *running) client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return r.conns.dial() }}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
	// last is set if the connection is closed after it.
	last bool
}

// ask sends a request, and holds it and the answer against the description of the
// server: a method and a path, and headers as name, value.
func (r *running) ask(t *testing.T, request, body string, headers ...string) answer {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	client := r.client(t)
	client.Transport = openapitest.Transport(t, client.Transport, r.OpenAPI)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text), resp.Close}
}

// raw sends bytes and reads the answer to them. The error is that of its body.
func raw(t *testing.T, c net.Conn, text string) (answer, error) {
	t.Helper()
	go func() { _, _ = io.WriteString(c, text) }() // the server may end it before it has read all
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body), resp.Close}, err
}

// pipes is a listener whose connections are pipes.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

// Accept returns the other end of what dial returns.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close ends accepting.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr is a loopback address.
func (*pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial() (net.Conn, error) {
	client, served := net.Pipe()
	select {
	case p.conns <- served:
		return client, nil
	case <-p.done:
		return nil, errors.New("connection refused")
	}
}
