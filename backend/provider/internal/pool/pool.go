package pool

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/providerproto"
)

// errClosed reports a pool that is closed or closing.
var errClosed = errors.New("the provider is shut down")

// Pool manages a provider's processes. It is safe for concurrent use.
type Pool struct {
	settings Settings

	running sync.WaitGroup
	// sockets are for processes, and listener is where a running provider calls back; both are nil
	// until a slot is created.
	sockets  *sockets
	listener net.Listener

	mu    sync.Mutex
	slots []*slot
	// period is the period in which the slots were created. It ends with Rest and Close.
	period *period
	// changed is closed and replaced when a slot or the number of turns changes.
	changed         chan struct{}
	closed, resting bool
	started         int
	// sticky has the slots of sessions, most recently used first.
	sticky map[string]*list.Element
	order  *list.List
}

// period is a period in which a pool's processes are used.
type period struct {
	// turns is the context of turns, and slots the context of the slots' goroutines.
	turns, slots       context.Context //nolint:containedctx // those of the turns and slots
	endTurns, endSlots context.CancelFunc
}

func newPeriod() *period {
	p := new(period)
	p.turns, p.endTurns = context.WithCancel(context.Background())
	p.slots, p.endSlots = context.WithCancel(context.Background())
	return p
}

// stuck assigns a session to a slot.
type stuck struct {
	session string
	slot    *slot
}

// New returns a pool without processes.
func New(s Settings) *Pool {
	return &Pool{settings: s, period: newPeriod(), changed: make(chan struct{}), sticky: map[string]*list.Element{}, order: list.New()}
}

// Start fills MinReady slots. It does not block.
func (p *Pool) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed
	}
	if p.resting {
		return nil
	}
	for len(p.slots) < max(p.settings.MinReady, 1) {
		if err := p.addSlot(); err != nil {
			return err
		}
	}
	return nil
}

// addSlot creates a slot and starts filling it. The caller holds the lock.
func (p *Pool) addSlot() error {
	if len(p.slots) == 0 {
		if err := p.prepareSockets(); err != nil {
			return err
		}
	}
	s := &slot{pool: p, number: len(p.slots)}
	p.slots = append(p.slots, s)
	ctx := p.period.slots
	p.running.Go(func() { p.fillSlot(ctx, s) })
	return nil
}

// prepareSockets makes the directory for the sockets of processes, or the listener for
// a provider that is running.
func (p *Pool) prepareSockets() error {
	if p.settings.Address == "" {
		made, err := makeSockets()
		p.sockets = made
		return err
	}
	if p.settings.HostAddress == "" {
		return nil
	}
	network, address := "tcp", p.settings.HostAddress
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
		_ = os.Remove(path) // of an earlier process
	}
	l, err := new(net.ListenConfig).Listen(p.period.slots, network, address)
	if err != nil {
		return fmt.Errorf("listen for the provider: %w", err)
	}
	if network == "unix" {
		if err := os.Chmod(address, 0o600); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	p.listener = l
	p.settings.Host.Serve(l)
	return nil
}

// removeSockets removes what prepareSockets made.
func (p *Pool) removeSockets() error {
	err := p.sockets.remove()
	if p.listener != nil {
		_ = p.listener.Close() // nothing is written there
	}
	p.sockets, p.listener = nil, nil
	return err
}

// changeSlot changes a slot and wakes the waiters for one.
func (p *Pool) changeSlot(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.wakeWaiting()
}

// wakeWaiting wakes all waiters for a change. The caller holds the lock.
func (p *Pool) wakeWaiting() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Lease is the use of a process for one turn.
type Lease struct {
	*Instance
	slot     *slot
	released sync.Once
}

// Release ends the use.
func (l *Lease) Release() {
	l.released.Do(func() {
		p := l.slot.pool
		p.changeSlot(func() { l.slot.turns-- })
	})
}

// Capabilities returns the capabilities of a ready process; nil while none is ready.
func (p *Pool) Capabilities() *providerproto.AgentProviderCapabilities {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		if s.instance != nil {
			return s.instance.Capabilities
		}
	}
	return nil
}

// Acquire returns a process for a turn of a session: the process of its earlier turns, or the
// least busy one. It waits for a starting process. The error omits the reason of a failed start,
// which the provider may have worded; the log has it. With once, a failed start is returned instead
// of waiting for another.
func (p *Pool) Acquire(ctx context.Context, session string, once bool) (*Lease, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.settings.StartupTimeout, fmt.Errorf("no process was ready within %s", p.settings.StartupTimeout))
	defer cancel()
	for {
		if err := p.Start(); err != nil { // also after a rest
			return nil, err
		}
		lease, changed, err := p.tryAcquire(session)
		if lease == nil && once {
			err = cmp.Or(p.startFailure(), err)
		}
		if lease != nil || err != nil {
			return lease, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			err := context.Cause(ctx)
			if p.startFailure() != nil {
				err = fmt.Errorf("%w; the reason is in the log of the runtime", err)
			}
			return nil, err
		}
	}
}

// startFailure returns why the last start of a slot failed; nil if none did.
func (p *Pool) startFailure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		if s.failure != nil {
			return s.failure
		}
	}
	return nil
}

// tryAcquire returns a process for a session if one is ready, or a channel to wait for.
func (p *Pool) tryAcquire(session string) (*Lease, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errClosed
	}
	if p.resting || len(p.slots) == 0 { // it will start again
		return nil, p.changed, nil
	}
	s := p.slotOf(session)
	if s == nil {
		var err error
		if s, err = p.chooseSlot(); err != nil {
			return nil, nil, err
		}
	}
	if s == nil || s.instance == nil {
		return nil, p.changed, nil
	}
	p.stick(session, s)
	s.turns++
	return &Lease{Instance: s.instance, slot: s}, nil, nil
}

// slotOf returns the slot of a session, or nil. A slot that stays empty has no sessions.
func (p *Pool) slotOf(session string) *slot {
	e := p.sticky[session]
	if e == nil {
		return nil
	}
	if s := e.Value.(*stuck).slot; !s.dead {
		return s
	}
	p.unstick(e)
	return nil
}

// chooseSlot returns the least busy slot, or nil if none is ready. If all are busy it creates
// another one, up to the limit.
func (p *Pool) chooseSlot() (best *slot, err error) {
	dead := 0
	for _, s := range p.slots {
		if s.dead {
			dead++
		}
		if s.instance == nil {
			continue
		}
		if best == nil || s.turns < best.turns || s.turns == best.turns && s.sessions < best.sessions {
			best = s
		}
	}
	if dead == len(p.slots) && len(p.slots) >= p.settings.MaxReady {
		return nil, errNotRunning
	}
	if len(p.slots) < p.settings.MaxReady && (best != nil && best.turns > 0 || dead == len(p.slots)) {
		if err := p.addSlot(); err != nil {
			return nil, err
		}
	}
	return best, nil
}

// stick assigns a session to a slot, and drops the least recently used one if there are too many.
func (p *Pool) stick(session string, s *slot) {
	if e := p.sticky[session]; e != nil {
		p.order.MoveToFront(e)
		return
	}
	p.sticky[session] = p.order.PushFront(&stuck{session, s})
	s.sessions++
	if len(p.sticky) > maxSticky {
		p.unstick(p.order.Back())
	}
}

func (p *Pool) unstick(e *list.Element) {
	known := e.Value.(*stuck)
	p.order.Remove(e)
	delete(p.sticky, known.session)
	known.slot.sessions--
}

// EndOfTurns returns the context that ends turns: it is canceled when Close or Rest stops waiting
// for them.
func (p *Pool) EndOfTurns() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.period.turns
}

// Close waits for turns to end, at most DrainTimeout, and ends the processes.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.wakeWaiting()
	p.mu.Unlock()
	if turns := p.awaitTurns(p.settings.DrainTimeout); turns > 0 {
		p.settings.Logger.Warn("drain timed out, ending the provider", "turns", turns)
	}
	err := p.endPeriod(p.period)
	p.settings.Host.Close()
	return err
}

// Rest ends the turns and the processes, until a turn needs one again. It must not be called
// together with Close.
func (p *Pool) Rest() error {
	p.mu.Lock()
	if p.closed || len(p.slots) == 0 {
		p.mu.Unlock()
		return nil
	}
	ended := p.period
	p.resting, p.period = true, newPeriod() // new turns wait for the next period
	p.wakeWaiting()
	p.mu.Unlock()
	err := p.endPeriod(ended)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slots, p.resting = nil, false
	clear(p.sticky)
	p.order.Init()
	p.wakeWaiting()
	return err
}

// endPeriod ends the turns of a period, then its processes.
func (p *Pool) endPeriod(ended *period) error {
	ended.endTurns()
	p.awaitTurns(endPatience)
	ended.endSlots()
	p.running.Wait()
	return p.removeSockets()
}

// awaitTurns waits, at most for limit, until no turn is running, and returns the number still
// running.
func (p *Pool) awaitTurns(limit time.Duration) (turns int) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		p.mu.Lock()
		turns = 0
		for _, s := range p.slots {
			turns += s.turns
		}
		changed := p.changed
		p.mu.Unlock()
		if turns == 0 {
			return 0
		}
		select {
		case <-changed:
		case <-timer.C:
			return turns
		}
	}
}
