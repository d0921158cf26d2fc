package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestAgentsAreTools(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := w.in(t)
			session := w.connect("alice", "/mcp", version, nil)
			if got, want := toolNames(t, session), []string{"clerk", "greeter", "list", "plain", toolName("team:object")}; !slices.Equal(got, want) {
				t.Errorf("the tools are %v and should be %v", got, want)
			}
			if got := w.say(session, "plain", "hello"); got != "You said hello" {
				t.Errorf("the answer is %q", got)
			}
			if got := w.call(session, toolName("team:object"), map[string]any{"message": `{"name":"Ada"}`}); textOf(got) != `{"name":"Ada"}` || !isJSON(got.StructuredContent, `{"name":"Ada"}`) {
				t.Errorf("the object is %v", got.StructuredContent)
			}
			if got := w.call(session, "list", map[string]any{"message": `[1,2]`}); !isJSON(got.StructuredContent, `{"result":[1,2]}`) {
				t.Errorf("the list is %v", got.StructuredContent)
			}
			if got := w.call(session, "greeter", map[string]any{"message": "hi", "variables": map[string]any{"language": "Latin"}}); got.IsError {
				t.Error(textOf(got))
			}
			for name, arguments := range map[string]map[string]any{
				"no message":         {},
				"an empty message":   {"message": ""},
				"another type":       {"message": 1},
				"an unknown field":   {"message": "x", "massage": "y"},
				"an unknown session": {"message": "x", "session_id": "nothing"},
			} {
				if got := w.call(session, "plain", arguments); !got.IsError || textOf(got) == "" {
					t.Errorf("%s: %q", name, textOf(got))
				}
			}
			if got := w.call(session, "plain", map[string]any{"message": "break"}); !got.IsError || strings.Contains(textOf(got), "goroutine") {
				t.Errorf("a failed turn: %q", textOf(got))
			}
			if got := w.call(session, "greeter", map[string]any{"message": "hi"}); !got.IsError {
				t.Error("a required variable may be missing")
			}
			if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "agent"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
				t.Errorf("an unknown tool: %v", err)
			}
		})
	}
}

func isJSON(got any, want string) bool {
	data, err := json.Marshal(got)
	return err == nil && string(data) == want
}

func TestASessionContinuesAConversation(t *testing.T) {
	t.Parallel()
	w := serving(t)
	session := w.connect("alice", "/mcp", "", nil)
	id := w.call(session, "plain", map[string]any{"message": "one"}).Meta[sessionMeta].(string)
	if got := textOf(w.call(session, "plain", map[string]any{"message": "history", "session_id": id})); got != "one|You said one|history" {
		t.Errorf("with an argument the model sees %q", got)
	}
	again, err := session.CallTool(t.Context(), &mcp.CallToolParams{Meta: mcp.Meta{sessionMeta: id}, Name: "plain", Arguments: map[string]any{"message": "two"}})
	if err != nil || again.Meta[sessionMeta] != id {
		t.Errorf("with _meta: %v %v", again, err)
	}
	other := w.connect("bob", "/mcp", "", nil)
	if got := w.call(other, "plain", map[string]any{"message": "history", "session_id": id}); !got.IsError {
		t.Errorf("another caller continues the conversation: %q", textOf(got))
	}
}

func TestARepeatedCallRunsOnce(t *testing.T) {
	t.Parallel()
	w := serving(t)
	session := w.connect("alice", "/mcp", "", nil)
	call := func(message string) *mcp.CallToolResult {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Meta: mcp.Meta{keyMeta: "k"}, Name: "plain", Arguments: map[string]any{"message": message}})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	first, second := call("x"), call("x")
	if first.Meta[turnMeta] != second.Meta[turnMeta] || textOf(first) != textOf(second) {
		t.Errorf("%v and %v", first.Meta, second.Meta)
	}
	if other := call("y"); !other.IsError {
		t.Error("a key is used for two calls")
	}
}

// asker answers elicitations, and records them.
type asker struct {
	mu     sync.Mutex
	answer func(*mcp.ElicitParams) *mcp.ElicitResult
	asked  []*mcp.ElicitParams
}

func (a *asker) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.asked = append(a.asked, r.Params)
			return a.answer(r.Params), nil
		},
	}
}

func TestQuestionsAreElicited(t *testing.T) {
	t.Parallel()
	w := serving(t)
	accept := func(content map[string]any) *mcp.ElicitResult {
		return &mcp.ElicitResult{Action: "accept", Content: content}
	}
	for name, tt := range map[string]struct {
		message string
		answer  func(*mcp.ElicitParams) *mcp.ElicitResult
		want    string
		asked   int
	}{
		"an approval": {"call pay", func(*mcp.ElicitParams) *mcp.ElicitResult { return accept(map[string]any{"approved": true}) }, "It is paid.", 1},
		"a question":  {"call ask", func(*mcp.ElicitParams) *mcp.ElicitResult { return accept(map[string]any{"answer": "Bern"}) }, "Bern", 1},
		"two questions": {"call ask pay", func(p *mcp.ElicitParams) *mcp.ElicitResult {
			if strings.Contains(p.Message, "city") {
				return accept(map[string]any{"answer": "Bern"})
			}
			return accept(map[string]any{"approved": true})
		}, "paid", 2},
		"an address": {"call login", func(p *mcp.ElicitParams) *mcp.ElicitResult {
			if p.Mode != "url" || p.URL != "https://login.example/" {
				return &mcp.ElicitResult{Action: "cancel"}
			}
			return accept(nil)
		}, "true", 1},
		"declined":     {"call pay", func(*mcp.ElicitParams) *mcp.ElicitResult { return &mcp.ElicitResult{Action: "decline"} }, "declined", 1},
		"dismissed":    {"call pay", func(*mcp.ElicitParams) *mcp.ElicitResult { return &mcp.ElicitResult{Action: "cancel"} }, "dismissed", 1},
		"not approved": {"call pay", func(*mcp.ElicitParams) *mcp.ElicitResult { return accept(map[string]any{"approved": false}) }, "", 1},
	} {
		for era, version := range eras {
			t.Run(name+" "+era, func(t *testing.T) {
				t.Parallel()
				w := w.in(t)
				a := &asker{answer: tt.answer}
				session := w.connect("alice", "/mcp", version, a.options())
				if got := w.say(session, "clerk", tt.message); !strings.Contains(got, tt.want) {
					t.Errorf("the answer is %q and should have %q", got, tt.want)
				}
				if len(a.asked) != tt.asked {
					t.Errorf("the client was asked %d times", len(a.asked))
				}
			})
		}
	}
}

func TestAClientThatCannotAskIsTold(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := w.in(t)
			session := w.connect("alice", "/mcp", version, nil)
			if got := w.say(session, "clerk", "call pay"); !strings.Contains(got, "does not support elicitation") {
				t.Errorf("the model was told %q", got)
			}
		})
	}
	if n := w.pay.count(); n != 0 {
		t.Errorf("pay was called %d times", n)
	}
}

func TestTheStateOfARequestBelongsToItsCallAndCaller(t *testing.T) {
	t.Parallel()
	w := serving(t)
	a := &asker{}
	o := a.options()
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	session := w.connect("alice", "/mcp", "", o)
	first := w.call(session, "clerk", map[string]any{"message": "call pay"})
	if !first.NeedsInput() || len(first.InputRequests) != 1 {
		t.Fatalf("%+v", first)
	}
	call := func(session *mcp.ClientSession, message, state string, responses mcp.InputResponseMap) (*mcp.CallToolResult, error) {
		return session.CallTool(t.Context(), &mcp.CallToolParams{Name: "clerk", Arguments: map[string]any{"message": message}, RequestState: state, InputResponses: responses})
	}
	for name, try := range map[string]func() (*mcp.CallToolResult, error){
		"tampered":     func() (*mcp.CallToolResult, error) { return call(session, "call pay", first.RequestState+"x", nil) },
		"another call": func() (*mcp.CallToolResult, error) { return call(session, "call look", first.RequestState, nil) },
		"another caller": func() (*mcp.CallToolResult, error) {
			return call(w.connect("bob", "/mcp", "", a.options()), "call pay", first.RequestState, nil)
		},
	} {
		if _, err := try(); err == nil || !strings.Contains(err.Error(), "requestState") {
			t.Errorf("%s: %v", name, err)
		}
	}
	again, err := call(session, "call pay", first.RequestState, mcp.InputResponseMap{"other": &mcp.ElicitResult{Action: "accept"}})
	if err != nil || !again.NeedsInput() {
		t.Fatalf("a missing answer: %v %v", again, err)
	}
	responses := mcp.InputResponseMap{}
	for id := range first.InputRequests {
		responses[id] = &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approved": true}}
	}
	done, err := call(session, "call pay", first.RequestState, responses)
	if err != nil || textOf(done) != "It is paid." {
		t.Errorf("%v %v", done, err)
	}
}

func TestProgressAndLogs(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := w.in(t)
			var mu sync.Mutex
			var progress []float64
			var logs []string
			session := w.connect("alice", "/mcp", version, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					mu.Lock()
					defer mu.Unlock()
					progress = append(progress, r.Params.Progress)
				},
				LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { //nolint:staticcheck // versions up to 2025-11-25 have it
					mu.Lock()
					defer mu.Unlock()
					logs = append(logs, r.Params.Data.(string))
				},
			})
			if version != "" {
				if err := session.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil { //nolint:staticcheck // versions up to 2025-11-25 have it
					t.Fatal(err)
				}
			}
			params := &mcp.CallToolParams{Name: "clerk", Arguments: map[string]any{"message": "call look"}, Meta: mcp.Meta{"io.modelcontextprotocol/logLevel": "info"}}
			params.SetProgressToken("p")
			if _, err := session.CallTool(t.Context(), params); err != nil {
				t.Fatal(err)
			}
			w.waitFor(func() bool {
				mu.Lock()
				defer mu.Unlock()
				return len(progress) > 0 && slices.Contains(logs, "calls look") && slices.Contains(logs, "look succeeded")
			})
			mu.Lock()
			defer mu.Unlock()
			if !slices.IsSorted(progress) {
				t.Errorf("the progress is %v", progress)
			}
		})
	}
}

func TestACanceledCallCancelsItsTurn(t *testing.T) {
	t.Parallel()
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := serving(t)
			session := w.connect("alice", "/mcp", version, nil)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "plain", Arguments: map[string]any{"message": "hang"}})
				ended <- err
			}()
			<-w.echoModel.hung
			cancel()
			select {
			case <-w.echoModel.hung: // the model call ends
			case <-time.After(10 * time.Second):
				t.Fatal("the model call continues")
			}
			if err := <-ended; err == nil {
				t.Error("the call succeeded")
			}
			w.waitFor(func() bool {
				turns, err := w.service.ListTurns(t.Context(), service.Operator(), store.TurnQuery{})
				return err == nil && len(turns.Turns) == 1 && turns.Turns[0].Status == service.Canceled
			})
		})
	}
}

// waitFor waits for a condition.
func (w *world) waitFor(is func() bool) {
	w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			w.t.Fatal("it does not happen")
		}
	}
}
