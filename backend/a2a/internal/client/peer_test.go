package a2abackend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/spec"
)

// host is a server that has an agent card, and answers calls as a test says.
type host struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	card     func(w http.ResponseWriter, r *http.Request)
	call     func(w http.ResponseWriter, r *http.Request)
	requests []*http.Request
}

// newHost returns a host with a card that is right and calls that find no task.
func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, call: taskNotFound}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	h.card = func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, cardOf(h.URL)) }
	return h
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	answer := h.call
	if strings.HasSuffix(r.URL.Path, wellKnown) {
		answer = h.card
	}
	h.requests = append(h.requests, r.Clone(context.Background()))
	h.mu.Unlock()
	answer(echoID(w, r), r)
}

// sameID stands in the answers of tests for the id of the request.
const sameID = "the id of the request"

// echoing writes the id of a request in place of sameID.
type echoing struct {
	http.ResponseWriter
	id []byte
}

// echoID returns a writer of the answer to a request. It reads the request's body
// and puts it back.
func echoID(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	data, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(data))
	var call struct {
		ID json.RawMessage `json:"id"`
	}
	if err != nil || json.Unmarshal(data, &call) != nil || len(call.ID) == 0 {
		return w
	}
	return &echoing{w, call.ID}
}

func (e *echoing) Write(p []byte) (int, error) {
	if _, err := e.ResponseWriter.Write(bytes.ReplaceAll(p, []byte(`"`+sameID+`"`), e.id)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (e *echoing) Unwrap() http.ResponseWriter { return e.ResponseWriter }

func (h *host) answer(card, call http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if card != nil {
		h.card = card
	}
	if call != nil {
		h.call = call
	}
}

// seen returns the requests so far.
func (h *host) seen() []*http.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*http.Request(nil), h.requests...)
}

// endpoint returns the host's endpoint with options.
func (h *host) endpoint(options string) *spec.Endpoint {
	h.t.Helper()
	e := &spec.Endpoint{BaseURL: h.URL}
	if options != "" {
		if err := json.Unmarshal([]byte(options), &e.Options); err != nil {
			h.t.Fatal(err)
		}
	}
	return e
}

// reach returns the peer of an endpoint.
func reach(t *testing.T, e *spec.Endpoint) *peer {
	t.Helper()
	if list := append(e.Validate(), NewFactory(Settings{}).Validate(e)...); len(list) != 0 {
		t.Fatal(list)
	}
	p, err := newPeer(e, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// cardOf returns the card of an agent that is reached by JSON-RPC at a URL.
func cardOf(url string) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: "Translator", Description: "Translates.", Version: "1",
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Capabilities:        a2a.AgentCapabilities{Streaming: true},
		Skills:              []a2a.AgentSkill{{ID: "translate", Name: "Translate", Description: "Translates.", Tags: []string{"text"}}},
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(url, a2a.TransportProtocolJSONRPC)},
	}
}

// rpcAnswer answers a JSON-RPC call with a result or an error.
func rpcAnswer(field, value string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%q,%q:%s}`, sameID, field, value)
	}
}

func taskNotFound(w http.ResponseWriter, r *http.Request) {
	rpcAnswer("error", `{"code":-32001,"message":"no such task"}`)(w, r)
}

func getTask(t *testing.T, p *peer) error {
	t.Helper()
	conn, err := p.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.client.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "x"})
	return err
}

func TestAConnectionIsAsTheCardSays(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	p := reach(t, h.endpoint(""))
	conn, err := p.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if conn.card.Name != "Translator" || conn.iface.URL != h.URL || !conn.streaming || conn.extension {
		t.Errorf("the connection is %+v", conn)
	}
	if err := getTask(t, p); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("error is %v", err)
	}
	requests := h.seen()
	if len(requests) != 2 || requests[0].Method != http.MethodGet || requests[1].Header.Get("A2A-Version") != "1.0" {
		t.Errorf("%d requests", len(requests))
	}
}

func TestTheConfigurationCanWantNoStream(t *testing.T) {
	t.Parallel()
	conn, err := reach(t, newHost(t).endpoint(`{"stream":false}`)).connect(t.Context())
	if err != nil || conn.streaming {
		t.Errorf("the connection streams, %v", err)
	}
}

func TestTheExtensionIsNamedWhereItIsKnown(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	card := cardOf(h.URL)
	card.Capabilities.Extensions = []a2a.AgentExtension{{URI: "https://other.example"}, a2awire.Declaration()}
	h.answer(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, card) }, nil)
	p := reach(t, h.endpoint(""))
	_ = getTask(t, p)
	if got := h.seen()[1].Header.Values("A2A-Extensions"); len(got) != 1 || got[0] != a2awire.Extension {
		t.Errorf("the call names the extensions %q", got)
	}
}

func TestACardIsWhereTheConfigurationSays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ base, target, cardURL, want string }{
		{"https://a.example", "", "", "https://a.example/.well-known/agent-card.json"},
		{"https://a.example/agents/", "", "", "https://a.example/agents/.well-known/agent-card.json"},
		{"https://a.example/agents", "one", "", "https://a.example/agents/one/.well-known/agent-card.json"},
		{"https://a.example", "a/../b c", "", "https://a.example/a%2F..%2Fb%20c/.well-known/agent-card.json"},
		{"https://a.example/agents", "one", "/card.json", "https://a.example/card.json"},
		{"https://a.example", "", "https://b.example/x?v=1", "https://b.example/x?v=1"},
	} {
		o := defaultOptions()
		o.cardURL = tt.cardURL
		got, err := cardLocation(&spec.Endpoint{BaseURL: tt.base, Target: tt.target}, &o)
		if err != nil || got.String() != tt.want {
			t.Errorf("%+v: %v, %v", tt, got, err)
		}
	}
}

func TestACallShowsWhoAsks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		auth spec.Auth
		want func(*http.Request) string
	}{
		"bearer": {spec.Auth{Type: spec.AuthBearer, Token: "hush"}, func(r *http.Request) string {
			return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		}},
		"key":       {spec.Auth{Type: spec.AuthAPIKey, Key: "hush"}, func(r *http.Request) string { return r.Header.Get("X-API-Key") }},
		"parameter": {spec.Auth{Type: spec.AuthAPIKey, Key: "hush", In: "query", Name: "key"}, func(r *http.Request) string { return r.URL.Query().Get("key") }},
	} {
		h := newHost(t)
		e := h.endpoint("")
		e.Auth = &tt.auth
		if err := getTask(t, reach(t, e)); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		for _, r := range h.seen() {
			if tt.want(r) != "hush" {
				t.Errorf("%s: %s %s carries no credential", name, r.Method, r.URL.Path)
			}
		}
	}
}

// issuer gives token-1, token-2 and so on.
func issuer(t *testing.T) string {
	t.Helper()
	var mu sync.Mutex
	given := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		given++
		writeJSON(w, map[string]any{"access_token": fmt.Sprintf("token-%d", given), "token_type": "bearer", "expires_in": 3600})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestARefusedTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.answer(nil, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token-2" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="agents", error="invalid_token"`)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"message":"%s is no good"}`, r.Header.Get("Authorization"))
			return
		}
		taskNotFound(w, r)
	})
	e := h.endpoint("")
	e.Auth = &spec.Auth{Type: spec.AuthClientCredentials, TokenURL: issuer(t), ClientID: "me", ClientSecret: "hush"}
	p := reach(t, e)
	if err := getTask(t, p); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Fatal(err)
	}
	if n := len(h.seen()); n != 3 {
		t.Errorf("%d requests", n)
	}

	h.answer(nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="agents"`)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"message":"%s is no good"}`, r.Header.Get("Authorization"))
	})
	err := getTask(t, p)
	refused, ok := errors.AsType[*HTTPError](err)
	if !ok || refused.Status != http.StatusUnauthorized || refused.WWWAuthenticate != `Bearer realm="agents"` {
		t.Errorf("error is %v", err)
	}
	if strings.Contains(err.Error(), "token-") {
		t.Errorf("the error shows a token: %v", err)
	}
	if n := len(h.seen()); n != 5 {
		t.Errorf("%d requests", n)
	}
}

// A card may name any URL; the credential goes to the origins that the
// configuration names.
func TestATokenGoesToNoOtherOrigin(t *testing.T) {
	t.Parallel()
	other := newHost(t)
	h := newHost(t)
	h.answer(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, cardOf(other.URL)) }, nil)
	e := h.endpoint("")
	e.Auth = &spec.Auth{Type: spec.AuthBearer, Token: "hush"}
	_, err := reach(t, e).connect(t.Context())
	if _, ok := errors.AsType[*CardError](err); !ok || !strings.Contains(err.Error(), "allow_origins") {
		t.Errorf("error is %v", err)
	}

	elsewhere := &spec.Endpoint{BaseURL: other.URL, Auth: e.Auth, Options: map[string]json.RawMessage{
		"card_url": json.RawMessage(`"` + h.URL + wellKnown + `"`),
	}}
	if err := getTask(t, reach(t, elsewhere)); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Fatal(err)
	}
	if last := h.seen()[1]; last.Header.Get("Authorization") != "" {
		t.Error("the token went to where the card is")
	}
	if n := len(other.seen()); n != 1 {
		t.Errorf("%d requests to the other origin", n)
	}

	e.Options = map[string]json.RawMessage{"allow_origins": json.RawMessage(`["` + other.URL + `"]`)}
	if err := getTask(t, reach(t, e)); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Fatal(err)
	}
	if other.seen()[1].Header.Get("Authorization") != "Bearer hush" {
		t.Error("an allowed origin gets no token")
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	other := newHost(t)
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/secret?token=1", http.StatusTemporaryRedirect)
	}
	h := newHost(t)
	e := h.endpoint("")
	e.Auth = &spec.Auth{Type: spec.AuthBearer, Token: "hush"}
	p := reach(t, e)
	_, err := p.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.answer(nil, redirect)
	err = getTask(t, p)
	refused, ok := errors.AsType[*HTTPError](err)
	if !ok || refused.Status != http.StatusTemporaryRedirect || !strings.Contains(err.Error(), other.URL+" is not followed") || strings.Contains(err.Error(), "token=1") {
		t.Errorf("error is %v", err)
	}
	h.answer(redirect, nil)
	if _, err := reach(t, e).connect(t.Context()); err == nil {
		t.Error("a card was found behind a redirect")
	}
	if len(other.seen()) != 0 {
		t.Error("the redirect was followed")
	}
}

// What came with a request to this runtime stays here; the trace goes on.
func TestInboundCredentialsStayHere(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	p := reach(t, h.endpoint(""))
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: [16]byte{1}, SpanID: [8]byte{2}, TraceFlags: trace.FlagsSampled})
	ctx := trace.ContextWithSpanContext(t.Context(), parent)
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, strings.NewReader("{}"))
	for _, name := range []string{"Authorization", "Cookie", "Proxy-Authorization", "Baggage"} {
		req.Header.Set(name, "hush")
	}
	resp, err := p.http.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	got := h.seen()[0]
	for name, values := range got.Header {
		if strings.Contains(strings.Join(values, " "), "hush") {
			t.Errorf("header %s went on", name)
		}
	}
	if want := "00-01000000000000000000000000000000-0200000000000000-01"; got.Header.Get("Traceparent") != want {
		t.Errorf("traceparent is %q", got.Header.Get("Traceparent"))
	}
	if req.Header.Get("Authorization") != "hush" {
		t.Error("the caller's request was changed")
	}
}

// A name that resolves to a private address is refused when it is dialled: what
// an earlier lookup found does not matter.
func TestANameDoesNotLeadToAPrivateAddress(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(h.URL, "http://"), ":")
	guard, err := newGuard(&spec.Endpoint{BaseURL: "http://peer.example:" + port}, new(defaultOptions()))
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"localhost:" + port, "127.0.0.1:" + port, "10.0.0.1:443", "169.254.169.254:80"} {
		conn, err := guard.DialContext(t.Context(), "tcp", address)
		if _, blocked := errors.AsType[*netguard.BlockedError](err); !blocked {
			_ = conn.Close()
			t.Errorf("dialling %s: %v", address, err)
		}
	}
	if n := len(h.seen()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestHostsThatAreMeant(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST.": true, "a.localhost": true, "127.0.0.1": true, "10.1.2.3": true, "::1": true, "8.8.8.8": true,
		"localhost.example": false, "peer.example": false, "127.0.0.1.example": false, "": false,
	} {
		if meant(host) != want {
			t.Errorf("%q: %t", host, !want)
		}
	}
}

func TestSoManyTurnsRunAtAPeer(t *testing.T) {
	t.Parallel()
	p := reach(t, newHost(t).endpoint(`{"concurrency":2}`))
	first, err1 := p.enter(t.Context())
	_, err2 := p.enter(t.Context())
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrUnexpectedEOF)
	if _, err := p.enter(ctx); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a third turn entered: %v", err)
	}
	first()
	if _, err := p.enter(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestARefusedCallHasTheCardFetchedAnew(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		want int
	}{
		"not found":          {&HTTPError{Status: 404}, 2},
		"gone":               {fmt.Errorf("call: %w", &HTTPError{Status: 410}), 2},
		"redirected":         {&HTTPError{Status: 308}, 2},
		"another version":    {a2a.NewError(a2a.ErrVersionNotSupported, "no"), 2},
		"an unknown task":    {&HTTPError{Status: 404, Err: a2a.ErrTaskNotFound}, 1},
		"an unavailable one": {&HTTPError{Status: 503}, 1},
		"nothing":            {nil, 1},
	} {
		h := newHost(t)
		p := reach(t, h.endpoint(""))
		for range 2 {
			if _, err := p.connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.refuse(tt.err)
		}
		if n := len(h.seen()); n != tt.want {
			t.Errorf("%s: the card was fetched %d times", name, n)
		}
	}
}

func TestWhatAPeerSaysIsShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	e := newHost(t).endpoint("")
	e.Auth = &spec.Auth{Type: spec.AuthBearer, Token: "hush-hush"}
	p := reach(t, e)
	if got := p.shown("your token hush-hush\x1b[31m is\nwrong\u202e", 100); got != "your token ***[31m is wrong" {
		t.Errorf("shown %q", got)
	}
	if got := p.shown(strings.Repeat("ä", 100), 20); len(got) > 20 || !strings.HasSuffix(got, "…") {
		t.Errorf("shown %q", got)
	}
}

func TestDialEndsWithTheContext(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.answer(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := reach(t, h.endpoint("")).connect(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
}
