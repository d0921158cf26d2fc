package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

// callToken is the token that calls send to the agent.
const callToken = "s3cret-t0ken"

// callTo returns a call to an agent on this machine.
func callTo(cardURL string) *Request {
	return &Request{
		CardURL: cardURL, Text: "hello", Headers: map[string]string{"Authorization": "Bearer " + callToken},
		AllowPrivate: []string{"127.0.0.0/8"}, Timeout: 20 * time.Second,
	}
}

// refused returns the code and the text of the error of a call.
func refused(t *testing.T, c *Request) (code, text string) {
	t.Helper()
	reply, err := c.Ask(t.Context())
	failed, ok := errors.AsType[*client.PeerError](err)
	if !ok {
		t.Fatalf("the reply is %q, the error %v", reply, err)
	}
	return failed.Code, err.Error()
}

func TestACallReturnsTheReplyOfAnAgent(t *testing.T) {
	t.Parallel()
	for name, replies := range map[string][]peertest.Reply{
		"a stream":         {peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Words("hi "), peertest.Words("there"), peertest.Turned(peertest.Completed, ""))},
		"a message":        {peertest.StreamOf(peertest.Said("hi there"))},
		"a task that ends": {peertest.StreamOf(peertest.Task(peertest.Completed, "hi there"))},
	} {
		s := peertest.NewScript(t, map[string][]peertest.Reply{peertest.MethodStream: replies})
		c := callTo(s.URL + client.WellKnown)
		c.ContextID, c.MessageID = "talk-7", "call-1"
		for range 2 {
			if got, err := c.Ask(t.Context()); err != nil || got != "hi there" {
				t.Errorf("%s: the reply is %q, %v", name, got, err)
			}
		}
		calls := s.Got(peertest.MethodStream)
		first, second := calls[0].Message(t), calls[1].Message(t)
		if first.ContextID != "talk-7" || first.Parts[0].Text() != "hello" || first.ID != second.ID {
			t.Errorf("%s: the messages are %+v and %+v", name, first, second)
		}
		for _, r := range s.Seen() {
			if r.Header.Get("Authorization") != "Bearer "+callToken {
				t.Errorf("%s: %s %s shows nobody", name, r.Method, r.URL.Path)
			}
		}
	}
}

func TestACallFollowsATaskToItsEnd(t *testing.T) {
	t.Parallel()
	s := peertest.NewScript(t, map[string][]peertest.Reply{
		peertest.MethodSend: {peertest.Sent(peertest.Task(a2a.TaskStateSubmitted, ""))},
		peertest.MethodGet:  {peertest.Result(peertest.Task(peertest.Working, "")), peertest.Result(peertest.Task(peertest.Completed, "done"))},
	})
	card := peertest.CardOf(s.URL)
	card.Capabilities.Streaming = false
	s.Answer(func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, card) }, nil)
	if got, err := callTo(s.URL + client.WellKnown).Ask(t.Context()); err != nil || got != "done" {
		t.Errorf("the reply is %q, %v", got, err)
	}
	if n := len(s.Got(peertest.MethodSend)); n != 1 {
		t.Errorf("the message was sent %d times", n)
	}
}

func TestAnAgentThatDoesNotComeToAReply(t *testing.T) {
	t.Parallel()
	leak := "you showed " + callToken + " and Bearer " + callToken
	for name, tt := range map[string]struct {
		reply  peertest.Reply
		code   string
		detail string
		ended  bool
	}{
		"asks":               {peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Turned(a2a.TaskStateInputRequired, "which one? "+leak)), CodeInputRequired, "which one? you showed ***", true},
		"asks for authority": {peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Turned(a2a.TaskStateAuthRequired, "log in")), CodeInputRequired, "log in", true},
		"fails":              {peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Turned(a2a.TaskStateFailed, "broke: "+leak)), client.CodeRemoteFailed, "broke: you showed ***", false},
		"rejects":            {peertest.StreamOf(peertest.Task(a2a.TaskStateRejected, "")), client.CodeRemoteRejected, "", false},
		"is canceled":        {peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Turned(a2a.TaskStateCanceled, "not today")), client.CodeRemoteFailed, "canceled the task: not today", false},
		"refuses":            {peertest.Fault(-32602, leak), client.CodeRefused, "***", false},
		"does not let in":    {peertest.Answers(http.StatusUnauthorized, "WWW-Authenticate", "Bearer realm="+callToken), client.CodeUnauthorized, "401", false},
		"says too much":      {peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Words(strings.Repeat("x", client.MaxReply/2)), peertest.Words(strings.Repeat("x", client.MaxReply/2))), client.CodeTooLarge, "", true},
		"speaks nonsense":    {peertest.StreamOf(&a2a.Task{ContextID: "no id"}), client.CodeProtocol, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := peertest.NewScript(t, map[string][]peertest.Reply{peertest.MethodStream: {tt.reply}, peertest.MethodSubscribe: {peertest.Fault(-32004, "no")}, peertest.MethodCancel: {peertest.Result(peertest.Task(a2a.TaskStateCanceled, ""))}})
			code, text := refused(t, callTo(s.URL+client.WellKnown))
			if code != tt.code || !strings.Contains(text, tt.detail) {
				t.Errorf("the error is %s: %s", code, text)
			}
			if strings.Contains(text, callToken) {
				t.Errorf("the error shows the token: %s", text)
			}
			if got := len(s.Got(peertest.MethodCancel)); (got > 0) != tt.ended {
				t.Errorf("the task was ended %d times", got)
			}
		})
	}
}

// The next worker of the turn does not know the task of a call.
func TestACallThatIsGivenUpEndsItsTask(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{context.Canceled, backend.ErrReleased, errors.New("the run is canceled")} {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := peertest.NewScript(t, map[string][]peertest.Reply{
			peertest.MethodStream: {func(w http.ResponseWriter, c *peertest.Request) {
				peertest.SendEvents(w, peertest.Task(peertest.Working, ""))
				cancel(cause)
				<-c.Ctx.Done()
			}},
			peertest.MethodCancel: {peertest.Result(peertest.Task(a2a.TaskStateCanceled, ""))},
		})
		if got, err := callTo(s.URL + client.WellKnown).Ask(ctx); err == nil {
			t.Errorf("%v: the reply is %q", cause, got)
		}
		if len(s.Got(peertest.MethodCancel)) != 1 {
			t.Errorf("%v: the task goes on", cause)
		}
	}
}

func TestACallHasItsTime(t *testing.T) {
	t.Parallel()
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	working := peertest.NewScript(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.OpenStream(peertest.Task(peertest.Working, ""))}, peertest.MethodCancel: {peertest.Result(peertest.Task(a2a.TaskStateCanceled, ""))}})
	for _, cardURL := range []string{slow.URL + client.WellKnown, working.URL + client.WellKnown} {
		c := callTo(cardURL)
		c.Timeout = 300 * time.Millisecond
		if code, text := refused(t, c); code != client.CodeTimeout || !strings.Contains(text, "within 300ms") {
			t.Errorf("the error is %s: %s", code, text)
		}
	}
}

func TestACallReachesNoPrivateAddress(t *testing.T) {
	t.Parallel()
	s := peertest.NewScript(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(peertest.Said("hi"))}})
	port := strings.TrimPrefix(s.URL, "http://127.0.0.1")
	for _, cardURL := range []string{s.URL + client.WellKnown, "http://localhost" + port + "/agent", "http://[::ffff:127.0.0.1]" + port} {
		c := callTo(cardURL)
		c.AllowPrivate = nil
		code, text := refused(t, c)
		if code != client.CodeUnreachable || !strings.Contains(text, "loopback") {
			t.Errorf("%s: the error is %s", cardURL, text)
		}
	}
	if n := len(s.Seen()); n != 0 {
		t.Errorf("%d requests came", n)
	}
	// A card must not lead there, either.
	s.Answer(func(w http.ResponseWriter, _ *http.Request) {
		peertest.WriteJSON(w, peertest.CardOf("http://127.0.0.2"+port))
	}, nil)
	c := callTo(s.URL + client.WellKnown)
	c.AllowPrivate = []string{"127.0.0.1"}
	_, err := c.Ask(t.Context())
	if _, ok := errors.AsType[*netguard.BlockedError](err); !ok {
		t.Errorf("the error is %v", err)
	}
}

func TestHeadersGoToTheOriginOfTheCardAlone(t *testing.T) {
	t.Parallel()
	elsewhere := peertest.NewScript(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(peertest.Said("hi"))}})
	s := peertest.NewScript(t, nil)
	card := peertest.CardOf(elsewhere.URL)
	s.Answer(func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, card) }, nil)
	c := callTo(s.URL + client.WellKnown)
	c.Headers["X-Tenant"], c.Headers["content-type"] = "acme-corp", "text/plain"
	if got, err := c.Ask(t.Context()); err != nil || got != "hi" {
		t.Fatalf("the reply is %q, %v", got, err)
	}
	if h := s.Seen()[0].Header; h.Get("Authorization") == "" || h.Get("X-Tenant") != "acme-corp" {
		t.Errorf("the card was asked for with %v", h)
	}
	if h := elsewhere.Seen()[0].Header; h.Get("Authorization") != "" || h.Get("X-Tenant") != "" || h.Get("Content-Type") != client.TypeJSON {
		t.Errorf("another origin was shown %v", h)
	}
	// Of the two interfaces, the request uses the interface that may receive headers.
	card.SupportedInterfaces = append(card.SupportedInterfaces, a2a.NewAgentInterface(s.URL, a2a.TransportProtocolHTTPJSON))
	_, _ = c.Ask(t.Context())
	if len(elsewhere.Seen()) != 1 {
		t.Error("the message went to another origin although the card names its own")
	}
}

func TestARedirectIsNotFollowedWithHeaders(t *testing.T) {
	t.Parallel()
	thief := peertest.NewHost(t)
	s := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	if code, text := refused(t, callTo(s.URL+client.WellKnown)); code != client.CodeRefused || !strings.Contains(text, "redirect") {
		t.Errorf("the error is %s", text)
	}
	if len(thief.Seen()) != 0 {
		t.Error("the redirect was followed")
	}
}

func TestACallThatCannotBeMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*Request{
		"no text":      {CardURL: "https://a.example"},
		"no URL":       {Text: "hi"},
		"no host":      {Text: "hi", CardURL: "https:///card"},
		"no http":      {Text: "hi", CardURL: "file:///etc/passwd"},
		"a password":   {Text: "hi", CardURL: "https://u:s3cret-t0ken@a.example"},
		"half a URL":   {Text: "hi", CardURL: "https://a.example/%zz?k=s3cret-t0ken"},
		"a wrong list": {Text: "hi", CardURL: "https://a.example", AllowPrivate: []string{"*"}},
	} {
		if _, err := c.Ask(t.Context()); err == nil || strings.Contains(err.Error(), callToken) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func TestTheQueryOfACardIsNotShown(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }))
	defer s.Close()
	if _, text := refused(t, callTo(s.URL+"/card?key="+callToken)); strings.Contains(text, callToken) {
		t.Errorf("the error is %s", text)
	}
}

func TestTheRootOfAnAgent(t *testing.T) {
	t.Parallel()
	for card, want := range map[string]string{
		"https://a.example/.well-known/agent-card.json":   "https://a.example",
		"https://a.example/x/.well-known/agent.json?v=1":  "https://a.example/x",
		"https://a.example/x/card.json":                   "https://a.example/x",
		"https://a.example/x/":                            "https://a.example/x",
		"https://a.example:8443":                          "https://a.example:8443",
		"https://a.example/a%2Fb/.well-known/agent.json#": "https://a.example/a%2Fb",
	} {
		u, err := url.Parse(card)
		if err != nil {
			t.Fatal(err)
		}
		if got := rootOf(u); got != want {
			t.Errorf("%s is below %s, not %s", card, got, want)
		}
	}
}

// Headers go to the card's origin: URLs derived from the card's URL must stay within it.
func FuzzTheRootOfAnAgentHasItsOrigin(f *testing.F) {
	for _, seed := range []string{
		"https://a.example/x/.well-known/agent-card.json", "http://a.example//b.example/card.json", "https://[::1]:8/a%2f..%2f.json?x#y", "https://a.example/.json", "https://a.example:/@b.example",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		card, err := parseCallURL(raw)
		if err != nil {
			t.Skip("no card is there")
		}
		for _, at := range places {
			u, err := url.Parse(rootOf(card) + at.path)
			if err != nil || client.Origin(u) != client.Origin(card) || u.User != nil || u.RawQuery != "" {
				t.Errorf("of %q comes %q, %v", raw, rootOf(card)+at.path, err)
			}
		}
	})
}

// cardlessAgent serves only version 0.3, at one path.
type cardlessAgent struct {
	path, method string
	mu           sync.Mutex
	tried        []string
	heard        atomic.Int32
}

func (a *cardlessAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w = peertest.EchoID(w, r)
	body, _ := io.ReadAll(r.Body)
	var call struct {
		Method string `json:"method"`
	}
	_ = json.Unmarshal(body, &call)
	a.mu.Lock()
	a.tried = append(a.tried, r.Method+" "+r.URL.Path+" "+call.Method)
	a.mu.Unlock()
	switch {
	case r.Method != http.MethodPost || r.URL.Path != a.path:
		http.NotFound(w, r)
	case call.Method != a.method:
		peertest.Fault(-32601, "no such method")(w, nil)
	default:
		a.heard.Add(1)
		switch a.method {
		case "message/send":
			peertest.Result(map[string]any{"kind": "message", "messageId": "m", "role": "agent", "parts": []any{map[string]any{"kind": "text", "text": "hi"}}})(w, nil)
		case "":
			peertest.WriteJSON(w, map[string]any{"message": map[string]any{"messageId": "m", "role": "ROLE_AGENT", "parts": []any{map[string]any{"text": "hi"}}}})
		default:
			peertest.Sent(&a2a.Message{ID: "m", Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart("hi")}})(w, nil)
		}
	}
}

func TestAnAgentWithoutACardIsLookedFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ path, method string }{
		{"/x", "message/send"}, {"/x", peertest.MethodSend}, {"/x/rpc", "message/send"}, {"/x/rpc", peertest.MethodSend}, {"/x/message:send", ""}, {"/x/message/send", "message/send"},
	} {
		t.Run(fmt.Sprintf("%s %s", tt.path, tt.method), func(t *testing.T) {
			t.Parallel()
			agent := &cardlessAgent{path: tt.path, method: tt.method}
			server := httptest.NewServer(agent)
			defer server.Close()
			got, err := callTo(server.URL + "/x" + client.WellKnown).Ask(t.Context())
			if err != nil || got != "hi" || agent.heard.Load() != 1 {
				t.Errorf("the reply is %q, %v; received %d times; tried %q", got, err, agent.heard.Load(), agent.tried)
			}
		})
	}
}

func TestAnAgentThatIsNowhere(t *testing.T) {
	t.Parallel()
	agent := &cardlessAgent{path: "/nowhere"}
	server := httptest.NewServer(agent)
	defer server.Close()
	if code, text := refused(t, callTo(server.URL+client.WellKnown)); code != client.CodeCard || !strings.Contains(text, "404") {
		t.Errorf("the error is %s; tried %q", text, agent.tried)
	}
}

// No path is tried after one that may have accepted the message.
func TestAMessageIsHeardOnce(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"an error":    func(w http.ResponseWriter, _ *http.Request) { peertest.Fault(-32603, "broken")(w, nil) },
		"a status":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"nonsense":    func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, "thanks") },
		"a page":      func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"a refusal":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"no more":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a lost task": func(w http.ResponseWriter, _ *http.Request) { peertest.Fault(-32001, "no such task")(w, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var there, elsewhere atomic.Int32
			mux := http.NewServeMux()
			mux.HandleFunc("GET /", http.NotFound)
			mux.HandleFunc("POST /{$}", func(w http.ResponseWriter, r *http.Request) { there.Add(1); answer(w, r) })
			mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) { elsewhere.Add(1); http.NotFound(w, r) })
			server := httptest.NewServer(mux)
			defer server.Close()
			refused(t, callTo(server.URL+client.WellKnown))
			if elsewhere.Load() != 0 {
				t.Errorf("the message was told at %d places more", elsewhere.Load())
			}
			if n := there.Load(); n != 1 && name != "no more" { // it may be sent again if no response came
				t.Errorf("the message was told %d times", n)
			}
		})
	}
}

// A failed card fetch does not justify guessing.
func TestACardThatCannotBeFetchedIsNotGuessed(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		http.StatusUnauthorized: client.CodeUnauthorized, http.StatusTooManyRequests: client.CodeRateLimited, http.StatusBadGateway: client.CodeUnreachable, http.StatusFound: client.CodeRefused,
	} {
		h := peertest.NewHost(t)
		h.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }, nil)
		if code, text := refused(t, callTo(h.URL+client.WellKnown)); code != want || len(h.Seen()) != 1 {
			t.Errorf("%d: the error is %s after %d requests", status, text, len(h.Seen()))
		}
	}
}
