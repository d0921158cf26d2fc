package peertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/spec"
)

// wellKnownCard is the path of a host's card.
const wellKnownCard = "/.well-known/agent-card.json"

// Host is a server that has an agent card, and answers calls as the test specifies.
type Host struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	card     func(w http.ResponseWriter, r *http.Request)
	call     func(w http.ResponseWriter, r *http.Request)
	requests []*http.Request
}

// NewHost returns a host with a valid card whose calls find no task.
func NewHost(t testing.TB) *Host {
	t.Helper()
	h := &Host{t: t, call: TaskNotFound}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	h.card = func(w http.ResponseWriter, _ *http.Request) { WriteJSON(w, CardOf(h.URL)) }
	return h
}

func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	answer := h.call
	if strings.HasSuffix(r.URL.Path, wellKnownCard) {
		answer = h.card
	}
	h.requests = append(h.requests, r.Clone(context.Background()))
	h.mu.Unlock()
	answer(EchoID(w, r), r)
}

// SameID is a placeholder for the request's id in the answers of tests.
const SameID = "the id of the request"

// echoing replaces SameID with the id of a request.
type echoing struct {
	http.ResponseWriter
	id []byte
}

// EchoID returns a writer for the answer to a request. It reads the request's body and restores it.
func EchoID(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
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
	if _, err := e.ResponseWriter.Write(bytes.ReplaceAll(p, []byte(`"`+SameID+`"`), e.id)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (e *echoing) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// Answer sets the handlers for card requests and for calls; nil leaves a handler unchanged.
func (h *Host) Answer(card, call http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if card != nil {
		h.card = card
	}
	if call != nil {
		h.call = call
	}
}

// Seen returns the requests so far.
func (h *Host) Seen() []*http.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*http.Request(nil), h.requests...)
}

// Endpoint returns the host's endpoint with options.
func (h *Host) Endpoint(options string) *spec.Endpoint {
	h.t.Helper()
	e := &spec.Endpoint{BaseURL: h.URL}
	if options != "" {
		if err := json.Unmarshal([]byte(options), &e.Options); err != nil {
			h.t.Fatal(err)
		}
	}
	return e
}

// WriteJSON answers with a value.
func WriteJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// CardOf returns the card of an agent that is reachable by JSON-RPC at a URL.
func CardOf(url string) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: "Translator", Description: "Translates.", Version: "1",
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Capabilities:        a2a.AgentCapabilities{Streaming: true},
		Skills:              []a2a.AgentSkill{{ID: "translate", Name: "Translate", Description: "Translates.", Tags: []string{"text"}}},
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(url, a2a.TransportProtocolJSONRPC)},
	}
}

// RPCAnswer answers a JSON-RPC call with a result or an error.
func RPCAnswer(field, value string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%q,%q:%s}`, SameID, field, value)
	}
}

// TaskNotFound answers that the task does not exist.
func TaskNotFound(w http.ResponseWriter, r *http.Request) {
	RPCAnswer("error", `{"code":-32001,"message":"no such task"}`)(w, r)
}

// Listing returns a host that answers the request for its list, and one for a
// card, as the test says; calls go to it, too.
func Listing(t testing.TB, list http.HandlerFunc) *Host {
	t.Helper()
	h := NewHost(t)
	h.Answer(nil, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/.well-known/agents.json") || r.URL.Path == "/discovery" {
			list(w, r)
			return
		}
		TaskNotFound(w, r)
	})
	return h
}

// Named returns the card of an agent with a name.
func Named(name, url string) *a2a.AgentCard {
	card := CardOf(url)
	card.Name = name
	return card
}

// Source returns the host as a source of agents.
func (h *Host) Source(options string) *spec.RemoteSource {
	return &spec.RemoteSource{
		Name: "cloud", BaseURL: h.URL, Auth: &spec.Auth{Type: spec.AuthBearer, Token: "hush-hush"}, Options: h.Endpoint(options).Options,
	}
}

// Issuer issues token-1, token-2 and so on.
func Issuer(t testing.TB) string {
	t.Helper()
	var mu sync.Mutex
	given := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		given++
		WriteJSON(w, map[string]any{"access_token": fmt.Sprintf("token-%d", given), "token_type": "bearer", "expires_in": 3600})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// AnswersOf holds a peer's JSON-RPC answers to one request: whether each is acceptable, and its
// error otherwise.
var AnswersOf = map[string]struct {
	Answer string
	// Wrong is set for a rejected answer, and foreign for one rejected because of its id.
	Wrong, Foreign bool
}{
	"the id":                      {Answer: `{"jsonrpc":"2.0","id":"` + SameID + `","result":RESULT}`},
	"the id, after the result":    {Answer: `{"result":RESULT,"jsonrpc":"2.0","id":"` + SameID + `"}`},
	"another id":                  {Answer: `{"jsonrpc":"2.0","id":"another","result":RESULT}`, Wrong: true, Foreign: true},
	"another id of an error":      {Answer: `{"jsonrpc":"2.0","id":"another","error":{"code":-32001,"message":"x"}}`, Wrong: true, Foreign: true},
	"another id, then more":       {Answer: `{"jsonrpc":"2.0","id":"another","result":RESULT} {}`, Wrong: true, Foreign: true},
	"two ids, the last another":   {Answer: `{"jsonrpc":"2.0","id":"` + SameID + `","id":"another","result":RESULT}`, Wrong: true, Foreign: true},
	"no id":                       {Answer: `{"jsonrpc":"2.0","result":RESULT}`, Wrong: true, Foreign: true},
	"the id null":                 {Answer: `{"jsonrpc":"2.0","id":null,"result":RESULT}`, Wrong: true, Foreign: true},
	"the id null, and no error":   {Answer: `{"jsonrpc":"2.0","id":null,"error":null,"result":RESULT}`, Wrong: true, Foreign: true},
	"an id that is a number":      {Answer: `{"jsonrpc":"2.0","id":1,"result":RESULT}`, Wrong: true, Foreign: true},
	"an id that is an object":     {Answer: `{"jsonrpc":"2.0","id":{"id":"` + SameID + `"},"result":RESULT}`, Wrong: true, Foreign: true},
	"an id that is a list":        {Answer: `{"jsonrpc":"2.0","id":["` + SameID + `"],"result":RESULT}`, Wrong: true, Foreign: true},
	"a batch":                     {Answer: `[{"jsonrpc":"2.0","id":"` + SameID + `","result":RESULT}]`, Wrong: true},
	"an error without an id":      {Answer: `{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}`, Wrong: true},
	"an error with the id null":   {Answer: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, Wrong: true},
	"an error with the same id":   {Answer: `{"jsonrpc":"2.0","id":"` + SameID + `","error":{"code":-32700,"message":"x"}}`, Wrong: true},
	"an answer that is cut short": {Answer: `{"jsonrpc":"2.0","id":"` + SameID + `","result":`, Wrong: true},
}

// PublicKey is a key for verifying signatures.
const PublicKey = `{"kty":"EC","kid":"k","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}`
