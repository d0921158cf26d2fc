package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
)

// called is an interface that an examination calls.
type called struct {
	*client.Chosen
	name string
}

// unknownTask is the id of a task that no peer has.
const unknownTask = "00000000-0000-4000-8000-00000000d0c7"

// question is a call of an examination in the form of each transport. None changes anything at the
// peer.
type question struct {
	// rpc is the JSON-RPC method, and params its parameters.
	rpc    string
	params map[string]string
	// method and path are the REST request.
	method, path string
	// version is the protocol version that the call declares.
	version a2a.ProtocolVersion
	stream  bool
}

// unknownCall is the id in calls.
const unknownCall = "doctor"

// checkCalls checks how an interface answers.
func (x *examiner) checkCalls(ctx context.Context, card *a2a.AgentCard, to *called) {
	if to.Iface.ProtocolBinding == a2a.TransportProtocolGRPC {
		x.callGRPC(ctx, to)
		return
	}
	get := question{rpc: "GetTask", params: map[string]string{"id": unknownTask}, method: http.MethodGet, path: "/tasks/" + unknownTask, version: client.Version1}
	if to.Iface.ProtocolVersion != client.Version1 {
		get.rpc, get.path, get.version = "tasks/get", "/v1"+get.path, client.Version03
	}
	if !x.unknownTask(ctx, card, to, &get) || to.Iface.ProtocolVersion != client.Version1 {
		return
	}
	x.otherVersion(ctx, to, get)
	x.checkStreaming(ctx, card, to)
	x.checkPush(ctx, card, to)
}

// unknownTask requests a nonexistent task. It reports whether more calls make sense.
func (x *examiner) unknownTask(ctx context.Context, card *a2a.AgentCard, to *called, c *question) bool {
	name := to.name + " unknown task"
	got, err := x.makeCall(ctx, to, c)
	switch {
	case err != nil:
		x.addFailure(name, "an error TaskNotFound", "%v", err)
		return false
	case got.status == http.StatusUnauthorized || got.status == http.StatusForbidden:
		x.checkUnauthorized(card, to, got)
		return false
	case !client.IsJSON(got.kind):
		x.addFailure(name, wantTaskNotFound(to), "status %d, content of type %q", got.status, got.kind)
		return false
	case !errors.Is(got.err, a2a.ErrTaskNotFound):
		x.addFailure(name, wantTaskNotFound(to), "%s", got.describeAnswer())
		return got.err != nil
	case hasForeignID(to, got):
		x.addFailure(name, wantTaskNotFound(to), "TaskNotFound, but %v", client.ErrForeignAnswer)
	case errorDefect(to, got) != "":
		x.addWarning(name, wantTaskNotFound(to), "TaskNotFound, but %s", errorDefect(to, got))
	default:
		x.addPass(name, "TaskNotFound")
	}
	if len(card.SecurityRequirements) > 0 && !x.credential {
		x.addWarning(to.name+" authorization", "status 401 to calls without a credential", "the card requires a credential, but a call without one is answered")
	}
	return true
}

// wantTaskNotFound returns the correct response to a call about an unknown task.
func wantTaskNotFound(to *called) string {
	if to.Iface.ProtocolBinding == a2a.TransportProtocolJSONRPC {
		return `status 200, application/json, the id of the call and {"error": {"code": -32001}}`
	}
	return `status 404 and {"error": {"code": 404, "details": [{"reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org"}]}}`
}

// hasForeignID reports whether a response has the id of another call: a delegation would ignore it.
func hasForeignID(to *called, got *seen) bool {
	return to.Iface.ProtocolBinding == a2a.TransportProtocolJSONRPC && got.status/100 == 2 && client.CheckID(got.body, unknownCall) != nil
}

// errorDefect describes the defect in the form of an error, or returns "".
func errorDefect(to *called, got *seen) string {
	if to.Iface.ProtocolBinding != a2a.TransportProtocolJSONRPC {
		if got.status != http.StatusNotFound {
			return fmt.Sprintf("with status %d", got.status)
		}
		return ""
	}
	var envelope struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
	}
	switch {
	case got.status != http.StatusOK:
		return fmt.Sprintf("with status %d", got.status)
	case json.Unmarshal(got.body, &envelope) != nil || envelope.Version != "2.0":
		return `without "jsonrpc": "2.0"`
	case string(envelope.ID) != `"`+unknownCall+`"`: // which errors may lack
		return "without the id of the call"
	}
	return ""
}

// checkUnauthorized checks the response to a rejected call.
func (x *examiner) checkUnauthorized(card *a2a.AgentCard, to *called, got *seen) {
	name, scheme := to.name+" authorization", got.header.Get("WWW-Authenticate")
	switch {
	case x.credential:
		x.addFailure(name, "a credential that the peer takes", "status %d although a credential was shown; WWW-Authenticate: %q", got.status, scheme)
	case got.status == http.StatusUnauthorized && scheme == "":
		x.addFailure(name, "a WWW-Authenticate header with the scheme", "status 401 without WWW-Authenticate")
	case len(card.SecurityRequirements) == 0:
		x.addFailure(name, "securitySchemes and securityRequirements in the card", "status %d, but the card declares no security", got.status)
	default:
		x.addWarning(name, "a credential (--header), to look further", "status %d; WWW-Authenticate: %q", got.status, scheme)
	}
}

// otherVersion sends a request with a protocol version that does not exist.
func (x *examiner) otherVersion(ctx context.Context, to *called, c question) {
	name := to.name + " version"
	c.version = "99.0"
	got, err := x.makeCall(ctx, to, &c)
	switch {
	case err != nil:
		x.addWarning(name, "an error VersionNotSupported", "A2A-Version: 99.0: %v", err)
	case errors.Is(got.err, a2a.ErrVersionNotSupported):
		x.addPass(name, "an unknown version is rejected")
	default:
		x.addWarning(name, "an error VersionNotSupported", "A2A-Version: 99.0 is answered with %s", got.describeAnswer())
	}
}

// checkStreaming subscribes to a nonexistent task.
func (x *examiner) checkStreaming(ctx context.Context, card *a2a.AgentCard, to *called) {
	name := to.name + " streaming"
	c := &question{rpc: "SubscribeToTask", params: map[string]string{"id": unknownTask}, method: http.MethodPost, path: "/tasks/" + unknownTask + ":subscribe", version: client.Version1, stream: true}
	got, err := x.makeCall(ctx, to, c)
	declared := card.Capabilities.Streaming
	switch {
	case err != nil:
		x.addFailure(name, "an error TaskNotFound", "subscribing to an unknown task: %v", err)
	case got.kind != client.TypeEvents && !client.IsJSON(got.kind):
		x.addFailure(name, client.TypeEvents+", or an error as JSON", "status %d, content of type %q", got.status, got.kind)
	case hasForeignID(to, got):
		x.addFailure(name, "the id of the call", "subscribing to an unknown task: %v", client.ErrForeignAnswer)
	case declared && errors.Is(got.err, a2a.ErrTaskNotFound):
		x.addPass(name, "declared; subscribing to an unknown task gives TaskNotFound as %s", got.kind)
	case declared:
		x.addFailure(name, "an error TaskNotFound, or capabilities.streaming: false", "declared, but subscribing to an unknown task gives %s", got.describeAnswer())
	case got.err != nil:
		x.addPass(name, "not declared; refused with %s", got.describeAnswer())
	default:
		x.addWarning(name, "an error UnsupportedOperation", "not declared, but subscribing gives %s", got.describeAnswer())
	}
}

// checkPush requests the webhooks of a nonexistent task.
func (x *examiner) checkPush(ctx context.Context, card *a2a.AgentCard, to *called) {
	name := to.name + " push notifications"
	c := &question{rpc: "ListTaskPushNotificationConfigs", params: map[string]string{"taskId": unknownTask}, method: http.MethodGet, path: "/tasks/" + unknownTask + "/pushNotificationConfigs", version: client.Version1}
	got, err := x.makeCall(ctx, to, c)
	unsupported := err == nil && (errors.Is(got.err, a2a.ErrPushNotificationNotSupported) || errors.Is(got.err, a2a.ErrMethodNotFound) || errors.Is(got.err, a2a.ErrUnsupportedOperation))
	switch {
	case err != nil:
		x.addWarning(name, "an answer", "asking for the webhooks of an unknown task: %v", err)
	case card.Capabilities.PushNotifications && unsupported:
		x.addFailure(name, "capabilities.pushNotifications: false", "declared, but a call gives %s", got.describeAnswer())
	case card.Capabilities.PushNotifications:
		x.addPass(name, "declared; asking for the webhooks of an unknown task gives %s", got.describeAnswer())
	case unsupported || errors.Is(got.err, a2a.ErrTaskNotFound):
		x.addPass(name, "not declared; refused with %s", got.describeAnswer())
	default:
		x.addWarning(name, "an error PushNotificationNotSupported", "not declared, but a call gives %s", got.describeAnswer())
	}
}

// describeAnswer describes an answer.
func (s *seen) describeAnswer() string {
	text := fmt.Sprintf("status %d", s.status)
	switch {
	case s.err != nil:
		text += ", " + a2a.ErrorReason(s.err)
	case len(s.body) == 0:
		text += ", no body"
	default:
		text += ", no error of the protocol"
	}
	if s.message != "" {
		text += fmt.Sprintf(" (%q)", s.message)
	}
	return text
}

// makeCall makes a call.
func (x *examiner) makeCall(ctx context.Context, to *called, c *question) (*seen, error) {
	req, err := c.newRequest(ctx, to)
	if err != nil {
		return nil, err
	}
	req.Header.Set(a2a.SvcParamVersion, string(c.version))
	if c.stream {
		req.Header.Set("Accept", client.TypeEvents)
	}
	return x.doRequest(req)
}

// newRequest returns the HTTP request of a call.
func (c *question) newRequest(ctx context.Context, to *called) (*http.Request, error) {
	if to.Iface.ProtocolBinding == a2a.TransportProtocolHTTPJSON {
		u := to.URL
		if to.Iface.Tenant != "" {
			u = u.JoinPath(to.Iface.Tenant)
		}
		return http.NewRequestWithContext(ctx, c.method, u.JoinPath(c.path).String(), http.NoBody)
	}
	params := c.params
	if to.Iface.Tenant != "" {
		params = map[string]string{"tenant": to.Iface.Tenant}
		for name, value := range c.params {
			params[name] = value
		}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": unknownCall, "method": c.rpc, "params": params})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL.String(), bytes.NewReader(body))
	if err == nil {
		req.Header.Set("Content-Type", client.TypeJSON)
	}
	return req, err
}

// callGRPC requests a nonexistent task over gRPC.
func (x *examiner) callGRPC(ctx context.Context, to *called) {
	name := to.name + " unknown task"
	conn, err := x.peer.GRPCConnection(to.URL)
	if err != nil {
		x.addFailure(name, "a connection", "%v", err)
		return
	}
	_, err = a2agrpc.NewGRPCTransport(conn).GetTask(ctx, map[string][]string{strings.ToLower(a2a.SvcParamVersion): {string(client.Version1)}},
		&a2a.GetTaskRequest{ID: unknownTask, Tenant: to.Iface.Tenant})
	switch {
	case errors.Is(err, a2a.ErrTaskNotFound):
		x.addPass(name, "TaskNotFound")
	case err == nil:
		x.addFailure(name, "status NOT_FOUND", "a task")
	default:
		x.addFailure(name, "status NOT_FOUND with reason TASK_NOT_FOUND", "%v", err)
	}
}
