package provider

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/tools"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
)

// hostVariable is the environment variable with the host's address.
const hostVariable = "GESTALT_AGENT_HOST_SOCKET"

const (
	// maxMessage bounds a message from a host, in bytes.
	maxMessage = 32 << 20
	// hostKind is the kind of the tools that the protocol's turns bring along.
	hostKind = "agent_host"
	// relayHeader carries the token for a host behind a relay.
	relayHeader = "x-gestalt-host-service-relay-token"
	// toolPage is the number of tools per request, and maxTools the maximum per turn.
	toolPage = 100
	maxTools = 4096
	// listTime is the timeout for listing tools, and callTime for calling one.
	listTime = 30 * time.Second
	callTime = 5 * time.Minute
	// listRetry is the delay before an unreachable host is tried again.
	listRetry = 250 * time.Millisecond
	// hostStart is how long a host may take after starting the provider to accept the grants of
	// turns that an earlier process began.
	hostStart = 15 * time.Second
)

// hostTools is the stored form of a turn's tools.
type hostTools struct {
	SessionID string `json:"session_id"`
	TurnID    string `json:"turn_id"`
	RunGrant  string `json:"run_grant"`
	// None is set if the turn has no tools of the host, but may use its connections.
	None bool `json:"none,omitempty"`
}

// host calls the host that started the provider. It connects on first use.
type host struct {
	target, token string
	secure        bool
	// ready is the time at which the host must know the provider.
	ready time.Time

	mu   sync.Mutex
	conn *grpc.ClientConn
}

var (
	_ service.TurnTools    = (*host)(nil)
	_ service.TurnContexts = (*host)(nil)
)

// newHost returns a client for the host at an address: the path of a socket, unix:PATH,
// tcp://HOST:PORT or tls://HOST:PORT. token is sent to a relay; empty sends none.
func newHost(address, token string) (*host, error) {
	h := &host{token: token, ready: time.Now().Add(hostStart)}
	switch scheme, rest, found := strings.Cut(address, "://"); {
	case found && scheme == "unix":
		h.target = "unix:" + rest
	case found && scheme == "tcp":
		h.target = "dns:///" + rest
	case found && scheme == "tls":
		h.target, h.secure = "dns:///"+rest, true
	case found:
		return nil, fmt.Errorf("%s has the scheme %q; use unix, tcp or tls", hostVariable, scheme)
	default:
		h.target = "unix:" + strings.TrimPrefix(address, "unix:")
	}
	return h, nil
}

// client returns a client of the host.
func (h *host) client() (pb.AgentHostClient, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn == nil {
		options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage))}
		if h.secure {
			options[0] = grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12}))
		}
		if strings.HasPrefix(h.target, "unix:") {
			options = append(options, grpc.WithAuthority("localhost"))
		}
		conn, err := grpc.NewClient(h.target, options...)
		if err != nil {
			return nil, err
		}
		h.conn = conn
	}
	return pb.NewAgentHostClient(h.conn), nil
}

// Close ends the connection.
func (h *host) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn == nil {
		return nil
	}
	err := h.conn.Close()
	h.conn = nil
	return err
}

// outgoing returns the context of a call, which continues the trace at the host.
func (h *host) outgoing(ctx context.Context) context.Context {
	header := make(http.Header)
	telemetry.Inject(ctx, header)
	for name := range header {
		ctx = metadata.AppendToOutgoingContext(ctx, strings.ToLower(name), header.Get(name))
	}
	if h.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, relayHeader, h.token)
	}
	return ctx
}

// Check returns an error for tools of another kind.
func (*host) Check(list []service.EphemeralTool) error {
	for i := range list {
		if list[i].Kind != hostKind {
			return fmt.Errorf("tools of kind %q are not made here", list[i].Kind)
		}
	}
	return nil
}

// Make lists the tools of a turn from the host each time a worker starts on the turn.
func (h *host) Make(ctx context.Context, list []service.EphemeralTool) ([]resolve.EphemeralTool, func(), error) {
	var made []resolve.EphemeralTool
	taken := make(map[string]bool)
	for i := range list {
		var of hostTools
		if err := json.Unmarshal(list[i].Config, &of); err != nil {
			return nil, nil, fmt.Errorf("read the tools of the host: %w", err)
		}
		if of.None {
			continue
		}
		listed, err := h.listTools(ctx, &of)
		if err != nil {
			return nil, nil, fmt.Errorf("list the tools of the host: %w", err)
		}
		for _, t := range listed {
			made = append(made, resolve.EphemeralTool{ID: toolName(t, taken), Tool: newTool(h, &of, t)})
		}
	}
	return made, nil, nil
}

// listTools returns all tools of a turn. It retries if the host has just started the provider and
// may not know it yet.
func (h *host) listTools(ctx context.Context, of *hostTools) ([]*pb.ListedAgentTool, error) {
	client, err := h.client()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(h.outgoing(ctx), listTime)
	defer cancel()
	var all []*pb.ListedAgentTool
	req := &pb.ListAgentToolsRequest{SessionId: of.SessionID, TurnId: of.TurnID, RunGrant: of.RunGrant, PageSize: toolPage}
	seen := map[string]bool{"": true}
	for {
		page, err := client.ListTools(ctx, req, grpc.WaitForReady(true))
		if h.mayComeUp(err) && ctx.Err() == nil {
			if err := wait.For(ctx, listRetry); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetTools()...)
		req.PageToken = page.GetNextPageToken()
		switch {
		case len(all) > maxTools:
			return nil, fmt.Errorf("there are more than %d", maxTools)
		case req.GetPageToken() == "":
			return all, nil
		case seen[req.GetPageToken()]:
			return nil, errors.New("the pages of the host repeat themselves")
		}
		seen[req.GetPageToken()] = true
	}
}

// mayComeUp reports whether an error may mean that the host has not fully started: until then it
// rejects unknown names.
func (h *host) mayComeUp(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.PermissionDenied && time.Now().Before(h.ready)
}

// notOfName matches characters that are not allowed in tool names.
var notOfName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// maxName is the maximum length of a tool name.
const maxName = 64

// toolName returns the model's name for a tool, different from the taken names.
func toolName(t *pb.ListedAgentTool, taken map[string]bool) string {
	base := t.GetMcpName()
	if base == "" {
		base = "tool"
	}
	base = notOfName.ReplaceAllString(base, "_")
	name := base[:min(maxName, len(base))]
	for n := 2; taken[name]; n++ {
		suffix := fmt.Sprintf("_%d", n)
		name = base[:min(maxName-len(suffix), len(base))] + suffix
	}
	taken[name] = true
	return name
}

// tool is a tool of the host, for one turn.
type tool struct {
	host       *host
	of         *hostTools
	id         string
	descriptor tools.Descriptor
}

// newTool returns a tool of the host.
func newTool(h *host, of *hostTools, t *pb.ListedAgentTool) *tool {
	d := tools.Descriptor{Description: t.GetDescription(), Timeout: callTime, Effect: tools.Once}
	if d.Description == "" {
		d.Description = t.GetTitle()
	}
	switch hints := t.GetAnnotations(); {
	case hints.GetReadOnlyHint():
		d.Effect = tools.Read
	case hints.GetIdempotentHint():
		d.Effect = tools.Idempotent
	}
	if text := json.RawMessage(t.GetInputSchema()); len(text) > 0 {
		if _, err := schema.Compile(text); err == nil {
			d.Parameters = text
		} else {
			d.Parameters = json.RawMessage(`{"type":"object"}`) // the host checks the arguments
		}
	}
	return &tool{h, of, t.GetId(), d}
}

// Descriptor describes the tool.
func (t *tool) Descriptor() tools.Descriptor { return t.descriptor }

// Call runs the tool on the host. Failures there become results.
func (t *tool) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	client, err := t.host.client()
	if err != nil {
		return tools.Result{}, err
	}
	arguments := new(structpb.Struct)
	if err := arguments.UnmarshalJSON(call.Arguments); err != nil {
		return tools.ErrorResult("tool_input_invalid: " + err.Error()), nil
	}
	answer, err := client.ExecuteTool(t.host.outgoing(ctx), &pb.ExecuteAgentToolRequest{
		SessionId: t.of.SessionID, TurnId: t.of.TurnID, ToolCallId: call.ID, ToolId: t.id, Arguments: arguments, IdempotencyKey: call.IdempotencyKey, RunGrant: t.of.RunGrant,
	})
	if err != nil {
		if ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
		return tools.ErrorResult("the host did not run the tool: " + status.Convert(err).Message()), nil
	}
	result := tools.Result{Content: []model.Part{model.Text(answer.GetBody())}, IsError: answer.GetStatus() >= http.StatusBadRequest}
	if result.IsError {
		result.Content = []model.Part{model.Text(fmt.Sprintf("status %d: %s", answer.GetStatus(), answer.GetBody()))}
	}
	if body := json.RawMessage(answer.GetBody()); json.Valid(body) {
		result.Data = body
	}
	return result, nil
}
