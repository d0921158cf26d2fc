package a2a_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/testkit/openapitest"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	a2aserver "github.com/agentruntime/agentruntime/server/a2a"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/tools"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// world is a server with agents, and all that belongs to it.
type world struct {
	t       testing.TB
	model   *scriptedModel
	service *service.Service
	surface *a2aserver.Server
	url     string
	server  *server.Server
	// drain ends the server, once.
	drain func() error
}

// option changes what a world is made of.
type option func(*setup)

type setup struct {
	settings a2aserver.Settings
	server   server.Settings
	service  service.Settings
	agents   []spec.Agent
	tools    map[string]tools.Tool
}

// principals are the callers of the tests: alice and bob are of different
// tenants, eve may use no agent.
type principals struct{}

func (principals) Authenticate(r *http.Request) (*server.Principal, error) {
	switch name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); name {
	case "alice", "bob":
		return &server.Principal{Caller: service.Caller{Tenant: name + "'s", Subject: name}, KeyID: name}, nil
	case "ann": // of the tenant of alice
		return &server.Principal{Caller: service.Caller{Tenant: "alice's", Subject: name}, KeyID: name}, nil
	case "eve":
		return &server.Principal{Caller: service.Caller{Tenant: "eve's", Subject: name, Agents: service.NewAgentSet([]string{})}, KeyID: name}, nil
	default:
		return nil, &server.CredentialError{Missing: name == "", Problem: "who is that?"}
	}
}

// open returns a world that lives as long as the test.
func open(t testing.TB, options ...option) *world {
	t.Helper()
	w := &world{t: t, model: &scriptedModel{}}
	s := setup{
		agents: []spec.Agent{{ID: "clerk", Description: "Answers.", PluginIDs: []string{"asking"}}, {ID: "other", Description: "Answers, too."}},
		tools:  map[string]tools.Tool{"ask": toolFunc(func(context.Context, *tools.Call) (tools.Result, error) { return tools.TextResult("asked"), nil })},
	}
	s.server.Authenticator, s.server.Address = principals{}, "127.0.0.1:0"
	s.service.Dispatcher = local.New(local.Settings{Concurrency: 16})
	for _, set := range options {
		set(&s)
	}
	s.service.Runtime = w.build(&s)
	if s.service.Store == nil {
		m := memory.New(store.Settings{})
		t.Cleanup(func() { _ = m.Close() })
		s.service.Store = m
	}
	w.service = service.New(s.service)
	t.Cleanup(w.service.Close)
	if err := w.service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.serve(&s)
	return w
}

func (w *world) build(s *setup) *runtime.AgentRuntime {
	w.t.Helper()
	b := builder.New().WithProvider("fake", w.model).WithModel(spec.Model{ID: "m", ProviderID: "fake", UpstreamModel: "m"}).WithPlugin("asking", asking)
	for id, tool := range s.tools {
		b.WithTool(id, tool)
	}
	for _, a := range s.agents {
		if a.ModelID == "" && a.Endpoint == nil {
			a.ModelID = "m"
		}
		b.WithAgentSpec(a)
	}
	rt, err := b.Build()
	if err != nil {
		w.t.Fatal(err)
	}
	return rt
}

func (w *world) serve(s *setup) {
	t := w.t
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	srv, err := server.New(s.server)
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Listen(ctx); err != nil {
		t.Fatal(err)
	}
	w.server, w.url = srv, srv.LocalURL()
	if s.settings.PublicURL == "" {
		s.settings.PublicURL = w.url
	}
	s.settings.Service = w.service
	s.settings.Authenticator, s.settings.Enter = srv, srv.Enter
	if s.settings.GRPC == "" {
		s.settings.GRPC = "127.0.0.1:0"
	}
	if w.surface, err = a2aserver.New(s.settings); err != nil {
		t.Fatal(err)
	}
	if err := srv.Mount(ctx, w.surface); err != nil {
		t.Fatal(err)
	}
	serving, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(serving) }()
	w.drain = sync.OnceValue(func() error {
		end()
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return errors.Join(<-ended, srv.Shutdown(ctx))
	})
	t.Cleanup(func() {
		if err := w.drain(); err != nil {
			t.Errorf("the server does not end: %v", err)
		}
	})
}

// bearer shows who asks with each request.
type bearer string

func (b bearer) Before(ctx context.Context, req *a2aclient.Request) (context.Context, any, error) {
	req.ServiceParams["Authorization"] = []string{"Bearer " + string(b)}
	if len(req.ServiceParams.Get(a2a.SvcParamExtensions)) == 0 {
		req.ServiceParams.Append(a2a.SvcParamExtensions, a2awire.Extension)
	}
	return ctx, nil, nil
}

func (bearer) After(context.Context, *a2aclient.Response) error { return nil }

// http returns a client that holds what it sends and gets against the description
// of the server.
func (w *world) http() *http.Client {
	return &http.Client{Transport: openapitest.Transport(w.t, http.DefaultTransport, w.server.OpenAPI)}
}

// The transports of the tests.
var transports = []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON, a2a.TransportProtocolGRPC}

// client returns the SDK's client of an agent.
func (w *world) client(who, agent string, over a2a.TransportProtocol) *a2aclient.Client {
	w.t.Helper()
	at := a2a.NewAgentInterface(w.url+"/a2a/"+agent, over)
	if over == a2a.TransportProtocolGRPC {
		at = &a2a.AgentInterface{URL: w.surface.GRPCAddr(), ProtocolBinding: over, ProtocolVersion: a2a.Version, Tenant: agent}
	}
	c, err := a2aclient.NewFromEndpoints(w.t.Context(), []*a2a.AgentInterface{at},
		a2aclient.WithJSONRPCTransport(w.http()), a2aclient.WithRESTTransport(w.http()),
		a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())), a2aclient.WithCallInterceptors(bearer(who)))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Destroy() })
	return c
}

// alice returns a client of the clerk.
func (w *world) alice() *a2aclient.Client {
	return w.client("alice", "clerk", a2a.TransportProtocolJSONRPC)
}

// user is a message with a text.
func user(text string) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
}

// request asks for a message to be sent.
func request(m *a2a.Message) *a2a.SendMessageRequest { return &a2a.SendMessageRequest{Message: m} }

// atOnce asks for the answer not to be waited for.
func atOnce(m *a2a.Message) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: m, Config: &a2a.SendMessageConfig{ReturnImmediately: true}}
}

// send sends a message and returns the task.
func send(t testing.TB, c *a2aclient.Client, req *a2a.SendMessageRequest) *a2a.Task {
	t.Helper()
	res, err := c.SendMessage(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	task, ok := res.(*a2a.Task)
	if !ok {
		t.Fatalf("the result is a %T", res)
	}
	return task
}

// get returns a task.
func get(t testing.TB, c *a2aclient.Client, id a2a.TaskID) *a2a.Task {
	t.Helper()
	task, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// reach waits for a task to be in a state.
func reach(t testing.TB, c *a2aclient.Client, id a2a.TaskID, want a2a.TaskState) *a2a.Task {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		task := get(t, c, id)
		if task.Status.State == want {
			return task
		}
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("task %s is %s, not %s", id, task.Status.State, want)
		}
	}
}

// events collects a stream; err is how it ended.
func events(seq iter.Seq2[a2a.Event, error]) (list []a2a.Event, err error) {
	for ev, err := range seq {
		if err != nil {
			return list, err
		}
		list = append(list, ev)
	}
	return list, nil
}

// states returns the states that a stream went through.
func states(list []a2a.Event) []a2a.TaskState {
	var out []a2a.TaskState
	for _, ev := range list {
		switch ev := ev.(type) {
		case *a2a.Task:
			out = append(out, ev.Status.State)
		case *a2a.TaskStatusUpdateEvent:
			out = append(out, ev.Status.State)
		}
	}
	return out
}

// assembled returns the content of the artifacts of a stream, and whether each is
// complete, by id.
func assembled(list []a2a.Event) (content map[string]string, ended map[string]bool) {
	content, ended = make(map[string]string), make(map[string]bool)
	for _, ev := range list {
		switch ev := ev.(type) {
		case *a2a.Task:
			for _, a := range ev.Artifacts {
				content[string(a.ID)] = contentOf(a)
				ended[string(a.ID)] = ev.Status.State.Terminal() // a turn may end before its stream begins
			}
		case *a2a.TaskArtifactUpdateEvent:
			id := string(ev.Artifact.ID)
			if !ev.Append {
				content[id] = ""
			}
			content[id] += contentOf(ev.Artifact)
			ended[id] = ev.LastChunk
		}
	}
	return content, ended
}

// contentOf returns the text and the bytes of an artifact.
func contentOf(a *a2a.Artifact) string {
	text := a2awire.Text(a.Parts)
	for _, p := range a.Parts {
		text += string(p.Raw())
	}
	return text
}

// answerOf returns the answer of a task.
func answerOf(task *a2a.Task) string {
	for _, a := range task.Artifacts {
		if a.ID == "response" {
			return contentOf(a)
		}
	}
	return ""
}

// answer is an answer over HTTP, whose body was read.
type answer struct {
	StatusCode int
	Header     http.Header
}

// post sends a request over HTTP as it is, and returns the answer and its body.
func (w *world) post(path, contentType, body string, header ...string) (answer, string) {
	return w.do(http.MethodPost, path, body, append([]string{"Content-Type", contentType}, header...)...)
}

func (w *world) do(method, path, body string, header ...string) (answer, string) {
	w.t.Helper()
	return w.ask(w.http(), method, path, body, header...)
}

// plainly sends a request that the description of the server leaves out, and follows
// no redirect.
func (w *world) plainly(method, path, body string, header ...string) (answer, string) {
	w.t.Helper()
	return w.ask(&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, method, path, body, header...)
}

func (w *world) ask(client *http.Client, method, path, body string, header ...string) (answer, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Del(header[i])
		if header[i+1] != "" {
			req.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header}, string(data)
}
