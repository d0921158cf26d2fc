package mcp

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
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
	// changed maps the tools that differ from the pinning catalog to their differences.
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

// isStateless reports whether the server has no sessions, so that it sends no requests.
func (c *session) isStateless() bool {
	r := c.client.InitializeResult()
	return r != nil && r.ProtocolVersion >= firstStateless
}

// firstStateless is the first protocol version without sessions.
const firstStateless = "2026-07-28"

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

// changedTool returns how a tool differs from the catalog; empty if it does not.
func (c *session) changedTool(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed[name]
}

// noteChange notes that the tools may have changed.
func (c *session) noteChange() {
	select {
	case c.changes <- struct{}{}:
	default: // it is noted already
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
