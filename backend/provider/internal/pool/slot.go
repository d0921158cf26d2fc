package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/internal/wait"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Instance is one process of a provider, from readiness until it is lost.
type Instance struct {
	providerproto.AgentProviderClient
	// Capabilities are the process's capabilities.
	Capabilities *providerproto.AgentProviderCapabilities
	// Number counts the processes that were started.
	Number int
	// Elsewhere is set for a process that the runtime did not start: losing it means that it is
	// unreachable, not that it has ended.
	Elsewhere bool

	conn *grpc.ClientConn
	// lost is closed when the process is lost.
	lost chan struct{}
}

// Lost is closed when the process is lost.
func (i *Instance) Lost() <-chan struct{} { return i.lost }

// slot is a place for a process. Its fields are guarded by the pool's lock.
type slot struct {
	pool   *Pool
	number int
	// instance is the ready process; nil if absent.
	instance *Instance
	// failure is why the last start failed; nil if it succeeded.
	failure error
	// dead is set if the slot stays empty.
	dead bool
	// turns counts the running turns, and sessions the slot's sessions.
	turns, sessions int
}

// errNotRunning reports a provider whose process has ended and is not restarted.
var errNotRunning = errors.New("the provider has ended and is not started again")

// fillSlot keeps a process in a slot until the context ends.
func (p *Pool) fillSlot(ctx context.Context, s *slot) {
	pause := firstBackoff
	for ctx.Err() == nil {
		began := time.Now()
		err := p.runInstance(ctx, s)
		if ctx.Err() != nil {
			p.settings.Logger.Info("provider stopped", "slot", s.number)
			return
		}
		if time.Since(began) > steadyTime {
			pause = firstBackoff
		}
		if p.settings.NeverRestart {
			p.changeSlot(func() { s.dead, s.failure = true, errors.Join(errNotRunning, err) })
			p.settings.Logger.Error("provider ended", "slot", s.number, "error", err)
			return
		}
		message := "provider ended; starting it again"
		if p.settings.Address != "" {
			message = "provider lost; connecting again"
		}
		p.settings.Logger.Warn(message, "slot", s.number, "error", err, "wait", pause)
		if wait.For(ctx, pause) != nil {
			return
		}
		pause = min(2*pause, lastBackoff)
	}
}

// runInstance runs one process until it ends, is unhealthy or ctx ends, and returns the reason.
func (p *Pool) runInstance(ctx context.Context, s *slot) (err error) {
	starting, cancel := context.WithTimeoutCause(ctx, p.settings.StartupTimeout, fmt.Errorf("the provider was not ready within %s", p.settings.StartupTimeout))
	defer cancel()
	address, c, end, err := p.launch(s)
	if err != nil {
		p.changeSlot(func() { s.failure = err })
		return err
	}
	defer end()
	exited := make(<-chan struct{})
	if c != nil {
		exited = c.exited
		defer c.stop()
	}
	stopWaiting := endWith(starting, exited, cancel)
	defer stopWaiting()
	conn, err := dialProvider(address)
	if err != nil {
		return fmt.Errorf("connect to the provider: %w", err)
	}
	defer conn.Close() // nothing is written anymore
	err = p.settings.identifyProvider(starting, conn)
	var broken <-chan struct{}
	if c == nil { // a process started here is lost when it ends
		var stopWatching func()
		broken, stopWatching = watchConnection(ctx, conn)
		defer stopWatching()
	}
	var can *providerproto.AgentProviderCapabilities
	if err == nil {
		can, err = p.settings.prepareProvider(starting, conn)
	}
	if err != nil {
		err = explainStart(starting, c, err)
		p.changeSlot(func() { s.failure = err })
		return err
	}
	i := &Instance{AgentProviderClient: providerproto.NewAgentProviderClient(conn), Capabilities: can, Elsewhere: c == nil, conn: conn, lost: make(chan struct{})}
	p.changeSlot(func() { p.started++; i.Number = p.started; s.instance, s.failure = i, nil })
	p.settings.Logger.Info("provider ready", "slot", s.number, "process", i.Number)
	defer func() {
		p.changeSlot(func() { s.instance = nil })
		close(i.lost)
	}()
	return p.watchHealth(ctx, i, c, exited, broken)
}

// endWith calls cancel if closed is closed before ctx ends.
func endWith(ctx context.Context, closed <-chan struct{}, cancel context.CancelFunc) (stop func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return func() { cancel(); <-over }
}

// explainStart adds to a start failure how the process ended, or that its time was up.
func explainStart(ctx context.Context, c *child, err error) error {
	if c != nil {
		select {
		case <-c.exited:
			return fmt.Errorf("the provider ended before it was ready: %w", cmp.Or(c.err, errExited))
		default:
		}
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// launch starts the process of a slot, or finds the running one. end removes the resources
// created for it.
func (p *Pool) launch(s *slot) (address string, c *child, end func(), err error) {
	if p.settings.Address != "" {
		return p.settings.Address, nil, func() {}, nil
	}
	dir := filepath.Join(p.sockets.dir, strconv.Itoa(s.number))
	if err := os.RemoveAll(dir); err != nil {
		return "", nil, nil, fmt.Errorf("start the provider: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, nil, fmt.Errorf("start the provider: %w", err)
	}
	socket, hostSocket := filepath.Join(dir, "provider.sock"), filepath.Join(dir, "host.sock")
	listener, err := net.Listen("unix", hostSocket)
	if err != nil {
		return "", nil, nil, fmt.Errorf("listen for the provider: %w", err)
	}
	p.settings.Host.Serve(listener)
	// The Gestalt SDKs support no other form of a path.
	if c, err = p.settings.startChild(socket, "unix://"+hostSocket); err != nil {
		_ = listener.Close()
		return "", nil, nil, err
	}
	return "unix:" + socket, c, func() { _ = listener.Close() }, nil
}

// watchHealth checks a provider's health periodically, until it ends, is unhealthy or ctx ends.
func (p *Pool) watchHealth(ctx context.Context, i *Instance, c *child, exited, broken <-chan struct{}) error {
	life := providerproto.NewProviderLifecycleClient(i.conn)
	ticker := time.NewTicker(p.settings.HealthInterval)
	defer ticker.Stop()
	failed := 0
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-exited:
			return fmt.Errorf("the process ended: %w", errors.Join(c.err, errExited))
		case <-broken:
			return errDisconnected
		case <-ticker.C:
		}
		err := checkHealth(ctx, life)
		if failed++; err == nil {
			failed = 0
		}
		if failed >= maxUnhealthy {
			if c != nil {
				c.kill()
			}
			return fmt.Errorf("the provider is unhealthy: %w", err)
		}
	}
}

// watchConnection returns a channel that is closed when the connection to a provider not started
// here breaks: another process, which lacks its configuration, may answer then. stop ends the
// watch.
func watchConnection(ctx context.Context, conn *grpc.ClientConn) (broken <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	closed := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		if conn.WaitForStateChange(ctx, connectivity.Ready) {
			close(closed)
		}
	})
	return closed, func() { cancel(); watching.Wait() }
}

// errDisconnected reports a lost provider that was not started here.
var errDisconnected = errors.New("the connection broke")

// errExited reports a process that ended unexpectedly.
var errExited = errors.New("unexpected end")

// checkHealth returns why a provider is not healthy, or nil.
func checkHealth(ctx context.Context, life providerproto.ProviderLifecycleClient) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	health, err := life.HealthCheck(ctx, &emptypb.Empty{})
	if err == nil && !health.GetReady() {
		err = fmt.Errorf("it is not ready: %s", health.GetMessage())
	}
	return err
}
