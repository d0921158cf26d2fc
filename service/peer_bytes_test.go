package service_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	a2abackend "github.com/agentruntime/agentruntime/backend/a2a"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

// babblingPeer is an A2A peer that sends given bytes verbatim.
type babblingPeer struct {
	url string

	mu sync.Mutex
	// events are those of each stream, and task is what a look at the task shows.
	events []string
	task   string
}

func newBabblingPeer(t *testing.T) *babblingPeer {
	t.Helper()
	p := new(babblingPeer)
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

func (p *babblingPeer) say(events []string, task string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events, p.task = events, task
}

func (p *babblingPeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		fmt.Fprintf(w, `{"name":"p","description":"d","version":"1","capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[],
			"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, p.url)
		return
	}
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &call)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	events, task := p.events, p.task
	p.mu.Unlock()
	answer := func(result string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, result)
	}
	switch call.Method {
	case "SendStreamingMessage":
		w.Header().Set("Content-Type", "text/event-stream")
		for _, ev := range events {
			fmt.Fprintf(w, "data: %s\n\n", answer(ev))
		}
	case "GetTask":
		_, _ = io.WriteString(w, answer(task))
	case "CancelTask":
		_, _ = io.WriteString(w, answer(`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELED"}}`))
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32004,"message":"not here"}}`, call.ID)
	}
}

// peerBabble draws the events of a stream and the task that is left of it. The bytes in
// the events may be no JSON. A look at the task shows what can be read, or it would be
// taken for a fault that passes.
func peerBabble(t *rapid.T) (events []string, task string) {
	escaped := []string{"a", "b c", "é", `\u0000`, `\ud800`, `\udc00\ud800`, `\\u0000`, `\"`, `\n`, "\u2028", "{", `\u001b`, "\x7f", "\ufffe"}
	texts := func(pieces []string) *rapid.Generator[string] {
		return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 4), func(list []string) string { return strings.Join(list, "") })
	}
	data := []string{`{}`, `7`, `{"a":1,"a":"\u0000"}`, `{"\u0000\ud800":"\udc00"}`, strings.Repeat("[", 40) + strings.Repeat("]", 40)}
	valid, state := texts(escaped), rapid.SampledFrom([]string{"COMPLETED", "COMPLETED", "COMPLETED", "FAILED", "REJECTED", "INPUT_REQUIRED", "AUTH_REQUIRED"}).Draw(t, "state")
	text, value := texts(append([]string{"\x00", "\xff", "\xed\xa0\x80", `"`, `\x`}, escaped...)), rapid.SampledFrom(append([]string{`null`, `1e999`, `{"v":`, `{"v":\u0000}`, "\xff", ``}, data...))
	if rapid.Bool().Draw(t, "valid") {
		text, value = texts(append([]string{"\xff", "\xed\xa0\x80"}, escaped...)), rapid.SampledFrom(data)
	}
	parts := func(text, value *rapid.Generator[string]) string {
		var list []string
		for range rapid.IntRange(0, 2).Draw(t, "parts") {
			kind := rapid.SampledFrom([]string{`"text":"%s"`, `"data":%s`, `"raw":"AP8A"`, `"url":"https://x.example/%s"`}).Draw(t, "kind")
			switch {
			case strings.Contains(kind, "data"):
				kind = fmt.Sprintf(kind, value.Draw(t, "data"))
			case strings.Contains(kind, "%"):
				kind = fmt.Sprintf(kind, text.Draw(t, "text"))
			}
			named := text.Draw(t, "name")
			list = append(list, fmt.Sprintf(`{%s,"filename":"%s","mediaType":"%s","metadata":{"%s":"%s"}}`, kind, named, named, named, named))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	status := func(state string, text, value *rapid.Generator[string]) string {
		return fmt.Sprintf(`{"state":"TASK_STATE_%s","message":{"messageId":"%s","role":"ROLE_AGENT","parts":%s}}`, state, text.Draw(t, "message"), parts(text, value))
	}
	events = []string{`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`}
	for range rapid.IntRange(0, 2).Draw(t, "events") {
		if rapid.Bool().Draw(t, "artifact") {
			events = append(events, fmt.Sprintf(`{"artifactUpdate":{"taskId":"t","contextId":"c","append":%t,"artifact":{"artifactId":"%s","name":"%s","parts":%s}}}`,
				rapid.Bool().Draw(t, "append"), text.Draw(t, "id"), text.Draw(t, "name"), parts(text, value)))
			continue
		}
		events = append(events, fmt.Sprintf(`{"statusUpdate":{"taskId":"t","contextId":"c","status":%s}}`, status("WORKING", text, value)))
	}
	events = append(events, fmt.Sprintf(`{"statusUpdate":{"taskId":"t","contextId":"c","status":%s}}`, status(state, text, value)))
	left := rapid.SampledFrom(data)
	return events, fmt.Sprintf(`{"id":"t","contextId":"c","status":%s,"artifacts":[{"artifactId":"%s","parts":%s}]}`, status(state, valid, left), valid.Draw(t, "artifact"), parts(valid, left))
}

// TestAnyBytesOfAPeerGiveTheSameTurnInEachStore has an agent at a peer that sends any
// bytes, JSON or not. What it asks of a person stays without an answer.
func TestAnyBytesOfAPeerGiveTheSameTurnInEachStore(t *testing.T) {
	peer := newBabblingPeer(t)
	rt := turntest.Build(t, builder.New().WithBackend(a2abackend.NewFactory(a2abackend.Settings{})).WithAgentSpec(spec.Agent{ID: "a", Endpoint: &spec.Endpoint{
		BaseURL: peer.url, Timeout: new(spec.Duration(10 * time.Second)), Options: map[string]json.RawMessage{"poll_interval": json.RawMessage(`"100ms"`)},
	}}))
	services := onEachStore(t, rt)
	rapid.Check(t, func(r *rapid.T) {
		peer.say(peerBabble(r))
		begun, turns := make(map[string]*service.Turn), make(map[string]string)
		for name, s := range services {
			begun[name] = create(t, s, says(session(t, s, "a"), "go"))
		}
		for name, s := range services {
			turns[name] = settledStory(t, s, begun[name].ID)
		}
		if turns["sqlite"] != turns["memory"] || turns["postgres"] != turns["memory"] {
			r.Fatalf("the turns differ:\n%q\n%q\n%q", turns["memory"], turns["sqlite"], turns["postgres"])
		}
		if strings.Contains(turns["memory"], service.CodeInvalidText) {
			r.Fatalf("the turn cannot be stored: %q", turns["memory"])
		}
		if strings.Contains(turns["memory"], "\x00") || strings.Contains(turns["memory"], `\x00`) { // as it is, or quoted
			r.Fatalf("the turn holds a NUL: %q", turns["memory"])
		}
	})
}

// settledStory returns what became of a turn, and its events. One that waits is
// canceled.
func settledStory(t testing.TB, s *service.Service, id string) string {
	t.Helper()
	var asked string
	eventually(t, func() string {
		turn, err := s.GetTurn(t.Context(), alice, id)
		switch {
		case err != nil:
			return err.Error()
		case turn.Status == store.Waiting:
			list, err := s.ListInteractions(t.Context(), alice, store.InteractionQuery{TurnID: id})
			if err != nil || len(list) != 1 {
				return fmt.Sprintf("%d interactions, %v", len(list), err)
			}
			request, err := json.Marshal(list[0].Request)
			if err != nil {
				t.Fatal(err)
			}
			asked = string(request) + "\n"
			if _, err := s.CancelTurn(t.Context(), alice, id, "nobody answers"); err != nil {
				return err.Error()
			}
		case turn.Status.Live():
			return "it goes on"
		}
		return ""
	})
	end := ended(t, s, id)
	told := fmt.Sprintf("%s %q %+v\n%s%s", end.Status, end.Outcome.Response, end.Outcome.Termination, asked, story(t, s, id))
	return strings.ReplaceAll(told, id, "the turn")
}
