package runtime

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/dispatch"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/store"
	"github.com/google/uuid"
	"go.uber.org/zap"
)

const (
	// DefaultLease is how long a turn belongs to a worker that gives no sign of
	// life.
	DefaultLease = 5 * time.Second
	// DefaultStrikes is how many workers may die over a turn without its getting
	// ahead.
	DefaultStrikes = 3
	// DefaultExpiry is how old the latest sign of life of a turn's worker is when
	// the turn reads as expired.
	DefaultExpiry = time.Minute
)

// ServiceSettings is what a service is made of. Runtime and Store are required;
// without a Dispatcher a service does not work on turns, it only reads and
// writes what is in the store.
type ServiceSettings struct {
	Runtime *AgentRuntime
	Store   store.Store
	// Dispatcher brings turns to this process, and Bell tells of those that other
	// processes work on; without a Bell the service looks at those that somebody
	// follows every two seconds.
	Dispatcher dispatch.Dispatcher
	Bell       dispatch.Bell
	// Worker names this process among those that use the store; empty makes a
	// new name.
	Worker string
	// Lease, Strikes and Expiry have the defaults above.
	Lease   time.Duration
	Strikes int
	Expiry  time.Duration
	// Indeterminate says what becomes of a call of a tool whose effect must not
	// be repeated when a worker died while it ran.
	Indeterminate backend.Indeterminate
	// InteractionTimeout is how long a turn waits for a person; 0 is for ever.
	// OnTimeout says what then becomes of it.
	InteractionTimeout time.Duration
	OnTimeout          TimeoutPolicy
	// TurnTools makes the tools that turns bring along; nil refuses such turns.
	TurnTools TurnTools
	// EncryptionKey has 32 bytes, with which the store keeps what describes these
	// tools: there may be credentials in it. Without one it is kept as it is. All
	// processes with the store have the same.
	EncryptionKey []byte
	// Retention says what is deleted: first within seconds of Start, so that
	// processes that do not live long do it, too, and then once an hour.
	Retention store.Retention
	// Jitter returns a part of a time span, so that processes that were started
	// together do not all do the same at once; nil is a random part of it.
	Jitter func(time.Duration) time.Duration
	// Schedules make turns when they are due.
	Schedules []Schedule
	// Webhooks tell receivers outside what happens to turns, by the surface of the
	// webhook; without any, webhooks are kept but nobody is told.
	Webhooks map[string]WebhookSender
	// StateTransform and EventTransform change what callers see of states and
	// events.
	StateTransform StateTransform
	EventTransform EventTransform
	// Logger takes in the service's log; nil drops it.
	Logger *zap.Logger
	// Clock tells the time; nil is time.Now. NewID makes ids; nil makes UUIDs of
	// version 7.
	Clock func() time.Time
	NewID func() string

	_ struct{} // keyed literals only
}

// TimeoutPolicy says what becomes of a turn whose interaction nobody answered in
// time.
type TimeoutPolicy string

// The policies. The empty one is TimeoutCancels.
const (
	// TimeoutCancels answers for the person: the call is refused, the model is
	// told why, and the turn goes on.
	TimeoutCancels TimeoutPolicy = "cancel"
	// TimeoutFails ends the turn as failed.
	TimeoutFails TimeoutPolicy = "fail"
)

// Service runs turns that are kept in a store: a turn outlives its caller, the
// process and the machine. It is safe for concurrent use. Several processes may
// serve one store where the store allows it.
type Service struct {
	ServiceSettings

	hub     *hub
	courier *courier
	// box seals secrets; nil without a key. badKey says that the key is none.
	box    *sealed.Box
	badKey error
	// running are the turns that this process works on.
	running struct {
		sync.Mutex
		turns map[string]*worker
	}
	// isolated has an element while a turn is worked on that has one death left.
	isolated chan struct{}
	// truce is until when no turns are taken from other workers. Used by the
	// goroutine that sweeps.
	truce    time.Time
	draining atomic.Bool
	// ctx ends when the service is closed; the goroutines in tasks then do.
	ctx     context.Context
	cancel  context.CancelCauseFunc
	tasks   sync.WaitGroup
	started atomic.Bool
}

var (
	// errClosed ends what is under way when the service is closed.
	errClosed = errors.New("the service is closed")
	// ErrNoDispatcher says that a service was made to look, not to work.
	ErrNoDispatcher = errors.New("the service has no dispatcher, so it works on no turns")
)

// NewService returns a service. It does nothing by itself before Start.
func NewService(s ServiceSettings) *Service {
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
	s.Expiry = cmp.Or(s.Expiry, DefaultExpiry)
	s.OnTimeout = cmp.Or(s.OnTimeout, TimeoutCancels)
	v := &Service{ServiceSettings: s}
	v.box, v.badKey = sealed.New(s.EncryptionKey)
	v.ctx, v.cancel = context.WithCancelCause(context.Background())
	v.hub = newHub(v.ctx, s.Store, v.Logger)
	v.courier = newCourier(v)
	v.running.turns = make(map[string]*worker)
	v.isolated = make(chan struct{}, 1)
	if s.Dispatcher != nil {
		s.Store.Attach(s.Dispatcher)
	}
	return v
}

// Start takes over what dead workers left and begins to work on turns. It
// returns once that has begun.
func (s *Service) Start(ctx context.Context) error {
	if s.Dispatcher == nil {
		return ErrNoDispatcher
	}
	clocks, err := s.clocks()
	if err != nil {
		return err
	}
	recovered, err := s.Store.Recover(ctx, s.now())
	if err != nil {
		return err
	}
	if recovered > 0 {
		s.Logger.Info("going on with turns whose worker is gone", zap.Int("turns", recovered))
	}
	if err := s.Dispatcher.Start(ctx, s.work); err != nil {
		return err
	}
	s.started.Store(true)
	s.every(min(sweepInterval, s.Lease/3), s.sweep)
	if s.Retention.Sessions > 0 || s.Retention.Events > 0 || s.Retention.Keys > 0 {
		s.tasks.Go(s.prunePeriodically)
	}
	for _, c := range clocks {
		s.tasks.Go(func() { c.run(s) })
	}
	s.courier.start()
	s.Listen()
	return nil
}

// Listen begins to hear of turns that other processes work on. Start does it,
// too; a service that only looks may.
func (s *Service) Listen() {
	if s.Bell == nil {
		return
	}
	s.tasks.Go(func() {
		err := s.Bell.Listen(s.ctx, s.heard)
		if s.ctx.Err() == nil {
			s.Logger.Error("hears no more of other processes; looks every two seconds instead", zap.Error(err))
		}
	})
}

// Drain stops taking turns, lets the steps under way end, and hands the turns
// back to whoever works on next. When ctx ends first, steps are cut short and
// will be run again. Webhooks are handed on, too.
func (s *Service) Drain(ctx context.Context) error {
	s.draining.Store(true)
	if !s.started.Load() {
		return nil
	}
	err := s.Dispatcher.Drain(ctx)
	if err != nil {
		s.Logger.Warn("the grace time is over; the steps under way are run again", zap.Error(err))
	}
	return errors.Join(err, s.courier.drain(ctx))
}

// Close ends everything at once and leaves nothing behind; what was under way
// goes on elsewhere, or when a service is started again. It does not close the
// store. It may be called more than once.
func (s *Service) Close() {
	s.draining.Store(true)
	s.cancel(errClosed)
	if s.Dispatcher != nil {
		s.Dispatcher.Stop()
	}
	s.tasks.Wait()
	s.hub.close()
}

// now returns the time as the store keeps it.
func (s *Service) now() time.Time { return s.Clock().UTC().Truncate(time.Microsecond) }

// every calls do again and again until the service is closed.
func (s *Service) every(interval time.Duration, do func(context.Context)) {
	s.tasks.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				do(s.ctx)
			case <-s.ctx.Done():
				return
			}
		}
	})
}

// ring tells everybody who follows a turn, here and elsewhere, that something
// happened to it.
func (s *Service) ring(turnID string) {
	if s.Bell != nil {
		s.Bell.Ring(turnID)
	}
}

// heard takes in that something happened to turns: whoever follows them looks,
// and a worker whose turn was ended elsewhere stops.
func (s *Service) heard(turnIDs []string) {
	if turnIDs == nil {
		s.hub.lookAll()
		return
	}
	for _, id := range turnIDs {
		if w := s.worker(id); w != nil {
			w.check()
		} else {
			s.hub.look(id)
		}
	}
}

// worker returns the one that works on a turn here, or nil.
func (s *Service) worker(turnID string) *worker {
	s.running.Lock()
	defer s.running.Unlock()
	return s.running.turns[turnID]
}

// EventTransform changes an event before a caller sees it. It is handed a copy
// of its own. Nil leaves the event out of what the caller sees, an error ends
// the caller's stream with it. The log is not changed.
type EventTransform func(ctx context.Context, ev *event.Event) (*event.Event, error)
