package mcp

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
)

const (
	hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	tell  = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	stop  = `{"jsonrpc":"2.0","id":3,"method":"nothing/there"}`
)

// open opens a session by hand and returns its id.
func (w *world) open(key, path string) string {
	w.t.Helper()
	status, header, body := w.post(key, path, hello)
	if id := header.Get(sessionHeader); status == http.StatusOK && id != "" {
		return id
	}
	w.t.Fatalf("%d %s", status, body)
	return ""
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := serving(t)
	id := w.open("alice", "/mcp")
	other := w.open("alice", "/mcp")
	if status, _, body := w.send(http.MethodDelete, "alice", "/mcp", "", sessionHeader, other); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, body)
	}
	session := []string{sessionHeader, id, versionHeader, "2025-11-25"}
	for name, tt := range map[string]struct {
		body   string
		header []string
		status int
	}{
		"no session":              {tell, nil, 400},
		"an unknown session":      {tell, []string{sessionHeader, "nothing"}, 404},
		"an ended session":        {tell, []string{sessionHeader, other}, 404},
		"not JSON":                {"{", session, 400},
		"too deep":                {strings.Repeat("[", 5000), session, 400},
		"a batch":                 {"[" + tell + "]", session, 400},
		"another type":            {tell, append([]string{"Content-Type", "text/plain"}, session...), 415},
		"JSON alone is accepted":  {tell, append([]string{"Accept", "application/json"}, session...), 400},
		"an unknown version":      {tell, []string{sessionHeader, id, versionHeader, "2020-01-01"}, 400},
		"a page of another site":  {tell, append([]string{"Origin", "http://evil.example"}, session...), 403},
		"no page":                 {tell, append([]string{"Origin", "null"}, session...), 403},
		"a rebound name":          {tell, append([]string{"Host", "evil.example"}, session...), 403},
		"a rebound page":          {tell, append([]string{"Host", "evil.example", "Origin", "http://evil.example"}, session...), 403},
		"an allowed page":         {tell, append([]string{"Origin", "https://console.example"}, session...), 200},
		"an own page":             {tell, append([]string{"Origin", w.url}, session...), 200},
		"an unknown method":       {stop, session, 200},
		"a future version":        {tell, []string{versionHeader, "2099-01-01"}, 400},
		"stateless without _meta": {tell, []string{versionHeader, firstStateless, "Mcp-Method", "tools/list"}, 400},
	} {
		status, _, body := w.post("alice", "/mcp", tt.body, tt.header...)
		if status != tt.status {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if name == "not JSON" && !strings.Contains(body, `"the body is not valid JSON: unexpected end of JSON input at byte 1"`) {
			t.Errorf("%s: the error is %s", name, body)
		}
		if status >= 400 && !strings.HasPrefix(body, `{"jsonrpc":"2.0","id":`) {
			t.Errorf("%s: the error is %s", name, body)
		}
		if name == "an unknown method" && !strings.Contains(body, "-32601") {
			t.Errorf("%s: %s", name, body)
		}
	}
}

func TestASessionAnswersItsKeyOnly(t *testing.T) {
	t.Parallel()
	w := serving(t)
	id := w.open("alice", "/mcp")
	for _, key := range []string{"bob", "ann"} { // ann is another key of alice
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			if status, _, body := w.send(method, key, "/mcp", tell, sessionHeader, id); status != http.StatusNotFound {
				t.Errorf("%s %s: %d %s", key, method, status, body)
			}
		}
		for _, method := range append([]string{"notifications/initialized", "notifications/cancelled", "nothing/there"}, legacyMethods...) {
			message := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":{"name":"plain","arguments":{"message":"hi"}}}`, method)
			if status, _, body := w.post(key, "/mcp", message, sessionHeader, id); status != http.StatusNotFound {
				t.Errorf("%s %s: %d %s", key, method, status, body)
			}
		}
	}
	if status, _, body := w.post("alice", "/mcp", tell, sessionHeader, id); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
}

func TestEachKeyHasItsTools(t *testing.T) {
	t.Parallel()
	w := serving(t)
	object := toolName("team:object")
	all := []string{"clerk", "greeter", "list", "plain", object}
	for key, paths := range map[string]map[string][]string{
		"alice": {"/mcp": all, "/mcp/plain": {"plain"}, "/mcp/team:object": {object}},
		"ann":   {"/mcp": {"plain"}, "/mcp/plain": {"plain"}},
	} {
		for path, tools := range paths {
			for era, version := range eras {
				session := w.connect(key, path, version, nil)
				if got := toolNames(t, session); fmt.Sprint(got) != fmt.Sprint(tools) {
					t.Errorf("%s %s %s: the tools are %v", key, path, era, got)
				}
				for _, tool := range all {
					result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"message": "{\"name\":\"x\"}"}})
					may := strings.Contains(fmt.Sprint(tools), tool)
					if (err == nil) != may || err != nil && !strings.Contains(err.Error(), "unknown tool") {
						t.Errorf("%s %s %s: calling %s: %v %v", key, path, era, tool, result, err)
					}
				}
			}
		}
	}
	for request, status := range map[string]int{"ann /mcp/clerk": 404, "alice /mcp/nothing": 404, "joe /mcp": 403, " /mcp": 401, "eve /mcp/plain": 401} {
		key, path, _ := strings.Cut(request, " ")
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			got, header, body := w.send(method, key, path, hello)
			if got != status {
				t.Errorf("%s %q: %d %s", method, request, got, body)
			}
			if challenge := header.Get("WWW-Authenticate"); status == 401 && !strings.Contains(challenge, `resource_metadata="`+w.url+metadataPath+path+`"`) {
				t.Errorf("%s %q: the challenge is %s", method, request, challenge)
			}
			if challenge := header.Get("WWW-Authenticate"); status == 403 && !strings.Contains(challenge, `error="insufficient_scope"`) {
				t.Errorf("%s %q: the challenge is %s", method, request, challenge)
			}
		}
	}
}

func TestTheResourceHasMetadata(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for path, resource := range map[string]string{"": "/mcp", "/mcp": "/mcp", "/mcp/plain": "/mcp/plain"} {
		status, header, body := w.send(http.MethodGet, "", metadataPath+path, "")
		var got struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK || got.Resource != w.url+resource ||
			fmt.Sprint(got.Servers) != "[https://issuer.example]" || header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %s %v", path, status, body, err)
		}
	}
}

func TestAKeyHasABoundedNumberOfSessions(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for range maxSessions {
		w.open("alice", "/mcp")
	}
	if _, header, body := w.post("alice", "/mcp", hello); header.Get(sessionHeader) != "" && !strings.Contains(body, "open sessions") {
		t.Errorf("%s", body)
	}
	w.open("bob", "/mcp")
}

func TestAStreamResumes(t *testing.T) {
	t.Parallel()
	w := serving(t)
	id := w.open("alice", "/mcp")
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"plain","arguments":{"message":"hang"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer alice"}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, sessionHeader: {id}, versionHeader: {"2025-11-25"}}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	last, kept := "", false
	for lines := bufio.NewScanner(resp.Body); (last == "" || !kept) && lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			last = text
		}
		kept = kept || lines.Text() == ": keep-alive"
	}
	<-w.echoModel.hung
	cut()
	turns, err := w.service.ListTurns(t.Context(), service.Operator(), store.TurnQuery{})
	if err != nil || len(turns.Turns) != 1 || turns.Turns[0].Status != service.Running {
		t.Fatalf("the turn of a lost stream: %v %v", turns, err)
	}
	go func() { <-w.echoModel.hung }()
	if _, err := w.service.CancelTurn(t.Context(), service.Operator(), turns.Turns[0].ID, "enough"); err != nil {
		t.Fatal(err)
	}
	req, err = http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer alice"}, "Accept": {"text/event-stream"}, sessionHeader: {id}, versionHeader: {"2025-11-25"}, "Last-Event-ID": {last}}
	again, err := (&http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: 10 * time.Second}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Body.Close()
	data, err := io.ReadAll(again.Body)
	if err != nil || !strings.Contains(string(data), `"id":7`) || !strings.Contains(string(data), "enough") {
		t.Errorf("the resumed stream has %s, %v", data, err)
	}
	if n := strings.Count(string(data), `"id":7`); n != 1 {
		t.Errorf("the result arrives %d times", n)
	}
}

func TestPromptsAndResourcesOfTheConfiguration(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for era, version := range eras {
		session := w.connect("alice", "/mcp", version, nil)
		prompt, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "{{how}}", "how": "well"}})
		if err != nil || len(prompt.Messages) != 1 || prompt.Messages[0].Content.(*mcp.TextContent).Text != "Greet {{how}} well" {
			t.Errorf("%s: %v %v", era, prompt, err)
		}
		for name, arguments := range map[string]map[string]string{"missing": {}, "unknown": {"name": "x", "nome": "y"}} {
			if _, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet", Arguments: arguments}); err == nil {
				t.Errorf("%s: %s arguments are accepted", era, name)
			}
		}
		read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc://rules"})
		if err != nil || len(read.Contents) != 1 || read.Contents[0].Text != "Be nice." {
			t.Errorf("%s: %v %v", era, read, err)
		}
		if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc://nothing"}); err == nil {
			t.Errorf("%s: an unknown resource is read", era)
		}
	}
}

func TestAPanicIsAnError(t *testing.T) {
	t.Parallel()
	s := &Surface{settings: Settings{Logger: zap.NewNop()}}
	_, err := s.recoverPanics(func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("secret") })(t.Context(), "x", nil)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

func TestClientsOnStreamsOfLines(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for era, version := range eras {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- w.surface.ServeLines(ctx, service.Caller{Tenant: "acme", Subject: "local", Agents: service.NewAgentSet([]string{"plain"})}, in, out)
		}()
		go func() { _, _ = io.WriteString(toServer, "not a message\n\n") }()
		client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(toolNames(t, session)); got != "[plain]" {
			t.Errorf("%s: the tools are %s", era, got)
		}
		if got := w.say(session, "plain", "hi"); got != "You said hi" {
			t.Errorf("%s: %q", era, got)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", era, err)
		}
		cancel()
	}
}

// TestMessagesThatCannotBeDecodedAreAnswered sends messages that are invalid in different ways, and
// then a valid one.
func TestMessagesThatCannotBeDecodedAreAnswered(t *testing.T) {
	t.Parallel()
	w := serving(t)
	const begin = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	const old = "2025-03-26" // the last version with batches
	deep := strings.Repeat(`[`, 1000) + strings.Repeat(`]`, 1000)
	const call = `{"jsonrpc":"2.0","id":5,"method":"ping","params":{}}`
	for _, c := range []struct{ line, want, version string }{
		{line: call, want: `{"jsonrpc":"2.0","id":5,"result":{}}`},
		{line: strings.Replace(call, "{}", `{"a":`+deep[2:1998]+`}`, 1), want: `"result"`},
		{line: `{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":` + deep + `}}`, want: `{"error":{"code":-32700,"message":"the message is nested deeper than 1000 levels"},"id":5,"jsonrpc":"2.0"}`},
		{line: `{"jsonrpc":"2.0","method":"notifications/progress","params":{"a":` + deep + `}}`, want: `"code":-32700`},
		{line: `{"jsonrpc":"2.0","id":1,"result":{"a":` + deep + `}}`, want: `"id":null`},
		{line: `[` + deep + `]`, want: `"code":-32700`},
		{line: `{"jsonrpc":"2.0","id":5`, want: `"code":-32700`},
		{line: `{"jsonrpc":"1.0","id":"x","method":"ping"}`, want: `"id":"x"`},
		{line: `{"jsonrpc":"2.0","id":{},"method":"ping"}`, want: `"code":-32600`},
		{line: `{"jsonrpc":"2.0","id":5,"method":7}`, want: `"code":-32600`},
		{line: `{"jsonrpc":"2.0"}`, want: `"code":-32600`},
		{line: `[]`, want: `"code":-32600`},
		{line: `[1]`, want: `"code":-32600`},
		{line: "[" + call + "]", want: `"code":-32600`},
		{line: "[" + call + "]", want: `[{"jsonrpc":"2.0","id":5,"result":{}}]`, version: old},
		{line: `[]`, want: `"code":-32600`, version: old},
		{line: `[1]`, want: `"code":-32600`, version: old},
		{line: "[" + call + "," + call + "]", want: "two messages of the batch have one id", version: old},
	} {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- w.surface.ServeLines(t.Context(), service.Caller{Tenant: "acme", Subject: "local"}, in, out)
		}()
		answers := bufio.NewReader(fromServer)
		ask := func(line string) string {
			go func() { _, _ = io.WriteString(toServer, line+"\n") }()
			answer, err := answers.ReadString('\n')
			if err != nil {
				t.Fatalf("%.100s: %v", c.line, err)
			}
			return answer
		}
		ask(strings.Replace(begin, "2025-06-18", cmp.Or(c.version, "2025-06-18"), 1))
		if got := ask(c.line); !strings.Contains(got, c.want) {
			t.Errorf("%.100s answers %s", c.line, got)
		}
		if got := ask(`{"jsonrpc":"2.0","id":9,"method":"ping"}`); !strings.Contains(got, `"id":9`) || !strings.Contains(got, `"result"`) {
			t.Errorf("after %.100s, a ping answers %s", c.line, got)
		}
		_ = toServer.Close()
		if err := <-ended; err != nil {
			t.Errorf("%.100s: %v", c.line, err)
		}
	}
}

func TestTheRoutesAreDescribed(t *testing.T) {
	t.Parallel()
	w := serving(t)
	if status, _, body := w.send(http.MethodGet, "alice", "/openapi.json", ""); status != http.StatusOK || !strings.Contains(body, `"/mcp/{agent}"`) {
		t.Errorf("%d %s", status, body[:min(len(body), 500)])
	}
	if _, err := w.http.OpenAPI(); err != nil {
		t.Error(err)
	}
	session := w.open("alice", "/mcp")
	for _, c := range []struct {
		request, body string
		header        []string
		want          int
	}{
		{"POST /mcp", `{}`, []string{"Content-Type", "text/plain"}, http.StatusUnsupportedMediaType},
		{"POST /mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, []string{sessionHeader, session}, http.StatusAccepted},
		{"POST /mcp", `{"jsonrpc":"2.0","id":1,"method":"nothing"}`, []string{sessionHeader, session}, http.StatusOK},
		{"POST /mcp/nobody", `{}`, nil, http.StatusNotFound},
		{"GET /mcp", "", nil, http.StatusBadRequest},
		{"DELETE /mcp", "", []string{sessionHeader, session}, http.StatusNoContent},
		{"GET /.well-known/oauth-protected-resource", "", nil, http.StatusOK},
		{"GET /.well-known/oauth-protected-resource/mcp/clerk", "", nil, http.StatusOK},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		if status, _, body := w.send(method, "alice", path, c.body, c.header...); status != c.want { // send checks the description
			t.Errorf("%s %s: %d %s", c.request, c.body, status, body)
		}
	}
}
