package agui

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/nodeenv"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// runBody returns the body of a run of a thread.
func runBody(thread, run, messages, more string) string {
	return `{"threadId":"` + thread + `","runId":"` + run + `","messages":[` + messages + `]` + more + `}`
}

func said(text string) string {
	return `{"id":"u` + text[:1] + `","role":"user","content":"` + text + `"}`
}

// typesOf returns the types of the events of a stream.
func typesOf(t *testing.T, stream []byte) (types []string) {
	t.Helper()
	for _, frame := range strings.Split(strings.TrimSpace(string(stream)), "\n\n") {
		data, ok := strings.CutPrefix(frame, "data: ")
		var e struct{ Type string }
		if err := json.Unmarshal([]byte(data), &e); !ok || err != nil || strings.Contains(data, "\n") {
			t.Fatalf("%v: the frame %q", err, frame)
		}
		types = append(types, e.Type)
	}
	return types
}

func TestRequestsAreCheckedBeforeAnythingBegins(t *testing.T) {
	t.Parallel()
	w := serve(t)
	for body, want := range map[string]string{
		`{`:                                 "not valid JSON",
		`{}`:                                "threadId is required",
		`{"threadId":"t"}`:                  "runId is required",
		`{"threadId":"t","messages":[]}`:    "runId is required",
		`{"runId":"t","messages":[]}`:       "threadId is required",
		`{"threadId":"t","runId":"r"}`:      "messages is required",
		runBody("t", "r/1", said("hi"), ""): `"runId must be 1 to 128`,
		runBody("t", "r", `{"id":"1","role":"wizard"}`, ""):                                                                        `unknown role \"wizard\"`,
		runBody("t", "r", said("hi"), `,"resume":[{"interruptId":"x","status":"maybe"}]`):                                          "must be resolved or cancelled",
		runBody("t", "r", said("hi"), `,"tools":[{"name":"pay"}]`):                                                                 `tool \"pay\"`,
		runBody("t", "r", said("hi"), `,"tools":[{"name":"a b"}]`):                                                                 `"message":"tools[0].name: \"a b\" must be`,
		runBody("t", "r", said("hi"), `,"tools":[{"name":"a","parameters":{"type":"array"}}]`):                                     "tools[0].parameters has the type",
		runBody("t", "r", `{"id":"1","role":"user","content":7}`, ""):                                                              "messages[0].content",
		runBody("t", "r", `{"id":"1","role":"user"}`, ""):                                                                          "messages[0].content has neither text nor files",
		runBody("t", "r", `{"id":"1","role":"user","content":[{"type":"hologram"}]}`, ""):                                          "messages[0].content has neither text nor files",
		runBody("t", "r", `{"id":"1","role":"user","content":[{"type":"image","source":7}]}`, ""):                                  "messages[0].content[0].source must not be a JSON number",
		runBody(`t\u0000`, "r", said("hi"), ""):                                                                                    "threadId must be text of 1 to 255 bytes",
		runBody("t", "r", `{"id":"1","role":"user","content":[{"type":"image"}]}`, ""):                                             "content[0].source is required",
		runBody("t", "r", `{"id":"1","role":"user","content":[{"type":"image","source":{"type":"file","value":"f"}}]}`, ""):        "must be data or url",
		runBody("t", "r", `{"id":"1","role":"user","content":[{"type":"image","source":{"type":"url","value":"file:///x"}}]}`, ""): `"message":"messages[0].content[0] must be a data URL or an http or https`,
	} {
		if got := w.Ask("alice", "POST /agui/clerk", body, http.StatusBadRequest); !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	if list, err := w.Service.ListTurns(t.Context(), service.Operator(), service.TurnQuery{}); err != nil || len(list.Turns) > 0 {
		t.Errorf("%v: %d turns", err, len(list.Turns))
	}
	w.Ask("alice", "GET /agui/clerk", "", http.StatusMethodNotAllowed)
	w.Ask("ann", "POST /agui/clerk", runBody("t", "r", said("hi"), ""), http.StatusNotFound)
	w.Ask("alice", "POST /agui/clerk", `"`+strings.Repeat("x", 17<<20)+`"`, http.StatusRequestEntityTooLarge)
}

func TestWhatIsAbsentOrUnknownIsAccepted(t *testing.T) {
	t.Parallel()
	w := serve(t)
	const files = `{"id":"1","role":"user","content":[{"type":"text","text":"hi"},{"type":"hologram"},{"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}},` +
		`{"type":"document","source":{"type":"url","value":"https://example.com/a.pdf"}},{"type":"binary","mimeType":"image/png","data":"aGk="}]}`
	for _, body := range []string{
		runBody("a", "a", files, ""), runBody("b", "b", said("hi"), `,"state":null,"forwardedProps":null,"context":null,"tools":null,"resume":null,"later":1`),
	} {
		if types := typesOf(t, w.Ask("alice", "POST /agui/clerk", body, http.StatusOK, "Accept", "application/vnd.ag-ui.event+proto")); types[0] != "RUN_STARTED" || types[len(types)-1] != "RUN_FINISHED" {
			t.Errorf("%s: %v", body, types)
		}
	}
	if types := typesOf(t, w.Ask("alice", "POST /agui/clerk", runBody("c", "c", "", ""), http.StatusOK)); strings.Join(types, " ") != "RUN_STARTED RUN_FINISHED" {
		t.Errorf("a run without messages: %v", types)
	}
}

// TestThreadsOfOthersLookUnknown uses the ids of a thread, a run, a message, a call and an
// interrupt of alice with the key of bob.
func TestThreadsOfOthersLookUnknown(t *testing.T) {
	t.Parallel()
	w := serve(t)
	w.Ask("alice", "POST /agui/clerk", runBody("t", "r", said("pay"), ""), http.StatusOK)
	for _, key := range []string{"bob", "ann"} {
		resume := runBody("t", "r2", "", `,"resume":[{"interruptId":"r/perm_c0_0","status":"resolved","payload":{"approved":true}}]`)
		agent := "plain"
		if got := w.Ask(key, "POST /agui/"+agent, resume, http.StatusOK); !strings.Contains(string(got), codeUnknownInterrupt) {
			t.Errorf("%s: %s", key, got)
		}
		got := string(w.Ask(key, "POST /agui/"+agent, runBody("t", "r", `{"id":"r/m1","role":"assistant","content":"before"},`+said("history"), ""), http.StatusOK))
		if strings.Contains(got, "pay") || !strings.Contains(got, "You said history") && !strings.Contains(got, "user:history") {
			t.Errorf("%s: %s", key, got)
		}
		w.Ask(key, "POST /agui/"+agent+"/none/stop", "", http.StatusNotFound)
	}
	if w.Ask("bob", "POST /agui/clerk/t/stop", "", http.StatusNotFound); w.Pay.Count() > 0 {
		t.Error("bob approved a call of alice")
	}
	if types := typesOf(t, w.Ask("alice", "POST /agui/clerk", runBody("t", "r3", "", ""), http.StatusOK)); types[1] != "MESSAGES_SNAPSHOT" {
		t.Errorf("alice reads %v", types)
	}
}

// TestARunIsReadableNatively reads a run with the ids that its client chose.
func TestARunIsReadableNatively(t *testing.T) {
	t.Parallel()
	w := serve(t)
	w.Ask("alice", "POST /agui/clerk", runBody("t", "run-1", said("hello"), ""), http.StatusOK)
	turn, err := w.Service.GetTurn(t.Context(), service.Caller{Tenant: "acme", Subject: "alice"}, "run-1")
	if err != nil || turn.Outcome == nil || turn.Outcome.Response != "You said hello" {
		t.Errorf("%v: %+v", err, turn)
	}
}

// TestAServerThatShutsDownEndsStreamsInOrder: clients end their process for a connection
// that is cut, and the run goes on.
func TestAServerThatShutsDownEndsStreamsInOrder(t *testing.T) {
	t.Parallel()
	w := serve(t)
	resp, err := w.Send(t.Context(), "alice", "POST /agui/clerk", runBody("t", "r", said("hang"), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	begun := make([]byte, 1)
	if _, err := io.ReadFull(resp.Body, begun); err != nil {
		t.Fatal(err)
	}
	if err := w.Drain(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(resp.Body)
	if types := typesOf(t, append(begun, rest...)); err != nil || types[len(types)-1] != "RUN_ERROR" || !strings.Contains(string(rest), "server_shutdown") {
		t.Errorf("%v: %s", err, rest)
	}
	turn, err := w.Service.GetTurn(t.Context(), service.Operator(), "r")
	if err != nil || !turn.Status.Live() {
		t.Errorf("%v: the turn is %s", err, turn.Status)
	}
}

var pageProgram = regexp.MustCompile("(?s)```js\n// client: ag-ui\n(.*?)```")

// TestTheProgramOfThePage runs the program of docs/protocols/clients.md.
func TestTheProgramOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/protocols/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := pageProgram.FindAllSubmatch(page, -1)
	if len(programs) != 1 {
		t.Fatalf("the page has %d programs", len(programs))
	}
	program := append([]byte("const base = '"+serve(t).URL+"', key = 'alice'\n"), programs[0][1]...)
	nodeenv.Install(t, manifests).Run(t, program)
}

// FuzzInput: the body of a request is an input, or rejected as invalid.
func FuzzInput(f *testing.F) {
	f.Add([]byte(runBody("t", "r", said("hi"), `,"state":{"a":1},"context":[{"description":"d","value":"v"}],"tools":[{"name":"a"}]`)))
	f.Add([]byte(runBody("t", "r", `{"id":"1","role":"assistant","toolCalls":[{"id":"c","function":{"name":"n","arguments":"{"}}]},{"id":"2","role":"tool","toolCallId":"c","content":[{"type":"text"}],"error":"e"}`, "")))
	f.Add([]byte(runBody("t", "r", `{"id":"1","role":"user","content":[{"type":"binary","data":"?"},{"type":"image","source":{"type":"url","value":"://"}}]}`, `,"resume":[{"interruptId":"i","status":"resolved","payload":[]}]`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		in := new(runInput)
		err := server.DecodeJSON(body, in, false)
		if err == nil {
			err = in.check()
		}
		var history int
		if err == nil {
			list, failed := in.history()
			history, err = len(list), failed
			_, _ = in.instructions(), in.appState()
		}
		if err != nil && !errors.As(err, new(*service.InvalidError)) && !errors.As(err, new(*server.BodyError)) {
			t.Errorf("%s gives %v", body, err)
		}
		if history > len(in.Messages) {
			t.Errorf("%s gives %d messages", body, history)
		}
	})
}
