package aisdk

import (
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

func chatBody(id, messages, more string) string {
	return `{"id":"` + id + `","messages":[` + messages + `]` + more + `}`
}

func said(text string) string {
	return `{"id":"u` + text[:1] + `","role":"user","parts":[{"type":"text","text":"` + text + `"}]}`
}

func TestRequestsAreCheckedBeforeAnythingBegins(t *testing.T) {
	t.Parallel()
	w := serve(t)
	for body, want := range map[string]string{
		`{`:               "not valid JSON",
		`{"messages":[]}`: "id is required",
		`{"id":"c"}`:      "messages is required",
		chatBody("c", said("hi"), `,"trigger":"zeta"`):                                                     "must be submit-message",
		chatBody("c", `{"id":"1","role":"tool","parts":[]}`, ""):                                           "must be user",
		chatBody("c", `{"id":"1","role":"user","parts":[{"type":"hologram"}]}`, ""):                        "neither text nor files",
		chatBody("c", `{"id":"1","role":"user","parts":[{"type":"file","url":"file:///etc/passwd"}]}`, ""): "http or https",
		chatBody("c", `{"id":"1","role":"assistant","parts":[{"type":"text","text":"hi"}]}`, ""):           "not part of this chat",
		chatBody("c", said("hi"), `,"variables":7`):                                                        "variables must be an object",
		chatBody("c", said("hi"), `,"tools":[{"name":"a","parameters":true}]`):                             "tools[0].parameters must be a JSON Schema",
		chatBody("c", said("hi"), `,"tools":[{"name":"pay"}]`):                                             "already has a tool",
		chatBody("c", said("hi"), `,"tools":[{"name":"a b"}]`):                                             "tools[0].name",
	} {
		if got := w.Ask("alice", "POST /aisdk/clerk", body, http.StatusBadRequest); !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	if list, err := w.Service.ListTurns(t.Context(), service.Operator(), service.TurnQuery{}); err != nil || len(list.Turns) > 0 {
		t.Errorf("%v: %d turns", err, len(list.Turns))
	}
	w.Ask("ann", "POST /aisdk/clerk", chatBody("c", said("hi"), ""), http.StatusNotFound)
}

func TestAMessageThatIsSentTwiceIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	w := serve(t)
	first := w.Ask("alice", "POST /aisdk/clerk", chatBody("c", said("look"), ""), http.StatusOK)
	if again := w.Ask("alice", "POST /aisdk/clerk", chatBody("c", said("look"), ""), http.StatusOK); string(first) != string(again) || w.Look.Count() != 1 {
		t.Errorf("%s and %s, %d calls", first, again, w.Look.Count())
	}
	other := w.Ask("alice", "POST /aisdk/clerk", chatBody("c", strings.Replace(said("look"), `"look"`, `"other"`, 1), ""), http.StatusOK)
	if !strings.Contains(string(other), "You said other") {
		t.Errorf("another message with its id is answered %s", other)
	}
}

// TestAQuestionSurvivesRepeatedAndRejectedMessages: only something else that the user says ends a turn that waits.
func TestAQuestionSurvivesRepeatedAndRejectedMessages(t *testing.T) {
	t.Parallel()
	w := serve(t)
	first := w.Ask("alice", "POST /aisdk/clerk", chatBody("c", said("pay"), ""), http.StatusOK)
	turn := waitingTurn(t, w)
	if again := w.Ask("alice", "POST /aisdk/clerk", chatBody("c", said("pay"), ""), http.StatusOK); string(first) != string(again) {
		t.Errorf("%s and %s", first, again)
	}
	for _, more := range []string{`,"tools":[{"name":"pay"}]`, `,"tools":[{"name":"a b"}]`, `,"variables":7`} {
		w.Ask("alice", "POST /aisdk/clerk", chatBody("c", said("pay")+","+said("other"), more), http.StatusBadRequest)
	}
	if now := waitingTurn(t, w); now != turn {
		t.Errorf("the turn %s waits, and %s before", now, turn)
	}
	if got := w.Ask("alice", "POST /aisdk/clerk", chatBody("c", said("pay")+","+said("other"), ""), http.StatusOK); !strings.Contains(string(got), "You said other") {
		t.Errorf("the next message is answered %s", got)
	}
	read, err := w.Service.GetTurn(t.Context(), service.Operator(), turn)
	if err != nil || read.Status != service.Canceled {
		t.Errorf("%v: the turn that waited is %+v", err, read)
	}
}

// TestARejectedMessageDoesNotEndAChat: pages keep a message that was rejected, and send it with the next one.
func TestARejectedMessageDoesNotEndAChat(t *testing.T) {
	t.Parallel()
	w := serve(t)
	const empty = `{"id":"e","role":"user","parts":[{"type":"data-x","data":{}}]}`
	w.Ask("alice", "POST /aisdk/clerk", chatBody("c", empty, ""), http.StatusBadRequest)
	if got := w.Ask("alice", "POST /aisdk/clerk", chatBody("c", empty+","+said("hi"), ""), http.StatusOK); !strings.Contains(string(got), "You said hi") {
		t.Errorf("the next message is answered %s", got)
	}
}

// TestChatsOfOthersLookUnknown uses the ids of a chat, a message, a call and an approval of
// alice with other keys.
func TestChatsOfOthersLookUnknown(t *testing.T) {
	t.Parallel()
	w := serve(t)
	w.Ask("alice", "POST /aisdk/clerk", chatBody("c", said("pay"), ""), http.StatusOK)
	list, err := w.Service.ListTurns(t.Context(), service.Operator(), service.TurnQuery{})
	if err != nil || len(list.Turns) != 1 || list.Turns[0].Status != service.Waiting {
		t.Fatalf("%v: %+v", err, list)
	}
	turn := list.Turns[0].ID
	approved := `{"id":"` + turn + `","role":"assistant","parts":[{"type":"tool-pay","state":"approval-responded","toolCallId":"` + turn + `/c0_0","approval":{"id":"` + turn + `/perm_c0_0","approved":true}}]}`
	for key, agent := range map[string]string{"bob": "clerk", "ann": "plain"} {
		w.Ask(key, "POST /aisdk/"+agent, chatBody("c", said("pay")+","+approved, ""), http.StatusBadRequest)
		w.Ask(key, "GET /aisdk/"+agent+"/c", "", http.StatusNotFound)
		w.Ask(key, "GET /aisdk/"+agent+"/c/stream", "", http.StatusNoContent)
		w.Ask(key, "POST /aisdk/"+agent+"/c/stop", "", http.StatusNotFound)
		w.Ask(key, "GET /aisdk/"+agent+"/"+list.Turns[0].SessionID, "", http.StatusNotFound)
	}
	if w.Pay.Count() > 0 {
		t.Error("bob approved a call of alice")
	}
	if got := w.Ask("alice", "POST /aisdk/clerk", chatBody("c", said("pay")+","+approved, ""), http.StatusOK); !strings.Contains(string(got), "pay done") {
		t.Errorf("alice reads %s", got)
	}
	read, err := w.Service.GetTurn(t.Context(), service.Caller{Tenant: "acme", Subject: "alice"}, turn)
	if err != nil || read.Outcome == nil || read.Outcome.Response != "It is pay done." {
		t.Errorf("%v: the turn reads %+v", err, read)
	}
}

func TestAnUnknownChatIsNamedInErrors(t *testing.T) {
	t.Parallel()
	w := serve(t)
	for _, request := range []string{"GET /aisdk/clerk/nothing", "POST /aisdk/clerk/nothing/stop"} {
		if got := w.Ask("alice", request, "", http.StatusNotFound); !strings.Contains(string(got), `chat "nothing"`) {
			t.Errorf("%s: %s", request, got)
		}
	}
}

// TestAServerThatShutsDownCutsStreams: pages resume after that, and the turn goes on.
func TestAServerThatShutsDownCutsStreams(t *testing.T) {
	t.Parallel()
	w := serve(t)
	resp, err := w.Send(t.Context(), "alice", "POST /aisdk/clerk", chatBody("c", said("hang"), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := w.Drain(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the stream ends with %s", rest)
	}
}

var pageProgram = regexp.MustCompile("(?s)```js\n// client: ai-sdk\n(.*?)```")

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

// FuzzRequest: the body of a request is a request, or rejected as invalid.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(chatBody("c", said("hi"), `,"trigger":"regenerate-message","messageId":"m","tools":[{"name":"a"}]`)))
	f.Add([]byte(chatBody("c", `{"id":"1","role":"assistant","parts":[{"type":"dynamic-tool","toolName":"n","state":"output-available","output":{"a":1}},{"type":"tool-x","state":"output-error","errorText":"e"}]}`, "")))
	f.Add([]byte(`{"id":"c","message":{"id":"1","role":"user","parts":[{"type":"file","url":"data:,x"},{"type":"text","text":""}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		in := new(chatRequest)
		err := server.DecodeJSON(body, in, false)
		if err == nil {
			err = in.check()
		}
		if err == nil {
			_, err = in.history()
		}
		if err != nil && !errors.As(err, new(*service.InvalidError)) && !errors.As(err, new(*server.BodyError)) {
			t.Errorf("%s gives %v", body, err)
		}
	})
}
