// Package service keeps sessions and turns in a store and runs the turns. A turn outlives its
// caller, the process and the machine. The package decides for all surfaces what a caller may see
// and change.
package service

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/service/internal/follow"
	"github.com/agentruntime/agentruntime/service/internal/work"
	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/store"
	"github.com/google/uuid"
	"go.uber.org/zap"
)

var (
	// errClosed cancels work in progress when the service is closed.
	errClosed = errors.New("the service is closed")
	// ErrNoDispatcher means that a service only reads turns and runs none.
	ErrNoDispatcher = errors.New("the service has no dispatcher, so it works on no turns")
)

// New returns a service. It does nothing by itself before Start.
func New(s Settings) *Service {
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	if s.Clock == nil {
		s.Clock = time.Now
	}
	if s.NewID == nil {
		s.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if s.Jitter == nil {
		s.Jitter = rand.N[time.Duration]
	}
	s.Worker = cmp.Or(s.Worker, s.NewID())
	s.Lease = cmp.Or(s.Lease, DefaultLease)
	s.Strikes = cmp.Or(s.Strikes, DefaultStrikes)
	s.Expiry = cmp.Or(s.Expiry, defaultExpiry)
	s.OnTimeout = cmp.Or(s.OnTimeout, TimeoutCancels)
	c := &core{settings: s}
	v := assembleParts(c)
	c.box, c.badKey = sealed.New(s.EncryptionKey)
	c.ctx, v.cancel = context.WithCancelCause(context.Background())
	c.hub = follow.NewHub(c.ctx, s.Store, s.Logger)
	c.courier = webhook.NewCourier(webhook.Settings{
		Store: s.Store, Senders: s.Webhooks, Worker: s.Worker, Lease: s.Lease, Clock: s.Clock, Logger: s.Logger,
		Events: func(ctx context.Context, turnID string, after uint64) iter.Seq2[event.Record, error] {
			return v.Events(ctx, Operator(), turnID, after)
		},
	})
	var keepRequest func(context.Context, *store.ModelRequest) error
	if s.KeepRequests {
		keepRequest = s.Store.SaveModelRequest
	}
	c.pool = work.NewPool(work.Settings{
		Runtime: s.Runtime, Store: s.Store, Queue: s.Dispatcher, Feed: feed{c.hub, s.Notifier, s.OnChange}, Read: v.readOrder,
		End: func(ctx context.Context, turnID string, why event.Termination) error {
			_, err := v.endTurn(ctx, Operator(), turnID, why)
			return err
		},
		Revisions: s.Revisions, Tenants: s.Tenants, Policy: work.Policy{Latest: s.Revision == RevisionLatest, LatestIfGone: s.latestIfGone()},
		ForgetHandoffs: s.Handoff == HandoffPerTurn, KeepRequest: keepRequest,
		Worker: s.Worker, Lease: s.Lease, Strikes: s.Strikes, MemoryLimit: s.MemoryLimit, Clock: s.Clock, Logger: s.Logger,
	})
	if s.Dispatcher != nil {
		s.Store.Attach(s.Dispatcher)
	}
	return v
}

// assembleParts returns a service whose parts share a core.
func assembleParts(c *core) *Service {
	agents, log, snapshots, variables, starts := &Agents{c}, &EventLog{c}, &Snapshots{c}, &Variables{c}, &starts{c}
	workspaces := &Workspaces{core: c, starts: starts}
	turns := &Turns{core: c, agents: agents, log: log, snapshots: snapshots, starts: starts, variables: variables, workspaces: workspaces}
	return &Service{
		core: c, Agents: agents, EventLog: log, Interactions: &Interactions{core: c, turns: turns},
		Sessions: &Sessions{core: c, starts: starts, turns: turns, workspaces: workspaces}, Snapshots: snapshots, Turns: turns,
		Variables: variables, Webhooks: &Webhooks{c}, Workspaces: workspaces, starts: starts,
	}
}

// Start takes over the turns of dead workers and starts running turns. It returns once that has
// begun.
func (s *Service) Start(ctx context.Context) error {
	if s.settings.Dispatcher == nil {
		return ErrNoDispatcher
	}
	recovered, err := s.settings.Store.Recover(ctx, s.now())
	if err != nil {
		return err
	}
	if recovered > 0 {
		s.settings.Logger.Info("resuming turns of a dead worker", zap.Int("turns", recovered))
	}
	if err := s.settings.Dispatcher.Start(ctx, s.pool.Work); err != nil {
		return err
	}
	s.started.Store(true)
	s.tasks.Go(s.sweepPeriodically)
	if s.settings.MemoryLimit > 0 {
		s.tasks.Go(func() { s.pool.WatchMemory(s.ctx) })
	}
	if s.settings.Workspaces != nil {
		s.tasks.Go(s.sweepWorkspaces)
	} else {
		s.tasks.Go(func() { s.starts.dropAbandoned(s.ctx) })
	}
	if r := s.settings.Retention; r.Sessions > 0 || r.Events > 0 || r.Keys > 0 || r.Revisions > 0 {
		s.tasks.Go(s.prunePeriodically)
	}
	s.courier.Start()
	s.Listen()
	return nil
}

// Listen subscribes to the turns that other processes run. Start also does that; a read-only
// service may call Listen.
func (s *Service) Listen() {
	if s.settings.Notifier == nil {
		return
	}
	s.tasks.Go(func() {
		err := s.settings.Notifier.Listen(s.ctx, s.refreshTurns)
		if s.ctx.Err() == nil {
			s.settings.Logger.Error("cross-process notifications lost; polling every 2s", zap.Error(err))
		}
	})
}

// Drain stops taking turns, finishes the running steps, and hands the turns back for other workers.
// If ctx ends first, steps are cut short and will be repeated. Webhooks are also handed back.
func (s *Service) Drain(ctx context.Context) error {
	s.pool.Drain()
	if !s.started.Load() {
		return nil
	}
	err := s.settings.Dispatcher.Drain(ctx)
	if err != nil {
		s.settings.Logger.Warn("grace time over; interrupted steps will be retried", zap.Error(err))
	}
	return errors.Join(err, s.courier.Drain(ctx))
}

// Close stops everything immediately and leaves nothing running; turns continue on another worker,
// or when a service is started again. It does not close the store. It may be called more than once.
func (s *Service) Close() {
	s.pool.Drain()
	s.cancel(errClosed)
	if s.settings.Dispatcher != nil {
		s.settings.Dispatcher.Stop()
	}
	s.courier.Close()
	s.pool.Close()
	s.tasks.Wait()
	s.settings.Workspaces.Close(context.Background())
	s.hub.Close()
}

// sweepInterval is how often the service checks for dead workers and overdue interactions.
const sweepInterval = time.Second

// sweepPeriodically runs the periodic jobs until the service is closed.
func (s *Service) sweepPeriodically() {
	ticker := time.NewTicker(min(sweepInterval, s.settings.Lease/3))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.pool.Sweep(s.ctx)
			s.expireInteractions(s.ctx)
		case <-s.ctx.Done():
			s.leave()
			return
		}
	}
}

// leaveTimeout limits the delay of Close while the store does not respond.
const leaveTimeout = time.Second

// leave removes this process from the replicas, whose entry would otherwise expire.
func (s *Service) leave() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), leaveTimeout)
	defer cancel()
	if err := s.pool.Leave(ctx); err != nil {
		s.settings.Logger.Warn("removing the replica failed", zap.Error(err))
	}
}

// refreshTurns handles notifications about turns from other processes: followers read again, and a
// worker whose turn was ended elsewhere stops.
func (s *Service) refreshTurns(turnIDs []string) {
	if s.settings.OnNotify != nil {
		s.settings.OnNotify(turnIDs)
	}
	if turnIDs == nil {
		s.hub.LookAll()
		return
	}
	for _, id := range turnIDs {
		if !s.pool.Heard(id) {
			s.hub.Look(id)
		}
	}
}
