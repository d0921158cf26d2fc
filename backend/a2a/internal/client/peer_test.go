package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/spec"
)

// reach returns the peer of an endpoint.
func reach(t *testing.T, e *spec.Endpoint) *Peer {
	t.Helper()
	if list := append(e.Validate(), Validate(e)...); len(list) != 0 {
		t.Fatal(list)
	}
	p, err := New(e, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func getTask(t *testing.T, p *Peer) error {
	t.Helper()
	conn, err := p.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Client.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "x"})
	return err
}

func TestAConnectionIsAsTheCardSays(t *testing.T) {
	t.Parallel()
	h := peertest.NewHost(t)
	p := reach(t, h.Endpoint(""))
	conn, err := p.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if conn.Card.Name != "Translator" || conn.Iface.URL != h.URL || !conn.Streaming || conn.Extension {
		t.Errorf("the connection is %+v", conn)
	}
	if err := getTask(t, p); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("error is %v", err)
	}
	requests := h.Seen()
	if len(requests) != 2 || requests[0].Method != http.MethodGet || requests[1].Header.Get("A2A-Version") != "1.0" {
		t.Errorf("%d requests", len(requests))
	}
}

func TestTheConfigurationCanWantNoStream(t *testing.T) {
	t.Parallel()
	conn, err := reach(t, peertest.NewHost(t).Endpoint(`{"stream":false}`)).Connect(t.Context())
	if err != nil || conn.Streaming {
		t.Errorf("the connection streams, %v", err)
	}
}

func TestTheExtensionIsNamedWhereItIsKnown(t *testing.T) {
	t.Parallel()
	h := peertest.NewHost(t)
	card := peertest.CardOf(h.URL)
	card.Capabilities.Extensions = []a2a.AgentExtension{{URI: "https://other.example"}, a2awire.Declaration()}
	h.Answer(func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, card) }, nil)
	p := reach(t, h.Endpoint(""))
	_ = getTask(t, p)
	if got := h.Seen()[1].Header.Values("A2A-Extensions"); len(got) != 1 || got[0] != a2awire.Extension {
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
		o.Card.URL = tt.cardURL
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
		h := peertest.NewHost(t)
		e := h.Endpoint("")
		e.Auth = &tt.auth
		if err := getTask(t, reach(t, e)); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		for _, r := range h.Seen() {
			if tt.want(r) != "hush" {
				t.Errorf("%s: %s %s carries no credential", name, r.Method, r.URL.Path)
			}
		}
	}
}

func TestARefusedTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	h := peertest.NewHost(t)
	h.Answer(nil, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token-2" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="agents", error="invalid_token"`)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"message":"%s is no good"}`, r.Header.Get("Authorization"))
			return
		}
		peertest.TaskNotFound(w, r)
	})
	e := h.Endpoint("")
	e.Auth = &spec.Auth{Type: spec.AuthClientCredentials, TokenURL: peertest.Issuer(t), ClientID: "me", ClientSecret: "hush"}
	p := reach(t, e)
	if err := getTask(t, p); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Fatal(err)
	}
	if n := len(h.Seen()); n != 3 {
		t.Errorf("%d requests", n)
	}

	h.Answer(nil, func(w http.ResponseWriter, r *http.Request) {
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
	if n := len(h.Seen()); n != 5 {
		t.Errorf("%d requests", n)
	}
}

// A card may name any URL; the credential goes only to the configured origins.
func TestATokenGoesToNoOtherOrigin(t *testing.T) {
	t.Parallel()
	other := peertest.NewHost(t)
	h := peertest.NewHost(t)
	h.Answer(func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, peertest.CardOf(other.URL)) }, nil)
	e := h.Endpoint("")
	e.Auth = &spec.Auth{Type: spec.AuthBearer, Token: "hush"}
	_, err := reach(t, e).Connect(t.Context())
	if _, ok := errors.AsType[*CardError](err); !ok || !strings.Contains(err.Error(), "allow_origins") {
		t.Errorf("error is %v", err)
	}

	elsewhere := &spec.Endpoint{BaseURL: other.URL, Auth: e.Auth, Options: map[string]json.RawMessage{
		"card_url": json.RawMessage(`"` + h.URL + WellKnown + `"`),
	}}
	if err := getTask(t, reach(t, elsewhere)); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Fatal(err)
	}
	if last := h.Seen()[1]; last.Header.Get("Authorization") != "" {
		t.Error("the token went to where the card is")
	}
	if n := len(other.Seen()); n != 1 {
		t.Errorf("%d requests to the other origin", n)
	}

	e.Options = map[string]json.RawMessage{"allow_origins": json.RawMessage(`["` + other.URL + `"]`)}
	if err := getTask(t, reach(t, e)); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Fatal(err)
	}
	if other.Seen()[1].Header.Get("Authorization") != "Bearer hush" {
		t.Error("an allowed origin gets no token")
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	other := peertest.NewHost(t)
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/secret?token=1", http.StatusTemporaryRedirect)
	}
	h := peertest.NewHost(t)
	e := h.Endpoint("")
	e.Auth = &spec.Auth{Type: spec.AuthBearer, Token: "hush"}
	p := reach(t, e)
	_, err := p.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.Answer(nil, redirect)
	err = getTask(t, p)
	refused, ok := errors.AsType[*HTTPError](err)
	if !ok || refused.Status != http.StatusTemporaryRedirect || !strings.Contains(err.Error(), other.URL+" is not followed") || strings.Contains(err.Error(), "token=1") {
		t.Errorf("error is %v", err)
	}
	h.Answer(redirect, nil)
	if _, err := reach(t, e).Connect(t.Context()); err == nil {
		t.Error("a redirect to a card was followed")
	}
	if len(other.Seen()) != 0 {
		t.Error("the redirect was followed")
	}
}

// Headers of a request to this runtime are not forwarded; the trace is.
func TestInboundCredentialsStayHere(t *testing.T) {
	t.Parallel()
	h := peertest.NewHost(t)
	p := reach(t, h.Endpoint(""))
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
	got := h.Seen()[0]
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

// A name that resolves to a private address is rejected when dialed, whatever an earlier lookup
// returned.
func TestANameDoesNotLeadToAPrivateAddress(t *testing.T) {
	t.Parallel()
	h := peertest.NewHost(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(h.URL, "http://"), ":")
	guard, err := newGuard(&spec.Endpoint{BaseURL: "http://peer.example:" + port}, new(defaultOptions()))
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"localhost:" + port, "127.0.0.1:" + port, "10.0.0.1:443", "169.254.169.254:80"} {
		conn, err := guard.DialContext(t.Context(), "tcp", address)
		if _, blocked := errors.AsType[*netguard.BlockedError](err); !blocked {
			_ = conn.Close()
			t.Errorf("dialing %s: %v", address, err)
		}
	}
	if n := len(h.Seen()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestHostsThatAreMeant(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST.": true, "a.localhost": true, "127.0.0.1": true, "10.1.2.3": true, "::1": true, "8.8.8.8": true,
		"localhost.example": false, "peer.example": false, "127.0.0.1.example": false, "": false,
	} {
		if NamesMachine(host) != want {
			t.Errorf("%q: %t", host, !want)
		}
	}
}

func TestSoManyTurnsRunAtAPeer(t *testing.T) {
	t.Parallel()
	p := reach(t, peertest.NewHost(t).Endpoint(`{"concurrency":2}`))
	first, err1 := p.Enter(t.Context())
	_, err2 := p.Enter(t.Context())
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrUnexpectedEOF)
	if _, err := p.Enter(ctx); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a third turn entered: %v", err)
	}
	first()
	if _, err := p.Enter(t.Context()); err != nil {
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
		h := peertest.NewHost(t)
		p := reach(t, h.Endpoint(""))
		for range 2 {
			if _, err := p.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.NoteError(tt.err)
		}
		if n := len(h.Seen()); n != tt.want {
			t.Errorf("%s: the card was fetched %d times", name, n)
		}
	}
}

func TestWhatAPeerSaysIsShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	e := peertest.NewHost(t).Endpoint("")
	e.Auth = &spec.Auth{Type: spec.AuthBearer, Token: "hush-hush"}
	p := reach(t, e)
	if got := p.Shown("your token hush-hush\x1b[31m is\nwrong\u202e", 100); got != "your token ***[31m is wrong" {
		t.Errorf("shown %q", got)
	}
	if got := p.Shown(strings.Repeat("ä", 100), 20); len(got) > 20 || !strings.HasSuffix(got, "…") {
		t.Errorf("shown %q", got)
	}
}

func TestDialEndsWithTheContext(t *testing.T) {
	t.Parallel()
	h := peertest.NewHost(t)
	h.Answer(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := reach(t, h.Endpoint("")).Connect(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
}

func TestNamesBecomeIDs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Translator": "translator", "Weather & Time Agent 2": "weather-time-agent-2", "--a__b--": "a-b",
		"": "weather", "!!!": "weather", "Übersetzer": "bersetzer", "日本": "weather", "a/b": "a-b",
		strings.Repeat("ab", 200): strings.Repeat("ab", 40),
	} {
		got := agentID(name, "https://a.example/agents/Weather/")
		if got != want || spec.CheckID("", "agent", got) != nil {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	if got := agentID("日本", "https://a.example/"); got != "agent" {
		t.Errorf("without a name and a path the id is %q", got)
	}
}
