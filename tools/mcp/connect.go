package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/process"
	"github.com/agentruntime/agentruntime/tools"
)

// enterPlace returns the connection for a call: the tenant's if the settings use tenant
// variables, or the workspace's for a program without a configured directory. Call leave after
// the call.
func (s *server) enterPlace(ctx context.Context, call *tools.Call) (l *link, leave func(), err error) {
	if s.refersToTenant || s.NeedsLogin() {
		to, err := s.bindTarget(ctx, call.Tenant)
		if err != nil {
			return nil, nil, err
		}
		l, leave, err = s.tenants.enter(s.ownerOf(call.Tenant), to.state(), s.openTo(to))
		if err != nil {
			err = &Error{Server: s.id, Err: err}
		}
		return l, leave, err
	}
	if call.Workspace == nil || s.config.URL != "" || s.config.Dir != "" {
		return s.link, func() {}, nil
	}
	dir, err := call.Workspace.Directory()
	if err != nil {
		return nil, nil, err
	}
	to := &target{dir: dir, secrets: s.secrets}
	if s.config.allowsFeature(featureRoots) {
		to.workspace = dir
	}
	return s.places.enter(dir, "", s.openTo(to))
}

// openTo returns a function that connects to a target. The session uses the tools of the
// catalog, not its own list.
func (s *server) openTo(to *target) func(context.Context, *sync.WaitGroup) (*session, error) {
	return func(ctx context.Context, running *sync.WaitGroup) (*session, error) {
		began := time.Now()
		c, err := s.connectSession(ctx, to)
		if err != nil {
			return nil, err
		}
		running.Go(func() { c.waitForEnd(s, began) })
		if err := s.verifyTools(c.ctx, c); err != nil {
			c.cancel()
			return nil, err
		}
		running.Go(func() { c.followPins(s) })
		return c, nil
	}
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
		c.carrier = &program{config: &s.config, dir: to.dir, writeTime: s.writeTime, stderr: process.NewLineWriter(func(line string) { s.logger.Info("MCP server output", "line", redactTexts(line, s.secrets)) }), warn: s.warnText}
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

// warnText logs a warning for a line that the program wrote to its standard output.
func (s *server) warnText(line string) {
	s.logger.Warn("the MCP server writes text to its standard output, which is for messages only; the text is skipped", "line", clip.Visible(redactTexts(line, s.secrets), maxError))
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

// partingTime is how long a server may take over the end of a session.
const partingTime = 2 * time.Second

// sayGoodbye closes the session at the server, without waiting long.
func (c *session) sayGoodbye() {
	late := time.AfterFunc(partingTime, c.carrier.stop)
	_ = c.client.Close()
	late.Stop()
}
