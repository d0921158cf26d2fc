package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/agentruntime/agentruntime/app"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// asking declares an agent whose turns wait for the answer to a question.
const asking = `version: 1
providers: {s: {type: scripted, script: ./script.yaml}}
models: {m: {provider_id: s, upstream_model: x}}
tools: {ask: {type: ask}}
agents: {clerk: {description: Asks., model_id: m}}
store: {driver: memory}
server:
  keys: [{id: ci, key: ark_right-right-right}]
  a2a: {grpc_listen: "127.0.0.1:0"}
`

const askingScript = `replies:
  - {match: go, tool_calls: [{id: call_1, name: ask, arguments: {question: Which way?}}]}
fallback: {text: Done.}
`

// surfaceWay describes how a turn is started, followed and answered on a surface. Requests are a
// method, a path and, after a line break, a body.
type surfaceWay struct {
	begin, stream, answer string
	// refused is the status of requests rejected during shutdown.
	refused int
}

const (
	goMessage  = `{"message":{"messageId":"%s","role":"ROLE_USER","parts":[{"text":"go"}]}}`
	leftAnswer = `{"message":{"messageId":"m2","taskId":"{id}","role":"ROLE_USER","parts":[{"text":"left"}]}}`
	runsAt     = "/api/v1/workspaces/default/agent-runs"
)

// surfaceWays returns the ways for HTTP. The messages before and after the start of shutdown
// differ.
func surfaceWays(message string) map[string]surfaceWay {
	say := fmt.Sprintf(goMessage, message)
	rpc := func(method, params string) string {
		return "POST /a2a/clerk\n" + `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	}
	return map[string]surfaceWay{
		"agent runs": {
			"POST " + runsAt + "\n" + `{"agentId":"clerk","prompt":"go"}`, "GET " + runsAt + "/{id}/stream",
			"POST " + runsAt + "/{id}/tool-results\n" + `{"toolUseId":"call_1","result":"left"}`, http.StatusServiceUnavailable,
		},
		"native": {
			"POST /runtime/v1/turns\n" + `{"session_id":"{session}","agent_id":"clerk","input":[{"role":"user","parts":[{"type":"text","text":"go"}]}]}`,
			"GET /runtime/v1/turns/{id}/events",
			"POST /runtime/v1/turns/{id}/interactions/{interaction}\n" + `{"action":"resume","result":"left"}`, http.StatusServiceUnavailable,
		},
		"A2A over JSON-RPC":            {rpc("SendMessage", say), rpc("SubscribeToTask", `{"id":"{id}"}`), rpc("SendMessage", leftAnswer), http.StatusOK},
		"A2A over JSON-RPC, as stream": {rpc("SendStreamingMessage", say), rpc("SubscribeToTask", `{"id":"{id}"}`), rpc("SendStreamingMessage", leftAnswer), http.StatusOK},
		"A2A over REST": {
			"POST /a2a/clerk/message:send\n" + say, "POST /a2a/clerk/tasks/{id}:subscribe", "POST /a2a/clerk/message:send\n" + leftAnswer, http.StatusServiceUnavailable,
		},
		"A2A over REST, as stream": {
			"POST /a2a/clerk/message:stream\n" + say, "GET /a2a/clerk/tasks/{id}:subscribe", "POST /a2a/clerk/message:stream\n" + leftAnswer, http.StatusServiceUnavailable,
		},
	}
}

// turnID finds a turn's ID in a surface's response.
var turnID = regexp.MustCompile(`"(?:runId|taskId|id)":"([^"]{20,})"`)

// request makes a request and returns the status, the header and the first part of the response, or
// all of it.
func request(t *testing.T, base, text string, whole bool) (int, http.Header, string) {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n")
	method, path, _ := strings.Cut(head, " ")
	req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer ark_right-right-right")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", head, err)
	}
	defer resp.Body.Close()
	if !whole {
		line, err := bufio.NewReader(resp.Body).ReadString('\n')
		if err != nil {
			t.Errorf("%s: %v", head, err)
		}
		return resp.StatusCode, resp.Header, line
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", head, err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

// await polls a turn until it contains want and returns it.
func await(t *testing.T, base, path, want string) string {
	t.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for late := time.After(20 * time.Second); ; {
		_, _, text := request(t, base, "GET /runtime/v1/turns/"+path, true)
		if strings.Contains(text, want) {
			return text
		}
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("turn %s never is %s: %s", path, want, text)
		}
	}
}

// openAsking opens and serves an app whose agent asks a question.
func openAsking(t *testing.T) (a *app.App, base string) {
	t.Helper()
	file := write(t, asking)
	writeBeside(t, file, "script.yaml", askingScript)
	return openServed(t, file)
}

// A server that is shutting down rejects new turns on every surface and keeps serving existing
// turns: their streams, and the answers that they wait for.
func TestADrainingServerTakesAnswersAndNothingNew(t *testing.T) {
	a, base := openAsking(t)
	over, ctx := grpcClient(t, base)

	waiting := map[string]string{}
	for name, way := range surfaceWays("m1" + t.Name()) {
		way.begin = strings.ReplaceAll(way.begin, "m1", "m1"+strings.ReplaceAll(name, " ", "-"))
		if strings.Contains(way.begin, "{session}") {
			_, _, made := request(t, base, "POST /runtime/v1/sessions\n{}", true)
			way.begin = strings.ReplaceAll(way.begin, "{session}", turnID.FindStringSubmatch(made)[1])
		}
		_, _, text := request(t, base, way.begin, true)
		found := turnID.FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("%s: no turn is begun: %s", name, text)
		}
		waiting[name] = found[1]
	}
	begun, err := over.SendMessage(ctx, &apb.SendMessageRequest{Tenant: "clerk", Message: said("m1", "", "go")})
	if err != nil {
		t.Fatal(err)
	}
	waiting["gRPC"] = begun.GetTask().GetId()
	for _, id := range waiting {
		await(t, base, id+"/interactions", `"pending"`)
	}

	a.Server().BeginDrain()
	for name, way := range surfaceWays("m3") {
		status, header, text := request(t, base, way.begin, true)
		if status != way.refused || header.Get("Retry-After") == "" || !strings.Contains(text, "shutting down") {
			t.Errorf("%s: a new turn is answered with %d, Retry-After %q, %s", name, status, header.Get("Retry-After"), text)
		}
		id := waiting[name]
		fill := strings.NewReplacer("{id}", id, "{interaction}", interactionOf(t, base, id))
		if status, _, text := request(t, base, fill.Replace(way.stream), false); status != http.StatusOK || text == "" {
			t.Errorf("%s: the stream is answered with %d %q", name, status, text)
		}
		if status, _, text := request(t, base, fill.Replace(way.answer), true); status != http.StatusOK {
			t.Errorf("%s: the answer is answered with %d %s", name, status, text)
		}
		await(t, base, id, `"status":"succeeded"`)
	}

	_, err = over.SendMessage(ctx, &apb.SendMessageRequest{Tenant: "clerk", Message: said("m3", "", "go")})
	refused := status.Convert(err)
	if refused.Code() != codes.Unavailable || len(refused.Details()) != 1 || refused.Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration() <= 0 {
		t.Errorf("gRPC: a new turn is answered with %v, %v", err, refused.Details())
	}
	streams, err := over.SendStreamingMessage(ctx, &apb.SendMessageRequest{Tenant: "clerk", Message: said("m4", "", "go")})
	if err == nil {
		_, err = streams.Recv()
	}
	if status.Code(err) != codes.Unavailable {
		t.Errorf("gRPC: a new turn as a stream is answered with %v", err)
	}
	if streams, err = over.SubscribeToTask(ctx, &apb.SubscribeToTaskRequest{Tenant: "clerk", Id: waiting["gRPC"]}); err == nil {
		_, err = streams.Recv()
	}
	if err != nil {
		t.Errorf("gRPC: the stream is answered with %v", err)
	}
	if _, err := over.SendMessage(ctx, &apb.SendMessageRequest{Tenant: "clerk", Message: said("m2", waiting["gRPC"], "left")}); err != nil {
		t.Errorf("gRPC: the answer is answered with %v", err)
	}
	await(t, base, waiting["gRPC"], `"status":"succeeded"`)
}

// said is a message of a client.
func said(id, task, text string) *apb.Message {
	return &apb.Message{MessageId: id, TaskId: task, Role: apb.Role_ROLE_USER, Parts: []*apb.Part{{Content: &apb.Part_Text{Text: text}}}}
}

// interactionOf returns the interaction that a turn waits for.
func interactionOf(t *testing.T, base, id string) string {
	t.Helper()
	var list struct {
		Interactions []struct{ ID string } `json:"interactions"`
	}
	text := await(t, base, id+"/interactions", `"pending"`)
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Interactions) != 1 {
		t.Fatalf("turn %s waits for %s", id, text)
	}
	return list.Interactions[0].ID
}

// grpcClient returns a client for the card's gRPC address and the context of its calls.
func grpcClient(t *testing.T, base string) (apb.A2AServiceClient, context.Context) {
	t.Helper()
	_, _, text := request(t, base, "GET /a2a/clerk/.well-known/agent-card.json", true)
	var card struct {
		SupportedInterfaces []struct{ URL, ProtocolBinding string }
	}
	if err := json.Unmarshal([]byte(text), &card); err != nil {
		t.Fatal(err)
	}
	for _, i := range card.SupportedInterfaces {
		if i.ProtocolBinding != "GRPC" {
			continue
		}
		_, port, err := net.SplitHostPort(i.URL)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := grpc.NewClient("127.0.0.1:"+port, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return apb.NewA2AServiceClient(conn), metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer ark_right-right-right", "a2a-version", "1.0")
	}
	t.Fatalf("the card has no gRPC: %s", text)
	return nil, nil
}

// During shutdown, a server waits only for clients that follow a run and owe it an answer.
func TestADrainingServerWaitsForClientsThatOweAnAnswer(t *testing.T) {
	a, base := openAsking(t)
	way := surfaceWays("m1")["agent runs"]
	_, _, text := request(t, base, way.begin, true)
	id := turnID.FindStringSubmatch(text)[1]
	interactionOf(t, base, id)
	a.Server().BeginDrain()

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a.Server().DrainClients(ctx)
	if ctx.Err() != nil {
		t.Error("a run that nobody follows is waited for")
	}
	follow := func() (leave func()) {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+strings.ReplaceAll(strings.TrimPrefix(way.stream, "GET "), "{id}", id), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer ark_right-right-right")
		resp, err := http.DefaultClient.Do(req) //nolint:bodyclose // the caller closes it
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		return func() {
			cancel()
			_ = resp.Body.Close()
		}
	}
	leave := follow()
	short, over := context.WithTimeout(t.Context(), time.Second/2)
	defer over()
	a.Server().DrainClients(short)
	if short.Err() == nil {
		t.Error("a client that owes an answer is not waited for")
	}
	ended := make(chan struct{})
	go func() { defer close(ended); a.Server().DrainClients(ctx) }()
	leave()
	<-ended
	if ctx.Err() != nil {
		t.Error("a client that is gone is waited for")
	}
	defer follow()()
	if status, _, text := request(t, base, strings.ReplaceAll(way.answer, "{id}", id), true); status != http.StatusOK {
		t.Errorf("the answer is answered with %d %s", status, text)
	}
	a.Server().DrainClients(ctx)
	if ctx.Err() != nil {
		t.Error("a client that has answered is waited for")
	}
}
