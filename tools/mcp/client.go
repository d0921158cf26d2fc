package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/buildversion"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newClient returns the client of a session. It declares the allowed features.
func (c *session) newClient() (*mcp.Client, error) {
	o := &mcp.ClientOptions{
		Capabilities:               &mcp.ClientCapabilities{},
		MultiRoundTrip:             &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { c.noteChange() },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { c.watches.notify("") },
		// The library drops its cached lists and resources when they change.
		PromptListChangedHandler:    func(context.Context, *mcp.PromptListChangedRequest) {},
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { c.watches.notify(r.Params.URI) },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { c.routeProgress(r.Params) },
		LoggingMessageHandler:       func(_ context.Context, r *mcp.LoggingMessageRequest) { c.routeLog(r.Params) },
	}
	o.Capabilities.AddExtension(tasksExtension, nil)
	if c.features.elicitation {
		o.ElicitationHandler = c.handleElicitation
		o.Capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}
	}
	if c.features.sampling {
		// The library's handler without tools panics if a message is null.
		o.CreateMessageWithToolsHandler, o.Capabilities.Sampling = c.handleSampling, &mcp.SamplingCapabilities{}
	}
	root := c.target.root()
	if root != nil {
		o.Capabilities.RootsV2 = &mcp.RootCapabilities{}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "agentruntime", Version: buildversion.Program()}, o)
	if root != nil {
		client.AddRoots(root)
	}
	client.AddReceivingMiddleware(c.recoverPanics)
	return client, addTaskMethods(client)
}

// paramMethods are the methods whose parameters the library reads without checking for null.
var paramMethods = []string{"elicitation/create", "notifications/cancelled", "notifications/resources/updated", "notifications/elicitation/complete"}

// recoverPanics protects the handlers of the server's requests and notifications. Null parameters
// are rejected first, because the library would panic while it holds a lock.
func (c *session) recoverPanics(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (_ mcp.Result, err error) {
		defer c.recoverPanic(&err)
		if slices.Contains(paramMethods, method) && reflect.ValueOf(req.GetParams()).IsNil() {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "params are required"}
		}
		return next(ctx, method, req)
	}
}

// requestLogs requests log messages from the server, which belong to calls.
func (c *session) requestLogs() {
	r := c.client.InitializeResult()
	if c.isStateless() || r == nil || r.Capabilities == nil || r.Capabilities.Logging == nil {
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, settlePing)
	defer cancel()
	if err := c.client.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		c.logger.Debug("the MCP server does not send log messages", "error", c.target.hideSecrets(err))
	}
}

// routeLog shows a log message at its call.
func (c *session) routeLog(p *mcp.LoggingMessageParams) {
	data, ok := p.Data.(string)
	if !ok {
		raw, err := json.Marshal(p.Data)
		if err != nil {
			return
		}
		data = string(raw)
	}
	text := strings.TrimSpace(fmt.Sprintf("[%s] %s", p.Level, strings.TrimSpace(p.Logger+" "+data)))
	if f := c.findFlight(p.Meta); f != nil {
		f.showNote(text)
		return
	}
	c.logger.Debug("MCP server log", "line", clip.Visible(redactTexts(redactTexts(text, c.target.tokens()), c.target.secrets), maxError))
}

// initialize performs the handshake. It abandons a server that does not respond in time.
func (c *session) initialize(limit time.Duration) (err error) {
	defer c.recoverPanic(&err)
	client, err := c.newClient()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, limit)
	defer cancel()
	// Some waits during connecting do not end with the context.
	late := context.AfterFunc(ctx, c.carrier.stop)
	connected, err := client.Connect(ctx, c.carrier, nil)
	if stopped := !late(); stopped || err != nil && ctx.Err() != nil {
		if connected != nil {
			_ = connected.Close()
		}
		if c.ctx.Err() != nil {
			return ErrClosed
		}
		return fmt.Errorf("connecting took longer than %s", limit)
	}
	c.client = connected
	return err
}
