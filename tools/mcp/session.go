package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/buildversion"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/internal/process"
	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxMessage bounds one message of a server, in bytes.
	maxMessage = 16 << 20
	// maxPages bounds the pages of a list of tools.
	maxPages = 100
	// partingTime is how long a server may take over the end of a session.
	partingTime = 2 * time.Second
	// settleTime is how much later than a call a session may notice that its connection is broken.
	settleTime = time.Second
)

// session is one connection to a server, from the handshake to its end.
type session struct {
	client  *mcp.ClientSession
	carrier carrier
	// target is the connected server.
	target *target
	// listed is the error of the first listing of the tools.
	listed error

	// ctx ends with the session. done is closed when everything in the session has ended; cause and
	// lived are set then.
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	cause  error
	lived  time.Duration

	// changes has an element when the tools may have changed.
	changes chan struct{}

	// server is the ID of the entry, and features are offered to the server.
	server   string
	features clientFeatures
	logger   *slog.Logger

	// running waits for the flights and the other goroutines of the session. over is set when no
	// more may start.
	running sync.WaitGroup

	mu   sync.Mutex
	over bool
	// changed maps the tools that differ from the pinning catalogue to their differences.
	changed map[string]string
	// flights are the requests of running calls, by progress token. strays counts canceled requests
	// of which the server may not know yet.
	flights map[string]*flight
	strays  int
	calls   uint64
	// reasons are the problems that the session has warned of.
	reasons map[string]bool

	watches watches
}

// carrier carries the messages of a session.
type carrier interface {
	mcp.Transport
	// stop ends all activity and waits for it to finish.
	stop()
	// explainError adds the carrier's knowledge about the cause to an error.
	explainError(err error) error
}

// openSession connects to the server and lists its tools.
func (s *server) openSession(ctx context.Context, running *sync.WaitGroup) (*session, error) {
	began := time.Now()
	c, err := s.connectSession(ctx, s.plainTarget())
	if err != nil {
		return nil, err
	}
	running.Go(func() { c.waitForEnd(s, began) })
	differs, err := s.listTools(c.ctx, c)
	if c.listed = err; err != nil && s.Known() { // else the caller reports it
		s.logger.Warn("listing the tools failed; keeping the known ones", "error", err)
	}
	running.Go(func() { c.followChanges(s, differs) })
	return c, nil
}

// connectSession connects to the server.
func (s *server) connectSession(ctx context.Context, to *target) (*session, error) {
	c := &session{
		target: to, done: make(chan struct{}), changes: make(chan struct{}, 1), flights: make(map[string]*flight),
		server: s.id, features: s.config.clientFeatures(), logger: s.logger,
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	if s.config.URL != "" {
		c.carrier = newRemote(c.ctx, s.config.Auth, to)
	} else {
		c.carrier = &program{config: &s.config, dir: to.dir, writeTime: s.writeTime, stderr: process.NewLineWriter(s.logOutput), warn: s.warnText}
	}
	err := c.initialize(s.config.connectTimeout())
	if first, ok := c.carrier.(*remote); ok && err != nil && first.refused.Load() {
		err = s.connectWithEvents(c, first, err)
	}
	if err != nil {
		c.cancel()
		c.carrier.stop()
		err = to.hideSecrets(c.carrier.explainError(err))
		if !errors.Is(err, ErrClosed) {
			s.logger.Warn("connecting to the MCP server failed", "error", err)
		}
		return nil, &Error{Server: s.id, Err: err}
	}
	c.running.Go(c.requestLogs)
	return c, nil
}

// connectWithEvents connects over HTTP+SSE, the transport before streamable HTTP, to a server
// that has rejected the latter with cause.
func (s *server) connectWithEvents(c *session, first *remote, cause error) error {
	first.stop()
	old := newRemote(c.ctx, s.config.Auth, c.target)
	old.events = true
	c.carrier = old
	if err := c.initialize(s.config.connectTimeout()); err != nil {
		return fmt.Errorf("%w; HTTP+SSE, the transport of older servers, fails too: %w", cause, err)
	}
	return nil
}

// logOutput logs a line that the program wrote to its standard error.
func (s *server) logOutput(line string) {
	s.logger.Info("MCP server output", "line", redactTexts(line, s.secrets))
}

// warnText logs a warning for a line that the program wrote to its standard output.
func (s *server) warnText(line string) {
	s.logger.Warn("the MCP server writes text to its standard output, which is for messages only; the text is skipped", "line", cleanText(redactTexts(line, s.secrets), maxError))
}

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

// maxReasons bounds the warnings about the messages of a session.
const maxReasons = 20

// isFirst reports whether a session warns of something for the first time. A server may repeat what
// it does without end.
func (c *session) isFirst(reason string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reasons[reason] || len(c.reasons) == maxReasons {
		return false
	}
	if c.reasons == nil {
		c.reasons = make(map[string]bool)
	}
	c.reasons[reason] = true
	return true
}

// errUnusable replaces a panic that a message of the server has caused.
var errUnusable = errors.New("it sent a message that cannot be processed; the reason is in the log of the runtime")

// recoverPanic turns a panic into an error, and logs the first one. It must be deferred.
func (c *session) recoverPanic(err *error) {
	if p := panics.Caught(recover()); p != nil {
		*err = errUnusable
		if c.isFirst(errUnusable.Error()) {
			c.logger.Error("a message of the MCP server caused a panic", "panic", p.Value, "stack", string(p.Stack))
		}
	}
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
	c.logger.Debug("MCP server log", "line", cleanText(redactTexts(redactTexts(text, c.target.tokens()), c.target.secrets), maxError))
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

// waitForEnd waits until the server, the carrier or the runtime ends the session, and then for
// everything in it to finish.
func (c *session) waitForEnd(s *server, began time.Time) {
	ended := make(chan error, 1)
	go func() { ended <- c.client.Wait() }() // ends after sayGoodbye
	var err error
	select {
	case err = <-ended:
	case <-c.ctx.Done():
		err = ErrClosed
	}
	c.cancel()
	c.sayGoodbye()
	c.carrier.stop()
	if err == nil {
		err = errors.New("the server ended the connection")
	}
	err = c.target.hideSecrets(c.carrier.explainError(err))
	if !errors.Is(err, ErrClosed) {
		s.logger.Warn("MCP session lost", "error", err)
	}
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.running.Wait()
	c.cause = &Error{Server: s.id, Err: err}
	c.lived = time.Since(began)
	close(c.done)
}

// sayGoodbye closes the session at the server, without waiting long.
func (c *session) sayGoodbye() {
	late := time.AfterFunc(partingTime, c.carrier.stop)
	_ = c.client.Close()
	late.Stop()
}

// hasEnded reports whether the session has ended.
func (c *session) hasEnded() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// isEnding reports whether the session is about to end, and waits until it has. A call may notice a
// broken connection before the session does.
func (c *session) isEnding() bool {
	late := time.NewTimer(settleTime)
	defer late.Stop()
	select {
	case <-c.ctx.Done():
		<-c.done
		return true
	case <-late.C:
		return false
	}
}

// noteChange notes that the tools may have changed.
func (c *session) noteChange() {
	select {
	case c.changes <- struct{}{}:
	default: // it is noted already
	}
}

// followChanges lists the tools whenever they may have changed, until the session ends. differs
// reports whether the first list did.
func (c *session) followChanges(s *server, differs bool) {
	if differs {
		s.notifyChange(c.ctx)
	}
	for pause := time.Duration(0); c.awaitChanges(&pause); {
		s.relistTools(c.ctx, c)
	}
}

// minPause and maxPause bound how long a change of the tools is ignored after another one.
const minPause, maxPause = time.Second, time.Minute

// awaitChanges waits until the tools may have changed; false means that the session has ended. A
// server that keeps announcing changes is listed less and less often.
func (c *session) awaitChanges(pause *time.Duration) bool {
	if wait.For(c.ctx, *pause) != nil {
		return false
	}
	select {
	case <-c.changes:
		*pause = min(max(2**pause, minPause), maxPause)
		return true
	default:
	}
	select {
	case <-c.changes:
		*pause = minPause
		return true
	case <-c.ctx.Done():
		return false
	}
}

// listCatalog requests the tools.
func (c *session) listCatalog(ctx context.Context, fingerprint string) (_ *catalog, err error) {
	defer c.recoverPanic(&err)
	var list []toolInfo
	size := 0
	params := new(mcp.ListToolsParams)
	cursors := make(map[string]bool)
	for range maxPages {
		page, err := c.client.ListTools(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("list the tools: %w", err)
		}
		for _, t := range page.Tools {
			info, err := newToolInfo(t, c.offersTasks())
			if err != nil {
				return nil, fmt.Errorf("list the tools: %w", err)
			}
			info.hideTexts(c.target.tokens())
			size += len(info.Description) + len(info.InputSchema) + len(info.OutputSchema)
			list = append(list, info)
		}
		if len(list) > maxTools {
			return nil, fmt.Errorf("it lists more than %d tools", maxTools)
		}
		if size > maxCatalog {
			return nil, fmt.Errorf("its list of tools has more than %d bytes", maxCatalog)
		}
		if page.NextCursor == "" {
			list := newCatalog(fingerprint, c.serverInfo(), list)
			list.Features = offeredFeatures(c.client.InitializeResult())
			return list, nil
		}
		if cursors[page.NextCursor] {
			return nil, errors.New("its list of tools has no end: a cursor is repeated")
		}
		cursors[page.NextCursor] = true
		params.Cursor = page.NextCursor
	}
	return nil, fmt.Errorf("its list of tools has more than %d pages", maxPages)
}

// serverInfo returns the server's own name and version.
func (c *session) serverInfo() serverInfo {
	if r := c.client.InitializeResult(); r != nil && r.ServerInfo != nil {
		return serverInfo{Name: r.ServerInfo.Name, Version: r.ServerInfo.Version}
	}
	return serverInfo{}
}

// newToolInfo returns the description of a tool, within bounds. A tool that no agent could
// use is kept with the reason.
func newToolInfo(t *mcp.Tool, offersTasks bool) (toolInfo, error) {
	info := toolInfo{Name: t.Name, Description: cleanText(cmp.Or(t.Description, t.Title), maxDescription)}
	if len(t.Name) > maxName { // it stays too long
		info.Name = clip.Head(t.Name, maxName) + "…"
	}
	var err error
	if info.InputSchema, err = json.Marshal(t.InputSchema); err != nil {
		return info, err
	}
	if info.OutputSchema, err = json.Marshal(t.OutputSchema); err != nil {
		return info, err
	}
	if a := t.Annotations; a != nil {
		info.Annotations = annotations{ReadOnly: a.ReadOnlyHint, Destructive: a.DestructiveHint != nil && *a.DestructiveHint, Idempotent: a.IdempotentHint}
	}
	switch size := max(len(info.InputSchema), len(info.OutputSchema)); {
	case size > maxSchema:
		info.InputSchema, info.OutputSchema = nil, nil
		info.Unusable = fmt.Sprintf("a schema has %d bytes; at most %d are allowed", size, maxSchema)
	case t.Meta[taskSupportKey] == "required" && offersTasks:
		info.RequiresTask = true
	case t.Meta[taskSupportKey] == "required":
		info.Unusable = "it runs as a task only, and the server does not offer tasks"
	}
	return info, nil
}
