package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sync/errgroup"
)

// ordinary are the results of a server with every feature, by method.
var ordinary = map[string]string{
	"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"logging":{}},` +
		`"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x","version":"1"}}}`,
	"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"logging":{},"tasks":{"requests":{"tools":{"call":{}}}}},` +
		`"serverInfo":{"name":"x","version":"1"},"instructions":"x"}`,
	"tools/list": `{"tools":[{"name":"a","title":"A","description":"x","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}},"outputSchema":{"type":"object"},` +
		`"annotations":{"readOnlyHint":true,"destructiveHint":false},"execution":{"taskSupport":"optional"},"icons":[{"src":"x"}],"_meta":{"x":1}}]}`,
	"tools/call": `{"content":[{"type":"text","text":"x"},{"type":"image","data":"eA==","mimeType":"image/png"},{"type":"resource","resource":{"uri":"x:y","text":"x"}},` +
		`{"type":"resource_link","uri":"x:y","name":"x"}],"structuredContent":{"a":1},"isError":false,"_meta":{"x":1}}`,
	"resources/list":           `{"resources":[{"uri":"x:y","name":"x","annotations":{"audience":["user"],"priority":1}}]}`,
	"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"x:{y}","name":"x"}]}`,
	"resources/read":           `{"contents":[{"uri":"x:y","text":"x"},{"uri":"x:z","blob":"eA=="}]}`,
	"prompts/list":             `{"prompts":[{"name":"x","arguments":[{"name":"a","required":true}]}]}`,
	"prompts/get":              `{"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}`,
	"logging/setLevel":         `{}`,
	"ping":                     `{}`,
}

// unasked are messages that a server may send at any time.
var unasked = []string{
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"1","progress":1,"total":2,"message":"x"}}`,
	`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"x","data":{"a":1}}}`,
	`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"a":1}}}`,
	`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x"}}`,
	`{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{}}`,
	`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"x"}}`,
	`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"x"}}`,
	`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":"1"}}}`,
	`{"jsonrpc":"2.0","id":77,"method":"ping","params":{}}`,
	`{"jsonrpc":"2.0","id":77,"method":"roots/list","params":{}}`,
	`{"jsonrpc":"2.0","id":77,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"modelPreferences":{"hints":[{"name":"x"}]},"maxTokens":5}}`,
	`{"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"mode":"form","message":"x","requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":["x"]}},"required":["a"]}}}`,
	`{"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"mode":"url","message":"x","url":"https://x.example","elicitationId":"x"}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"x":1}}`,
	`{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x","data":{}}}`,
}

// rawServer is a server over HTTP that sends exactly the bytes of its results.
type rawServer struct {
	version string
	// results replace those of ordinary.
	results map[string]string
	// before writes to the stream that answers a call, before its result.
	before func(w io.Writer, r *http.Request)
	// answered is called with the answers of the client.
	answered func(r *http.Request)

	mu     sync.Mutex
	counts map[string]int
}

// ServeHTTP answers a request.
func (s *rawServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	s.mu.Lock()
	if s.counts == nil {
		s.counts = make(map[string]int)
	}
	s.counts[m.Method]++
	s.mu.Unlock()
	if m.ID == nil || m.Method == "" {
		if m.Method == "" && s.answered != nil {
			s.answered(r)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if m.Method == "tools/call" && s.before != nil {
		s.before(w, r)
	}
	result, ok := s.results[m.Method]
	if !ok {
		result, ok = ordinary[m.Method]
	}
	if !ok || m.Method == "server/discover" && s.version != firstStateless {
		fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n\n", m.ID)
		return
	}
	fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":%s}`+"\n\n", m.ID, result)
}

// count returns how many requests of a method have come.
func (s *rawServer) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[method]
}

// serveRaw serves a rawServer and returns its entry and the warnings about it.
func serveRaw(t *testing.T, raw *rawServer) (*server, *observer.ObservedLogs) {
	t.Helper()
	listener := httptest.NewServer(raw)
	t.Cleanup(listener.Close)
	core, logs := observer.New(zap.WarnLevel)
	return startWith(t, config{
		URL: listener.URL, Catalog: filepath.Join(t.TempDir(), "c.json"), ConnectTimeout: duration(20 * time.Second), Timeout: duration(20 * time.Second),
		Features: []string{"resources", "prompts", "elicitation", "sampling"},
	}, slog.New(zapslog.NewHandler(core))), logs
}

// replaceValue replaces value number n of a JSON text, counted depth first. It leaves n negative
// if there is such a value.
func replaceValue(raw json.RawMessage, n *int, with string) json.RawMessage {
	if *n--; *n == -1 {
		return json.RawMessage(with)
	}
	if members, ok := rawjson.Members(raw); ok {
		for i := range members {
			if members[i].Value = replaceValue(members[i].Value, n, with); *n < 0 {
				return rawjson.EncodeMembers(members)
			}
		}
	}
	var list []json.RawMessage
	if raw[0] == '[' && json.Unmarshal(raw, &list) == nil {
		for i := range list {
			if list[i] = replaceValue(list[i], n, with); *n < 0 {
				made, _ := json.Marshal(list)
				return made
			}
		}
	}
	return raw
}

// variants returns a JSON text with each of its values replaced in turn.
func variants(text, with string) []string {
	var out []string
	for at := 0; ; at++ {
		n := at
		changed := replaceValue(json.RawMessage(text), &n, with)
		if n >= 0 {
			return out
		}
		out = append(out, string(changed))
	}
}

// frugal is a host without a model.
type frugal struct{ host }

// Sample fails.
func (*frugal) Sample(context.Context, *model.Request) (*tools.Sampled, error) {
	return nil, errors.New("there is no model")
}

// useAll uses every tool of a server.
func useAll(ctx context.Context, s *server) {
	members, _ := s.Members()
	for _, m := range members {
		actions := []string{`{}`}
		switch m.ID {
		case toolID(s.Prefix(), featureResources):
			actions = []string{`{"action":"list"}`, `{"action":"templates"}`, `{"action":"read","uri":"x:y"}`}
		case toolID(s.Prefix(), featurePrompts):
			actions = []string{`{"action":"list"}`, `{"action":"get","name":"x"}`}
		}
		for _, arguments := range actions {
			_, _ = m.Tool.Call(ctx, &tools.Call{ID: "c", Tool: m.ID, Arguments: json.RawMessage(arguments), Host: new(frugal)}) // the result does not matter
		}
	}
}

// TestNullInMessagesOfAServer has servers send every message with each value replaced by null. None
// of them causes a panic or a wait without end.
func TestNullInMessagesOfAServer(t *testing.T) {
	t.Parallel()
	attacks := make(map[string]*rawServer)
	for _, version := range []string{"2025-11-25", firstStateless} {
		for method, result := range ordinary {
			if method == "server/discover" && version != firstStateless || method == "initialize" && version == firstStateless {
				continue
			}
			for _, variant := range variants(result, "null") {
				attacks[version+" "+method+" "+variant] = &rawServer{version: version, results: map[string]string{method: variant}}
			}
		}
		for _, message := range unasked {
			for _, variant := range variants(message, "null") {
				attacks[version+" "+variant] = &rawServer{version: version, before: func(w io.Writer, _ *http.Request) { fmt.Fprintf(w, "data: %s\n\n", variant) }}
			}
		}
	}
	var g errgroup.Group
	g.SetLimit(50)
	for name, raw := range attacks {
		g.Go(func() error {
			s, logs := serveRaw(t, raw)
			_ = s.Refresh(t.Context()) // it may fail
			useAll(t.Context(), s)
			if err := s.Close(); err != nil {
				return err
			}
			if panicked := logs.FilterLevelExact(zap.ErrorLevel).All(); len(panicked) > 0 {
				return fmt.Errorf("%s: %v", name, panicked)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// TestAPanicOverAMessageIsAnError makes code panic that reads a message of a server.
func TestAPanicOverAMessageIsAnError(t *testing.T) {
	t.Parallel()
	s, logs := serveRaw(t, new(rawServer))
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := s.runExchange(t.Context(), &tools.Call{ID: "c", Host: new(host)}, &request{name: "a", send: func(context.Context, *session, *round) (*reply, error) { panic("boom") }})
		if !errors.Is(err, errUnusable) {
			t.Errorf("the error is %v", err)
		}
	}
	if panicked := logs.FilterLevelExact(zap.ErrorLevel).All(); len(panicked) != 1 || !strings.Contains(fmt.Sprint(panicked[0].ContextMap()), "hostile_test.go") {
		t.Errorf("the log has %v", panicked)
	}
}

// TestAFloodOfRequestsEndsTheSession has servers send requests without end and take no answers.
func TestAFloodOfRequestsEndsTheSession(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":%d,"method":"ping"}`
	var open, most atomic.Int32
	over, _ := serveRaw(t, &rawServer{
		before: func(w io.Writer, r *http.Request) {
			for i := 0; r.Context().Err() == nil; i++ {
				if _, err := fmt.Fprintf(w, "data: "+ping+"\n\n", i); err != nil {
					return
				}
			}
		},
		answered: func(r *http.Request) {
			n := open.Add(1)
			defer open.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			<-r.Context().Done()
		},
	})
	program := start(t, local(t, lists("a", "Floods.")+"\ntools/call flood"))
	for name, s := range map[string]*server{"HTTP": over, "program": program} {
		if err := s.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		entry := entries(t, s)[toolID(s.Prefix(), "a")]
		r := entry.Execute(t.Context(), &tools.Call{ID: "call_1", Tool: entry.ID, Arguments: json.RawMessage(`{}`), Host: new(host)})
		if !r.IsError {
			t.Errorf("%s: the call says %q", name, model.PartsText(r.Content))
		}
	}
	if n := most.Load(); n == 0 || n > 2*maxAnswers { // a server sees late that a request has ended
		t.Errorf("%d answers were sent at once", n)
	}
}

// TestAFloodOfQuestionsIsBounded has a server ask 500 questions in a call.
func TestAFloodOfQuestionsIsBounded(t *testing.T) {
	t.Parallel()
	const asked = 500
	var answers atomic.Int32
	declined := make(chan struct{})
	raw := &rawServer{
		before: func(w io.Writer, _ *http.Request) {
			for i := range asked {
				fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{"message":"Which?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}`+"\n\n", i)
			}
			_ = http.NewResponseController(w.(http.ResponseWriter)).Flush()
			<-declined
		},
		answered: func(*http.Request) {
			if answers.Add(1) == asked-maxQuestions {
				close(declined)
			}
		},
	}
	s, logs := serveRaw(t, raw)
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	members, _ := s.Members()
	r, err := members[0].Tool.Call(t.Context(), &tools.Call{ID: "c", Tool: members[0].ID, Arguments: json.RawMessage(`{}`), Host: new(host)})
	if err != nil || r.Wait == nil || len(r.Wait.Questions) != 1 {
		t.Fatalf("the call returns %+v, %v", r, err)
	}
	<-declined
	if refused := logs.FilterMessage("a question of the MCP server was refused").All(); len(refused) != 1 {
		t.Errorf("%d warnings", len(refused))
	}
}

// TestAStormOfChangesIsSlowedDown has a server announce changes of its tools without end.
func TestAStormOfChangesIsSlowedDown(t *testing.T) {
	t.Parallel()
	raw := new(rawServer)
	raw.before = func(w io.Writer, _ *http.Request) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for raw.count("tools/list") < 4 {
			<-tick.C
			if _, err := fmt.Fprint(w, `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n"); err != nil {
				return
			}
			_ = http.NewResponseController(w.(http.ResponseWriter)).Flush()
		}
	}
	s, _ := serveRaw(t, raw)
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	useAll(t.Context(), s)
	if listed, seconds := raw.count("tools/list"), time.Since(began).Seconds(); float64(listed) > 3+seconds {
		t.Errorf("the tools were listed %d times within %.1f s", listed, seconds)
	}
}
