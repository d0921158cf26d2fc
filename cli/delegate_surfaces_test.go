package cli

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/zap"
)

// deepOffice is a configuration whose boss calls a clerk, who calls an intern, who uses a tool. All
// output and actions of the delegates, except the clerk's answer, contain the word SECRET.
const deepOffice = `version: 1
providers: {demo: {type: scripted, script: script.yaml}}
models: {small: {provider_id: demo, upstream_model: x}}
tools:
  copy: {type: command, description: Copies., command: [cat], effect: read, parameters: {type: object}}
agents:
  boss: {model_id: small, description: Gives orders., delegates: [clerk], allowed_tools: [agent_run_clerk]}
  clerk: {model_id: small, description: Sorts mail., delegates: [intern], allowed_tools: [agent_run_intern]}
  intern: {model_id: small, description: Copies., allowed_tools: [copy]}
store: {driver: memory}
server:
  listen: 127.0.0.1:0
  keys: [{id: ann, key: ` + annKey + `, tenant: acme, subject: ann}]
  agents: {}
  sessions: {providers: {boss: {agent: boss, default: true}}}
`

const deepScript = `replies:
- {match: begin, tool_calls: [{id: call_1, name: agent_run_clerk, arguments: {prompt: sort it}}]}
- {match: sort it, reasoning: SECRET-1, text: SECRET-2, tool_calls: [{id: SECRET-3, name: agent_run_intern, arguments: {prompt: SECRET-4}}]}
- {match: SECRET-4, tool_calls: [{id: SECRET-5, name: copy, arguments: {text: SECRET-6}}]}
- {match: SECRET-6, text: SECRET-7}
- {match: SECRET-7, text: sorted}
- {match: sorted, text: thanks}
`

// wholeStream returns the whole response to a request, to the end of the stream. An event stream
// starts after the given event, if any.
func (w *town) wholeStream(t *testing.T, method, path, body string, after ...string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.LocalURL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = bearer(annKey)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	req.Header["Last-Event-ID"] = after
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %v: %s", method, path, resp.StatusCode, err, all)
	}
	return string(all)
}

// deepReaders begin a turn on each surface and return the surface's whole output about it: the
// stream and later reads.
var deepReaders = map[string]func(t *testing.T, w *town) string{
	"native": func(t *testing.T, w *town) string {
		events := w.nativeEvents(t)
		return w.wholeStream(t, http.MethodGet, events, "") + w.ask(t, http.MethodGet, events, "", bearer(annKey)).body
	},
	"runs": func(t *testing.T, w *town) string {
		run, _ := w.readable(t, http.MethodPost, annPath+"/agent-runs", `{"agentId":"boss","prompt":"begin"}`)["runId"].(string)
		run = annPath + "/agent-runs/" + run
		return w.wholeStream(t, http.MethodGet, run+"/stream", "") + w.ask(t, http.MethodGet, run, "", bearer(annKey)).body
	},
	"sessions": func(t *testing.T, w *town) string {
		session, _ := w.readable(t, http.MethodPost, "/api/v1/agent/sessions", `{"provider":"boss"}`)["id"].(string)
		turn, _ := w.readable(t, http.MethodPost, "/api/v1/agent/sessions/"+session+"/turns", `{"messages":[{"role":"user","text":"begin"}]}`)["id"].(string)
		turn = "/api/v1/agent/turns/" + turn
		return w.wholeStream(t, http.MethodGet, turn+"/events/stream", "") + w.ask(t, http.MethodGet, turn, "", bearer(annKey)).body +
			w.ask(t, http.MethodGet, turn+"/events", "", bearer(annKey)).body
	},
	"agents": func(t *testing.T, w *town) string {
		return w.wholeStream(t, http.MethodPost, "/agents/boss", `{"data":{"message":{"role":"user","content":[{"text":"begin"}]}},"init":{"sessionId":"s"}}`) +
			w.ask(t, http.MethodPost, "/agents/boss/getSnapshot", `{"data":{"sessionId":"s"}}`, bearer(annKey)).body
	},
	"a2a": func(t *testing.T, w *town) string {
		all := w.wholeStream(t, http.MethodPost, "/a2a/boss/message:stream", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"begin"}]}}`)
		return all + w.ask(t, http.MethodGet, "/a2a/boss/tasks?includeArtifacts=true&historyLength=100", "", bearer(annKey)).body
	},
}

// nativeEvents begins a turn and returns the path of its events.
func (w *town) nativeEvents(t *testing.T) string {
	t.Helper()
	session, _ := w.readable(t, http.MethodPost, "/runtime/v1/sessions", `{"agent_id":"boss"}`)["id"].(string)
	turn, _ := w.readable(t, http.MethodPost, "/runtime/v1/turns", `{"session_id":"`+session+`","input":[{"role":"user","parts":[{"type":"text","text":"begin"}]}]}`)["id"].(string)
	return "/runtime/v1/turns/" + turn + "/events"
}

// A surface shows no output or actions of delegates. If its protocol allows it, it shows that there
// is a delegate, and the delegate's usage.
func TestSurfacesShowNothingOfWhatDelegatesDo(t *testing.T) {
	t.Parallel()
	activity := map[string]string{
		"native":   `"activity_type":"delegate","content":{"agent":"clerk","state":"succeeded","steps":2,"tool_calls":2`,
		"sessions": `"agent.delegate"`,
	}
	for surface, read := range deepReaders {
		t.Run(surface, func(t *testing.T) {
			t.Parallel()
			w := &town{served: serveLogged(t, deepOffice, deepScript, zap.NewNop())}
			all := read(t, w)
			if !strings.Contains(all, "thanks") {
				t.Fatalf("the answer is missing: %s", all)
			}
			for _, hidden := range []string{"SECRET", `"path"`} {
				if strings.Contains(all, hidden) {
					t.Errorf("%s is shown: %s", hidden, all)
				}
			}
			if want := activity[surface]; !strings.Contains(all, want) {
				t.Errorf("%s is missing: %s", want, all)
			}
		})
	}
}

// The filter of the native API shows all actions of delegates, live, in a replay, in pages, and
// from any event.
func TestTheNativeFilterShowsDelegates(t *testing.T) {
	t.Parallel()
	w := &town{served: serveLogged(t, deepOffice, deepScript, zap.NewNop())}
	path := w.nativeEvents(t)
	live := w.wholeStream(t, http.MethodGet, path+"?delegates=true", "")
	for _, want := range []string{
		`"path":["call_1"],"agent_id":"clerk"`, `"path":["call_1","SECRET-3"],"agent_id":"intern"`, "SECRET-1", "SECRET-2", "SECRET-5", "SECRET-6", "SECRET-7",
	} {
		if !strings.Contains(live, want) {
			t.Errorf("%s is missing: %s", want, live)
		}
	}
	if again := w.wholeStream(t, http.MethodGet, path+"?delegates=true", ""); again != live {
		t.Errorf("the replay is\n%s\nand was\n%s", again, live)
	}
	own := w.wholeStream(t, http.MethodGet, path+"?delegates=false", "")
	frames := strings.SplitAfter(live, "\n\n")
	frames = frames[:len(frames)-1] // after the last
	for i := range frames {
		rest, after := strings.Join(frames[i:], ""), strconv.Itoa(i)
		if got := w.wholeStream(t, http.MethodGet, path+"?delegates=true", "", after); got != rest {
			t.Fatalf("from event %d on the stream is\n%s\nand should be\n%s", i+1, got, rest)
		}
		if got := w.wholeStream(t, http.MethodGet, path, "", after); !strings.HasSuffix(own, got) || strings.Contains(got, "SECRET") {
			t.Fatalf("from event %d on the turn's own events are\n%s\nof\n%s", i+1, got, own)
		}
	}
	if got := w.ask(t, http.MethodGet, path+"?delegates=true&after=3&limit=100", "", bearer(annKey)); !strings.Contains(got.body, "SECRET-7") {
		t.Errorf("a page is %d %s", got.status, got.body)
	}
	for _, wrong := range []string{"yes", "1", "true&delegates=false"} {
		if got := w.ask(t, http.MethodGet, path+"?delegates="+wrong, "", bearer(annKey)); got.status != http.StatusBadRequest {
			t.Errorf("delegates=%s: %d %s", wrong, got.status, got.body)
		}
	}
}
