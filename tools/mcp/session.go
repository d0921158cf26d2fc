package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/process"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxMessage bounds one message of a server, in bytes.
	maxMessage = 16 << 20
	// maxPages bounds the pages of a list of tools.
	maxPages = 100
	// partingTime is how long a server may take over the end of a session.
	partingTime = 2 * time.Second
	// settleTime is how much later than a call a session may learn that its
	// connection is broken.
	settleTime = time.Second
)

// session is one connection to a server, from the handshake to its end.
type session struct {
	client  *mcp.ClientSession
	carrier carrier
	// target is what it is connected to.
	target *target
	// listed is what went wrong when the tools were listed at the beginning.
	listed error

	// ctx ends with the session. done is closed when nothing is left of it;
	// cause and lived are set then.
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	cause  error
	lived  time.Duration

	// changes has an element when the tools may have changed.
	changes chan struct{}

	mu sync.Mutex
	// progress are the calls under way, by their progress tokens.
	progress map[string]func(text string)
	calls    uint64
}

// carrier is what carries the messages of a session.
type carrier interface {
	mcp.Transport
	// stop ends whatever still goes on, and returns when that is done.
	stop()
	// explain adds to an error what the carrier knows about its cause.
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
	c := &session{target: to, done: make(chan struct{}), changes: make(chan struct{}, 1), progress: make(map[string]func(string))}
	c.ctx, c.cancel = context.WithCancel(ctx)
	if s.config.URL != "" {
		c.carrier = newRemote(c.ctx, s.config.Auth, to)
	} else {
		c.carrier = &program{config: &s.config, dir: to.dir, writeTime: s.writeTime, stderr: process.NewLineWriter(s.logOutput)}
	}
	if err := c.initialize(s.config.connectTimeout()); err != nil {
		c.cancel()
		c.carrier.stop()
		err = to.hideSecrets(c.carrier.explainError(err))
		if !errors.Is(err, ErrClosed) {
			s.logger.Warn("connecting to the MCP server failed", "error", err)
		}
		return nil, &Error{Server: s.id, Err: err}
	}
	return c, nil
}

// logOutput logs a line that the program wrote to its standard error.
func (s *server) logOutput(line string) {
	s.logger.Info("MCP server output", "line", redactTexts(line, s.secrets))
}

// initialize shakes hands. A server that does not answer in time is given up.
func (c *session) initialize(limit time.Duration) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "agentruntime", Version: programVersion()}, &mcp.ClientOptions{
		Capabilities:                &mcp.ClientCapabilities{},
		MultiRoundTrip:              &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { c.noteChange() },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { c.routeProgress(r.Params) },
	})
	ctx, cancel := context.WithTimeout(c.ctx, limit)
	defer cancel()
	// Some of what connecting waits for does not end with its context.
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

// programVersion returns the version of the program, which servers are told.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// waitForEnd waits for the end of the session, which the server, the carrier or the
// runtime brings about, and sees to it that nothing is left.
func (c *session) waitForEnd(s *server, began time.Time) {
	ended := make(chan error, 1)
	go func() { ended <- c.client.Wait() }() // ends when part has returned
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
	c.cause = &Error{Server: s.id, Err: err}
	c.lived = time.Since(began)
	close(c.done)
}

// sayGoodbye takes leave of the server, and does not wait long for that.
func (c *session) sayGoodbye() {
	late := time.AfterFunc(partingTime, c.carrier.stop)
	_ = c.client.Close()
	late.Stop()
}

// hasEnded reports whether the session is over.
func (c *session) hasEnded() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// isEnding reports whether the session is about to end, and waits for that. A call
// may learn of a broken connection before the session does.
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

// followChanges lists the tools whenever they may have changed, until the session
// ends. The beginning differs when the first list did.
func (c *session) followChanges(s *server, differs bool) {
	if differs {
		s.notifyChange(c.ctx)
	}
	for {
		select {
		case <-c.changes:
			s.relistTools(c.ctx, c)
		case <-c.ctx.Done():
			return
		}
	}
}

// listCatalog asks for the tools.
func (c *session) listCatalog(ctx context.Context, fingerprint string) (*catalog, error) {
	var list []toolInfo
	size := 0
	params := new(mcp.ListToolsParams)
	for range maxPages {
		page, err := c.client.ListTools(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("list the tools: %w", err)
		}
		for _, t := range page.Tools {
			info, err := newToolInfo(t)
			if err != nil {
				return nil, fmt.Errorf("list the tools: %w", err)
			}
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
			return newCatalog(fingerprint, c.serverInfo(), list), nil
		}
		params.Cursor = page.NextCursor
	}
	return nil, fmt.Errorf("its list of tools has more than %d pages", maxPages)
}

// serverInfo returns what the server calls itself.
func (c *session) serverInfo() serverInfo {
	if r := c.client.InitializeResult(); r != nil && r.ServerInfo != nil {
		return serverInfo{Name: r.ServerInfo.Name, Version: r.ServerInfo.Version}
	}
	return serverInfo{}
}

func newToolInfo(t *mcp.Tool) (toolInfo, error) {
	info := toolInfo{Name: t.Name, Description: t.Description}
	if info.Description == "" {
		info.Description = t.Title
	}
	var err error
	if info.InputSchema, err = json.Marshal(t.InputSchema); err != nil {
		return info, err
	}
	if info.OutputSchema, err = json.Marshal(t.OutputSchema); err != nil {
		return info, err
	}
	if a := t.Annotations; a != nil {
		info.Annotations = annotations{ReadOnly: a.ReadOnlyHint, Idempotent: a.IdempotentHint}
	}
	return info, nil
}

// callTool calls a tool. It ends when the session does. The error wraps
// [mcp.ErrSessionMissing] when the server refused the call because it does not
// know the session.
func (c *session) callTool(ctx context.Context, name string, arguments json.RawMessage, progress func(string)) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var fate delivery
	ctx = context.WithValue(ctx, deliveryKey{}, &fate)
	stop := context.AfterFunc(c.ctx, cancel)
	defer stop()
	params := &mcp.CallToolParams{Meta: traceMeta(ctx), Name: name, Arguments: arguments}
	token, forget := c.watchProgress(progress)
	defer forget()
	params.SetProgressToken(token)
	result, err := c.client.CallTool(ctx, params)
	if err != nil && fate.refused.Load() && !errors.Is(err, mcp.ErrSessionMissing) {
		// The session ended over it, and was faster than the answer.
		err = fmt.Errorf("%w: %w", mcp.ErrSessionMissing, err)
	}
	return result, err
}

// delivery tracks the request that carried a call. The carrier
// finds it in the context of the request.
type delivery struct {
	// refused is set when the server did not know the session.
	refused atomic.Bool
}

type deliveryKey struct{}

// watchProgress hands what is reported under a token to progress, until forget is
// called.
func (c *session) watchProgress(progress func(string)) (token string, forget func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	token = strconv.FormatUint(c.calls, 10)
	c.progress[token] = progress
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.progress, token)
	}
}

// routeProgress hands progress to the call that it belongs to.
func (c *session) routeProgress(p *mcp.ProgressNotificationParams) {
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	c.mu.Lock()
	progress := c.progress[token]
	c.mu.Unlock()
	if progress != nil {
		progress(redactTexts(progressText(p), c.target.own))
	}
}

// progressText returns progress as a line of text.
func progressText(p *mcp.ProgressNotificationParams) string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
	text := number(p.Progress)
	if p.Total > 0 {
		text += "/" + number(p.Total)
	}
	if p.Message != "" {
		text += " " + p.Message
	}
	return cleanText(text, maxDescription) + "\n"
}
