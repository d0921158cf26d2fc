//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

const providerConfig = `version: 1
store: {driver: sqlite, dsn: ./runtime.db}
providers:
  demo: {type: scripted, script: ./replies.yaml}
  vendor: {type: openai, api: chat_completions, host_connection: model}
models:
  small: {provider_id: demo, upstream_model: x}
  granted: {provider_id: vendor, upstream_model: x}
  large: {provider_id: demo, upstream_model: y}
workspaces: {prepared_roots: [SPACES]}
tools:
  files: {type: workspace}
  crm: {type: http, url: "CRM/customers", allow_private: [127.0.0.1], host_connection: crm, effect: read, parameters: {type: object}}
  pay: {type: command, command: [cat], description: Pays., parameters: {type: object}}
agents:
  clerk:
    model_id: small
    plugin_ids: [permission]
    sections: {permission: {default_behavior: allow, rules: [{tool: pay, behavior: ask}]}}
`

const providerReplies = `replies:
  - {match: synced 7, text: All is in order.}
  - {match: found nothing, text: There is nothing.}
  - match: sync
    tool_calls: [{id: call_1, name: roadmap__sync, arguments: {count: 7}}]
  - match: look
    tool_calls: [{id: call_2, name: roadmap__find, arguments: {}}]
  - match: block
    tool_calls: [{id: call_3, name: roadmap__block, arguments: {}}]
  - match: crash
    tool_calls: [{id: call_4, name: roadmap__crash, arguments: {}}]
  - match: files
    tool_calls: [{id: call_6, name: files_read_file, arguments: {path: a.txt}}]
  - {match: in the workspace, text: I have read it.}
  - match: customers
    tool_calls: [{id: call_7, name: crm, arguments: {}}]
  - {match: hello, text: The customer is Ann.}
  - {match: connection, text: I am not let in.}
  - match: pay
    tool_calls: [{id: call_5, name: pay, arguments: {text: paid}}]
fallback: {text: Hello from the clerk.}
`

// providerHost plays the daemon: it is written only from the protocol.
type providerHost struct {
	pb.UnimplementedAgentHostServer
	t                  *testing.T
	dir, socket, calls string
	// args are additional arguments of the provider.
	args []string
	// crm is the destination of requests with the host's connections.
	crm  string
	cmd  *exec.Cmd
	said *strings.Builder
	conn *grpc.ClientConn
	pb.AgentProviderClient

	mu sync.Mutex
	// keys are the idempotency keys of calls, by tool, and traces their trace contexts.
	keys   map[string][]string
	traces []string
	pages  int
	// served has the connections that turns may resolve, and resolved the requested ones.
	served   map[string]*pb.ResolvedAgentConnection
	resolved []string
	// blocked receives the end of a call that blocks.
	blocked chan error
	// crash is closed when the call that crashes the provider has begun.
	crash chan struct{}
}

func newProviderHost(t *testing.T) *providerHost {
	t.Helper()
	return newProviderHostOf(t, providerConfig, providerReplies)
}

// newProviderHostOf starts a provider with a configuration, its model's replies and additional
// arguments.
func newProviderHostOf(t *testing.T, config, replies string, args ...string) *providerHost {
	t.Helper()
	dir, err := os.MkdirTemp("", "host") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	crm := httptest.NewServer(http.HandlerFunc(serveConnected))
	t.Cleanup(crm.Close)
	for name, text := range map[string]string{"config.yaml": config, "replies.yaml": replies} {
		text = strings.ReplaceAll(text, "SPACES", filepath.Join(dir, "spaces"))
		text = strings.ReplaceAll(text, "CRM", crm.URL)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := &providerHost{
		t: t, dir: dir, args: args, crm: crm.URL, socket: filepath.Join(dir, "p.sock"), calls: filepath.Join(dir, "h.sock"),
		keys: make(map[string][]string), blocked: make(chan error, 1), crash: make(chan struct{}),
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", h.calls)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterAgentHostServer(server, h)
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-served })
	h.start()
	t.Cleanup(h.kill)
	return h
}

// start starts the provider and performs the handshake.
func (h *providerHost) start() {
	h.t.Helper()
	h.said = new(strings.Builder)
	h.cmd = exec.Command("runtime", append([]string{"provider", "serve", "config.yaml"}, h.args...)...)
	h.cmd.Dir, h.cmd.Stderr = h.dir, h.said
	h.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "GESTALT_PLUGIN_SOCKET=" + h.socket, "GESTALT_AGENT_HOST_SOCKET=unix://" + h.calls,
		fmt.Sprintf("GESTALT_PLUGIN_PARENT_PID=%d", os.Getpid()), "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"),
	}
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	conn, err := grpc.NewClient("unix:"+h.socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"))
	if err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock()
	h.conn, h.AgentProviderClient = conn, pb.NewAgentProviderClient(conn)
	h.mu.Unlock()
	lifecycle := pb.NewProviderLifecycleClient(conn)
	ctx, cancel := context.WithTimeout(h.t.Context(), storeTime)
	defer cancel()
	who, err := lifecycle.GetProviderIdentity(ctx, &emptypb.Empty{}, grpc.WaitForReady(true))
	if err != nil || who.GetKind() != pb.ProviderKind_PROVIDER_KIND_AGENT || who.GetMinProtocolVersion() > 3 || who.GetMaxProtocolVersion() < 3 {
		h.t.Fatalf("the identity is %v, %v\n%s", who, err, h.said)
	}
	if _, err := h.GetCapabilities(ctx, &pb.GetAgentProviderCapabilitiesRequest{}); err != nil {
		h.t.Errorf("capabilities before the configuration: %v", err)
	}
	if _, err := h.GetSession(ctx, &pb.GetAgentProviderSessionRequest{SessionId: "s"}); status.Code(err) != codes.FailedPrecondition {
		h.t.Errorf("a request before the configuration: %v", err)
	}
	if _, err := lifecycle.ConfigureProvider(ctx, &pb.ConfigureProviderRequest{Name: "clerks", ProtocolVersion: 2}); status.Code(err) != codes.FailedPrecondition {
		h.t.Errorf("another version of the protocol: %v", err)
	}
	configured, err := lifecycle.ConfigureProvider(ctx, &pb.ConfigureProviderRequest{Name: "clerks", ProtocolVersion: 3})
	if err != nil || configured.GetProtocolVersion() != 3 {
		h.t.Fatalf("the configuration gives %v, %v\n%s", configured, err, h.said)
	}
	if again, err := lifecycle.ConfigureProvider(ctx, &pb.ConfigureProviderRequest{Name: "clerks", ProtocolVersion: 3}); err != nil || again.GetProtocolVersion() != 3 {
		h.t.Errorf("the same configuration again gives %v, %v", again, err)
	}
	if _, err := lifecycle.ConfigureProvider(ctx, &pb.ConfigureProviderRequest{Name: "others", ProtocolVersion: 3}); status.Code(err) != codes.FailedPrecondition {
		h.t.Errorf("another configuration: %v", err)
	}
	if health, err := lifecycle.HealthCheck(ctx, &emptypb.Empty{}); err != nil || !health.GetReady() {
		h.t.Fatalf("the health is %v, %v", health, err)
	}
}

// kill kills the provider like the kernel would.
func (h *providerHost) kill() {
	_ = h.cmd.Process.Signal(syscall.SIGKILL)
	_ = h.cmd.Wait()
	_ = h.conn.Close()
}

const grant = "grant-of-the-turn"

// check verifies a call as a host does: the grant, and the turn at the provider.
func (h *providerHost) check(ctx context.Context, turnID, run string) error {
	if run != grant {
		return status.Error(codes.PermissionDenied, "no such grant")
	}
	h.mu.Lock()
	client := h.AgentProviderClient
	h.mu.Unlock()
	t, err := client.GetTurn(ctx, &pb.GetAgentProviderTurnRequest{TurnId: turnID})
	if err != nil || t.GetStatus() != pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_RUNNING && t.GetStatus() != pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_PENDING {
		return status.Errorf(codes.PermissionDenied, "the turn is %v, %v", t.GetStatus(), err)
	}
	return nil
}

// ListTools lists one tool per page.
func (h *providerHost) ListTools(ctx context.Context, req *pb.ListAgentToolsRequest) (*pb.ListAgentToolsResponse, error) {
	if err := h.check(ctx, req.GetTurnId(), req.GetRunGrant()); err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.pages++
	h.mu.Unlock()
	yes := true
	all := []*pb.ListedAgentTool{
		{Id: "agt_1", McpName: "roadmap__sync", Description: "Syncs.", InputSchema: `{"type":"object","properties":{"count":{"type":"integer"}}}`},
		{Id: "agt_2", McpName: "roadmap__find", Annotations: &pb.OperationAnnotations{ReadOnlyHint: &yes}, InputSchema: `not JSON`},
		{Id: "agt_3", McpName: "roadmap__block"},
		{Id: "agt_4", McpName: "roadmap__crash", Annotations: &pb.OperationAnnotations{IdempotentHint: &yes}},
	}
	i := 0
	if req.GetPageToken() != "" {
		_, _ = fmt.Sscan(req.GetPageToken(), &i)
	}
	page := &pb.ListAgentToolsResponse{Tools: all[i : i+1]}
	if i+1 < len(all) {
		page.NextPageToken = fmt.Sprint(i + 1)
	}
	return page, nil
}

// ExecuteTool runs a tool.
func (h *providerHost) ExecuteTool(ctx context.Context, req *pb.ExecuteAgentToolRequest) (*pb.ExecuteAgentToolResponse, error) {
	if err := h.check(ctx, req.GetTurnId(), req.GetRunGrant()); err != nil {
		return nil, err
	}
	md, _ := metadata.FromIncomingContext(ctx)
	h.mu.Lock()
	h.keys[req.GetToolId()] = append(h.keys[req.GetToolId()], req.GetIdempotencyKey())
	h.traces = append(h.traces, strings.Join(md.Get("traceparent"), ""))
	times := len(h.keys[req.GetToolId()])
	h.mu.Unlock()
	switch req.GetToolId() {
	case "agt_1":
		return &pb.ExecuteAgentToolResponse{Status: 200, Body: fmt.Sprintf("synced %v", req.GetArguments().AsMap()["count"])}, nil
	case "agt_2":
		return &pb.ExecuteAgentToolResponse{Status: 404, Body: "found nothing"}, nil
	case "agt_4":
		if times > 1 {
			return &pb.ExecuteAgentToolResponse{Status: 200, Body: "synced 7"}, nil
		}
		close(h.crash)
	}
	<-ctx.Done()
	if req.GetToolId() == "agt_3" {
		h.blocked <- ctx.Err()
	}
	return nil, ctx.Err()
}

// session makes a session of ann.
func (h *providerHost) session(id string) *pb.AgentSession {
	h.t.Helper()
	s, err := h.CreateSession(h.t.Context(), &pb.CreateAgentProviderSessionRequest{
		SessionId: id, Model: "small", ClientRef: "desk", CreatedBy: &pb.AgentActor{SubjectId: "user:ann", SubjectKind: "user"}, Subject: ann,
	})
	if err != nil || s.GetId() != id || s.GetProviderName() != "clerks" || s.GetState() != pb.AgentSessionState_AGENT_SESSION_STATE_ACTIVE || s.GetCreatedBy().GetSubjectId() != "user:ann" {
		h.t.Fatalf("the session is %v, %v", s, err)
	}
	return s
}

var (
	ann = &pb.AgentSubjectContext{SubjectId: "user:ann"}
	eve = &pb.AgentSubjectContext{SubjectId: "user:eve"}
)

// turnOf is a turn with the host's tools.
func turnOf(session, id, text string) *pb.CreateAgentProviderTurnRequest {
	return &pb.CreateAgentProviderTurnRequest{
		SessionId: session, TurnId: id, ExecutionRef: id, Messages: []*pb.AgentMessage{{Role: "user", Text: text}}, Subject: ann, RunGrant: grant,
		ToolSource: pb.AgentToolSourceMode_AGENT_TOOL_SOURCE_MODE_MCP_CATALOG,
	}
}

// ask creates a turn and returns it once it reaches a state.
func (h *providerHost) ask(ctx context.Context, req *pb.CreateAgentProviderTurnRequest, want pb.AgentExecutionStatus) *pb.AgentTurn {
	h.t.Helper()
	if made, err := h.CreateTurn(ctx, req); err != nil || made.GetId() != req.GetTurnId() {
		h.t.Fatalf("the turn is %v, %v\n%s", made, err, h.said)
	}
	return h.await(req.GetTurnId(), want)
}

// await returns a turn once it reaches a state.
func (h *providerHost) await(id string, want pb.AgentExecutionStatus) *pb.AgentTurn {
	h.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(storeTime); ; {
		t, err := h.GetTurn(h.t.Context(), &pb.GetAgentProviderTurnRequest{TurnId: id, Subject: ann})
		if err != nil {
			h.t.Fatal(err)
		}
		if t.GetStatus() == want {
			return t
		}
		select {
		case <-tick.C:
		case <-late:
			h.t.Fatalf("the turn is %v\n%s", t, h.said)
		}
	}
}

const (
	succeeded = pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_SUCCEEDED
	canceled  = pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_CANCELED
	running   = pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_RUNNING
	waitsFor  = pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_WAITING_FOR_INPUT
)

func TestAHostDrivesAProvider(t *testing.T) {
	t.Parallel()
	h := newProviderHost(t)
	h.session("s1")
	able, err := h.GetCapabilities(t.Context(), &pb.GetAgentProviderCapabilitiesRequest{})
	if err != nil || !able.GetResumableTurns() || !able.GetSupportsSessionStart() || !able.GetSupportsPreparedWorkspace() || len(able.GetSupportedToolSources()) != 1 {
		t.Errorf("the capabilities are %v, %v", able, err)
	}

	plain := turnOf("s1", "t1", "hi")
	plain.RunGrant, plain.ToolSource = "", 0
	if got := h.ask(t.Context(), plain, succeeded); got.GetOutputText() != "Hello from the clerk." || got.GetMessages()[0].GetText() != "hi" || h.pages != 0 {
		t.Errorf("a turn without tools is %v, and the host was asked for %d pages", got, h.pages)
	}

	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	traced := metadata.AppendToOutgoingContext(t.Context(), "traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
	if got := h.ask(traced, turnOf("s1", "t2", "sync"), succeeded); got.GetOutputText() != "All is in order." {
		t.Errorf("a turn with a tool says %q", got.GetOutputText())
	}
	if h.pages != 4 || len(h.keys["agt_1"]) != 1 || h.keys["agt_1"][0] == "" || !strings.Contains(h.traces[0], trace) {
		t.Errorf("%d pages, keys %v, traces %v", h.pages, h.keys, h.traces)
	}
	if got := h.ask(t.Context(), turnOf("s1", "t3", "look"), succeeded); got.GetOutputText() != "There is nothing." {
		t.Errorf("a turn whose tool fails says %q", got.GetOutputText())
	}

	events, err := h.ListTurnEvents(t.Context(), &pb.ListAgentProviderTurnEventsRequest{TurnId: "t2", Subject: ann})
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for i, e := range events.GetEvents() {
		types = append(types, e.GetType())
		if e.GetSeq() != int64(i+1) || e.GetTurnId() != "t2" || e.GetSource() != "clerks" {
			t.Errorf("event %d is %v", i, e)
		}
	}
	for _, want := range []string{"turn.started", "tool.started", "tool.completed", "assistant.completed", "turn.completed"} {
		if !strings.Contains(strings.Join(types, " "), want) {
			t.Errorf("%s is missing: %v", want, types)
		}
	}
	rest, err := h.ListTurnEvents(t.Context(), &pb.ListAgentProviderTurnEventsRequest{TurnId: "t2", Subject: ann, AfterSeq: 2, Limit: 2})
	if err != nil || len(rest.GetEvents()) != 2 || rest.GetEvents()[0].GetSeq() != 3 {
		t.Errorf("a page is %v, %v", rest, err)
	}
	list, err := h.ListTurns(t.Context(), &pb.ListAgentProviderTurnsRequest{SessionId: "s1", Subject: ann, SummaryOnly: true, Limit: 2})
	if err != nil || len(list.GetTurns()) != 2 || list.GetTurns()[0].GetId() != "t3" || list.GetTurns()[0].GetOutputText() != "" {
		t.Errorf("the turns are %v, %v", list, err)
	}
	forged := turnOf("s1", "t4", "sync")
	forged.RunGrant = "forged"
	if got := h.ask(t.Context(), forged, pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_FAILED); !strings.Contains(got.GetStatusMessage(), "tools") {
		t.Errorf("a turn whose grant is refused ends with %q", got.GetStatusMessage())
	}
}

func TestAHostCancelsATurnOfAProvider(t *testing.T) {
	t.Parallel()
	h := newProviderHost(t)
	h.session("s1")
	h.ask(t.Context(), turnOf("s1", "t1", "block"), running)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for begun := false; !begun; <-tick.C {
		h.mu.Lock()
		begun = len(h.keys["agt_3"]) == 1
		h.mu.Unlock()
	}
	ended, err := h.CancelTurn(t.Context(), &pb.CancelAgentProviderTurnRequest{TurnId: "t1", Reason: "enough", Subject: ann})
	if err != nil || ended.GetStatus() != canceled || ended.GetStatusMessage() != "enough" {
		t.Errorf("canceling gives %v, %v", ended, err)
	}
	if err := <-h.blocked; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ends with %v", err)
	}
	if again, err := h.CancelTurn(t.Context(), &pb.CancelAgentProviderTurnRequest{TurnId: "t1", Reason: "again", Subject: ann}); err != nil || again.GetStatusMessage() != "enough" {
		t.Errorf("canceling again gives %v, %v", again, err)
	}
}

func TestATurnOutlivesItsProvider(t *testing.T) {
	t.Parallel()
	h := newProviderHost(t)
	h.session("s1")
	h.ask(t.Context(), turnOf("s1", "t1", "crash"), running)
	<-h.crash
	h.kill()
	h.start()
	if got := h.await("t1", succeeded); got.GetOutputText() != "All is in order." {
		t.Errorf("the turn says %q", got.GetOutputText())
	}
	if keys := h.keys["agt_4"]; len(keys) != 2 || keys[0] != keys[1] {
		t.Errorf("the tool ran with the keys %v", keys)
	}
}

func TestAHostAnswersWhatATurnOfAProviderAsks(t *testing.T) {
	t.Parallel()
	h := newProviderHost(t)
	h.session("s1")
	h.ask(t.Context(), turnOf("s1", "t1", "pay"), waitsFor)
	list, err := h.ListInteractions(t.Context(), &pb.ListAgentProviderInteractionsRequest{TurnId: "t1", Subject: ann})
	if err != nil || len(list.GetInteractions()) != 1 {
		t.Fatalf("it asks %v, %v", list, err)
	}
	asked := list.GetInteractions()[0]
	if asked.GetType() != pb.AgentInteractionType_AGENT_INTERACTION_TYPE_APPROVAL || asked.GetState() != pb.AgentInteractionState_AGENT_INTERACTION_STATE_PENDING ||
		asked.GetSessionId() != "s1" || asked.GetRequest().AsMap()["tool"] != "pay" {
		t.Errorf("it asks %v", asked)
	}
	yes, err := structpb.NewStruct(map[string]any{"approved": true})
	if err != nil {
		t.Fatal(err)
	}
	answer := &pb.ResolveAgentProviderInteractionRequest{InteractionId: asked.GetId(), Resolution: yes, Subject: eve}
	if _, err := h.ResolveInteraction(t.Context(), answer); status.Code(err) != codes.NotFound {
		t.Errorf("a stranger's answer: %v", err)
	}
	answer.Subject = ann
	for range 2 {
		if got, err := h.ResolveInteraction(t.Context(), answer); err != nil || got.GetResolution().AsMap()["approved"] != true {
			t.Errorf("the answer gives %v, %v", got, err)
		}
	}
	h.await("t1", succeeded)
	if got, err := h.GetInteraction(t.Context(), &pb.GetAgentProviderInteractionRequest{InteractionId: asked.GetId(), Subject: ann}); err != nil ||
		got.GetState() != pb.AgentInteractionState_AGENT_INTERACTION_STATE_RESOLVED {
		t.Errorf("it is %v, %v", got, err)
	}
}

func TestAHostRepeatsRequestsToAProvider(t *testing.T) {
	t.Parallel()
	h := newProviderHost(t)
	create := &pb.CreateAgentProviderSessionRequest{
		SessionId: "s1", IdempotencyKey: "k", Subject: ann, CreatedBy: &pb.AgentActor{SubjectId: "user:ann"},
		SessionStart: &pb.AgentSessionStartConfig{Hooks: []*pb.AgentSessionStartHook{{
			Id: "note", Command: []string{"/bin/sh", "-c", "echo x >>runs; echo '{\"metadata\":{\"a\":1}}'"}, Cwd: h.dir, Timeout: "5s",
			Output: &pb.AgentSessionStartHookOutput{Metadata: true},
		}}},
	}
	for _, id := range []string{"s1", "s2"} {
		create.SessionId = id
		s, err := h.CreateSession(t.Context(), create)
		if err != nil || s.GetId() != "s1" || s.GetMetadata().AsMap()["__gestalt.lifecycle.sessionStart.results.note"] == nil {
			t.Fatalf("the session is %v, %v", s, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(h.dir, "runs")); err != nil || string(data) != "x\n" {
		t.Errorf("the hook ran as %q, %v", data, err)
	}
	changed := turnOf("s1", "t1", "hi")
	changed.IdempotencyKey = "k"
	first := h.ask(t.Context(), changed, succeeded)
	changed.TurnId = "t2"
	if again, err := h.CreateTurn(t.Context(), changed); err != nil || again.GetId() != first.GetId() {
		t.Errorf("a repetition gives %v, %v", again, err)
	}
	changed.Messages[0].Text = "something else"
	if _, err := h.CreateTurn(t.Context(), changed); status.Code(err) != codes.AlreadyExists {
		t.Errorf("another request with the key: %v", err)
	}
	note, err := structpb.NewStruct(map[string]any{"b": 2})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := h.UpdateSession(t.Context(), &pb.UpdateAgentProviderSessionRequest{
		SessionId: "s1", Metadata: note, State: pb.AgentSessionState_AGENT_SESSION_STATE_ARCHIVED, Subject: ann,
	})
	if err != nil || len(kept.GetMetadata().AsMap()) != 2 || kept.GetState() != pb.AgentSessionState_AGENT_SESSION_STATE_ARCHIVED {
		t.Errorf("the session is %v, %v", kept, err)
	}
	if _, err := h.CreateTurn(t.Context(), turnOf("s1", "t3", "hi")); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a turn of an archived session: %v", err)
	}
	if _, err := h.GetSession(t.Context(), &pb.GetAgentProviderSessionRequest{SessionId: "s1", Subject: eve}); status.Code(err) != codes.NotFound {
		t.Errorf("a stranger's session: %v", err)
	}
	if list, err := h.ListSessions(t.Context(), &pb.ListAgentProviderSessionsRequest{Subject: ann, SessionIds: []string{"s1", "gone"}}); err != nil || len(list.GetSessions()) != 1 {
		t.Errorf("the sessions are %v, %v", list, err)
	}
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Wait(); err != nil {
		t.Errorf("the provider ends with %v\n%s", err, h.said)
	}
}

func TestAHostHandsAWorkspaceToAProvider(t *testing.T) {
	t.Parallel()
	h := newProviderHost(t)
	for _, name := range []string{"spaces/s1/app/a.txt", "elsewhere/app/a.txt"} {
		name = filepath.Join(h.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("in the workspace\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(h.dir, "elsewhere"), filepath.Join(h.dir, "spaces", "link")); err != nil {
		t.Fatal(err)
	}
	create := func(id, root, cwd string) error {
		_, err := h.CreateSession(t.Context(), &pb.CreateAgentProviderSessionRequest{
			SessionId: id, Subject: ann, PreparedWorkspace: &pb.PreparedAgentWorkspace{Root: root, Cwd: cwd},
		})
		return err
	}
	at := func(name string) string { return filepath.Join(h.dir, name) }
	for name, tt := range map[string]struct {
		root, cwd string
		want      codes.Code
	}{
		"elsewhere":       {at("elsewhere"), at("elsewhere/app"), codes.FailedPrecondition},
		"through a link":  {at("spaces/link"), at("spaces/link/app"), codes.FailedPrecondition},
		"all of them":     {at("spaces"), at("spaces/s1"), codes.FailedPrecondition},
		"no cwd":          {at("spaces/s1"), "", codes.InvalidArgument},
		"a cwd elsewhere": {at("spaces/s1"), at("elsewhere/app"), codes.InvalidArgument},
		"relative":        {"spaces/s1", "spaces/s1/app", codes.InvalidArgument},
		"not there":       {at("spaces/s2"), at("spaces/s2"), codes.FailedPrecondition},
	} {
		if err := create("s2", tt.root, tt.cwd); status.Code(err) != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	if err := create("s1", at("spaces/s1"), at("spaces/s1/app")); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"t1", "t2"} {
		if got := h.ask(t.Context(), turnOf("s1", id, "files"), succeeded); got.GetOutputText() != "I have read it." {
			t.Errorf("the turn is %v", got)
		}
		h.kill() // the next process finds it by the session's record
		h.start()
	}
	if _, err := h.UpdateSession(t.Context(), &pb.UpdateAgentProviderSessionRequest{SessionId: "s1", State: pb.AgentSessionState_AGENT_SESSION_STATE_ARCHIVED, Subject: ann}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(at("spaces/s1/app/a.txt")); err != nil {
		t.Errorf("the workspace of the host is deleted: %v", err)
	}
}
