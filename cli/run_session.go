package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"go.uber.org/zap"
)

// errForgets is returned for a session to keep in a store that keeps nothing.
var errForgets = errors.New("--session needs a store that outlives this command, and the store is memory: use store: {driver: sqlite} or {driver: postgres}, or --server URL")

// withSession calls do with the records of a configuration's store. This process works only on the
// turns of the caller that do names, one after another.
func (p *program) withSession(ctx context.Context, l *loaded, rt *runtime.AgentRuntime, caller service.Caller, do func(*place) error) error {
	driver := p.StoreDriver(l.file)
	e, err := driver.Open(ctx, app.StoreSettings(l.file, zap.NewNop()))
	if err != nil {
		return p.complain(ctx, l, err)
	}
	d := &soloDispatcher{due: make(chan struct{}, 1), stopped: make(chan struct{}), idle: make(chan struct{})}
	if driver.Shared {
		if d.shared, err = e.NewDispatcher(1, zap.NewNop()); err != nil {
			return p.complain(ctx, l, errors.Join(err, e.Store.Close()))
		}
	}
	settings := app.ServiceSettings(l.file)
	settings.Runtime, settings.Store, settings.Notifier, settings.Dispatcher = rt, e.Store, e.Notifier, d
	settings.Logger = l.logger.Named("service")
	settings.Retention = store.Retention{} // which is for servers
	if settings.Workspaces, err = app.NewWorkspaces(l.file, l.logger); err != nil {
		return p.complain(ctx, l, errors.Join(err, e.Store.Close()))
	}
	turns := service.New(settings)
	if err = turns.Start(ctx); err == nil {
		err = do(&place{
			records: &native.Local{Service: turns, Caller: caller}, redact: l.file.Redact, name: strings.Join(l.names, " "),
			workOn: d.workOn, models: func(agent string) ([]string, string) { return modelsOf(rt.Revision().Set(), agent) }, keeps: driver.OpenReadOnly != nil,
		})
	}
	turns.Close()
	if busy, ok := errors.AsType[*store.BusyError](err); ok {
		err = fmt.Errorf("%w\n  a server processes it, now or when it is started; \"%s turns cancel %s %s\" ends it", busy, p.Command(), strings.Join(l.names, " "), busy.TurnID)
	}
	return p.complain(ctx, l, errors.Join(err, e.Store.Close()))
}

// hostedModel is shown for an agent at a hosted provider without a model.
const hostedModel = "the default of its provider"

// modelsOf returns the models and pools of a set, and the agent's own model. They are empty for
// an agent at a peer, and unknown for one at a hosted provider.
func modelsOf(set *registry.Set, agentID string) (all []string, own string) {
	agent, ok := set.Agent(agentID)
	if ok && agent.Hosted() {
		return nil, cmp.Or(agent.Model(), hostedModel)
	}
	if ok && agent.Local() {
		effective, _ := set.Defaults.Apply(agent)
		own = effective.ModelID
	}
	return slices.Concat(set.Models.IDs(), set.Pools.IDs()), own
}

// lookInterval is how often to check a turn without a job notification: another process may have
// had it, or its transaction was still open.
const lookInterval = 200 * time.Millisecond

// soloDispatcher dispatches one turn at a time to this process. Other turns' jobs are left to the
// store's servers.
type soloDispatcher struct {
	// turn is the id of the turn; nil before the first.
	turn atomic.Pointer[string]
	// shared enqueues jobs in a store that other processes also serve; nil for a single-process
	// store, which finds them again when it is served.
	shared dispatch.Dispatcher
	due    chan struct{}

	// stopped is closed to end Start's goroutine, which then closes idle; both once.
	once          sync.Once
	stopped, idle chan struct{}
	started       bool
	cancel        context.CancelFunc
}

var _ dispatch.Dispatcher = (*soloDispatcher)(nil)

// workOn makes this process work on a turn and forget the previous one.
func (d *soloDispatcher) workOn(turn string) { d.turn.Store(&turn) }

// Enqueue adds a job for the turn.
func (d *soloDispatcher) Enqueue(ctx context.Context, tx any, jobs []store.Job) error {
	for _, job := range jobs {
		if turn := d.turn.Load(); turn != nil && job.TurnID == *turn {
			select {
			case d.due <- struct{}{}:
			default:
			}
		}
	}
	if d.shared != nil {
		return d.shared.Enqueue(ctx, tx, jobs)
	}
	return nil
}

// Start starts working on the turn whenever it can be claimed.
func (d *soloDispatcher) Start(ctx context.Context, work dispatch.Handler) error {
	ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	d.started = true
	go func() {
		defer close(d.idle)
		look := time.NewTicker(lookInterval)
		defer look.Stop()
		for {
			select {
			case <-d.stopped:
				return
			case <-d.due:
			case <-look.C:
			}
			if turn := d.turn.Load(); turn != nil {
				work(ctx, *turn)
			}
		}
	}()
	return nil
}

// Drain implements dispatch.Dispatcher.
func (d *soloDispatcher) Drain(ctx context.Context) error {
	d.once.Do(func() { close(d.stopped) })
	if !d.started {
		return nil
	}
	select {
	case <-d.idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop implements dispatch.Dispatcher.
func (d *soloDispatcher) Stop() {
	d.once.Do(func() { close(d.stopped) })
	if d.started {
		d.cancel()
		<-d.idle
	}
	if d.shared != nil {
		d.shared.Stop()
	}
}
