// Package work runs stored turns. A Pool claims them, runs them, and records their progress, so
// that another process can take over at any moment.
package work

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// Codes of turns that a Pool ends, in addition to the codes of package backend.
const (
	// CodePoison means that too many workers died while running the turn.
	CodePoison = "poison"
	// CodeUnresolved means that the turn's agent no longer resolved when the turn was resumed.
	CodeUnresolved = "unresolved"
	// CodeRevisionGone means that the turn's revision no longer existed when the turn was
	// resumed.
	CodeRevisionGone = "revision_gone"
	// CodeWorkspace means that the workspace of the turn's session is not on this machine.
	CodeWorkspace = "workspace_unavailable"
	// CodeInvalidText means that a text of the turn cannot be stored, such as an artifact name with
	// a NUL.
	CodeInvalidText = "invalid_text"
	// CodeMemory means that the turn was ended because the process used too much memory.
	CodeMemory = "out_of_memory"
)

// feed receives the committed events of turns.
type feed interface {
	// Publish passes on committed events, and Look reports any other change.
	Publish(turnID string, records []event.Record)
	Look(turnID string)
	// Notify tells other processes.
	Notify(turnID string)
}

// Order is the request of a claimed turn.
type Order struct {
	Request *runtime.Request
	// Trace is the trace context of the request.
	Trace http.Header
	// Revision is the hash of the revision that the turn begins in; empty means the current one.
	Revision string
	// Agent is the agent that has the conversation. If the revision no longer has it, the agent of
	// the request runs the turn.
	Agent string
	// Patience is how long the turn waits for a person; 0 means forever.
	Patience time.Duration
	// Added is the number of stored messages that follow the turn's input.
	Added int
	// MakeTools, when set, creates the tools that the turn supplies and adds them to the request.
	// The turn runs in the returned context. release is called when the work ends, and is never
	// nil.
	MakeTools func(ctx context.Context) (turning context.Context, release func(), err error)
}

// Settings configures a Pool. All fields are required except Runtime, without which the pool
// claims nothing, Revisions and Policy.
type Settings struct {
	Runtime *runtime.AgentRuntime
	Store   store.Work
	// Revisions finds revisions that are not in memory; nil finds none. Policy selects the
	// revision in which turns continue.
	Revisions Revisions
	Policy    Policy
	// ForgetHandoffs is set if handoffs end with their turns.
	ForgetHandoffs bool
	// KeepRequest stores a model request; nil stores none.
	KeepRequest func(ctx context.Context, r *store.ModelRequest) error
	// Tenants finds the revisions in which turns begin; nil means the current one for all.
	Tenants Tenants
	Queue   store.Queue
	Feed    feed
	// Read decodes the request of a claimed turn. An error means that it is unreadable.
	Read func(claimed *store.Claimed, conversation [][]byte) (*Order, error)
	// End ends a turn from outside.
	End func(ctx context.Context, turnID string, why event.Termination) error
	// Worker names this process among those that use the store. Lease is how long a turn belongs to
	// a worker without a heartbeat. Strikes is how many workers may die over a turn that makes no
	// progress.
	Worker  string
	Lease   time.Duration
	Strikes int
	// MemoryLimit is how many bytes of memory the process may use while turns run.
	MemoryLimit int64
	Clock       func() time.Time
	Logger      *zap.Logger

	_ struct{} // keyed literals only
}

// Pool runs the turns of this process. It is safe for concurrent use.
type Pool struct {
	settings Settings
	draining atomic.Bool
	// kept are the revisions of waiting turns.
	kept keptRevisions
	// isolated is a semaphore of one: held while a turn runs whose next crash would
	// be its last.
	isolated chan struct{}
	// truce is the time until which no turns are taken from other workers. Only the sweeping
	// goroutine uses it.
	truce time.Time
	// reportAt is when the process next reports that it is alive. Only the sweeping goroutine uses it.
	reportAt time.Time

	mu   sync.Mutex
	held map[string]*heldTurn // by the id of the turn
	// claiming counts the claims in progress, whose turns are not held yet.
	claiming int
	// quarantine is nil while no suspect turn is kept apart.
	quarantine *quarantine

	// ctx ends when the pool is closed, which ends the goroutines in tasks.
	ctx    context.Context
	cancel context.CancelCauseFunc
	tasks  sync.WaitGroup
}

// heldTurn is a turn that this process has claimed and not yet released. The pool guards the
// mutable fields.
type heldTurn struct {
	// turn is the turn as claimed.
	turn *store.Turn
	// worker is nil until the work begins.
	worker *worker
	// mayDiffer is set once the turn may no longer be running: before its end is committed or
	// shown, and on a notification about it.
	mayDiffer bool
	// since is when the turn was claimed, and bytes the size of its conversation then.
	since time.Time
	bytes int
	// failed is set once the turn has been failed because of its memory.
	failed bool
}

// quarantine keeps suspect turns, during which a process died, apart from other turns until
// they make progress. The pool guards it.
type quarantine struct {
	// alone is set if one turn has the process for itself. Otherwise suspects share it.
	alone bool
	// suspects counts the turns in quarantine.
	suspects int
	// quiet is closed when the other turns have ended, and ended with the quarantine.
	quiet, ended chan struct{}
	begun        bool
	since        time.Time
	limit        *time.Timer
}

// errClosed cancels work in progress when the pool is closed.
var errClosed = errors.New("the service is closed")

// NewPool returns a pool. It runs the turns passed to Work.
func NewPool(s Settings) *Pool {
	p := &Pool{settings: s, isolated: make(chan struct{}, 1), held: make(map[string]*heldTurn)}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	return p
}

// Drain stops turns after their current step. Work then declines new turns.
func (p *Pool) Drain() { p.draining.Store(true) }

// Close stops the pool's goroutines and waits for them. Call it when no Work is running.
func (p *Pool) Close() {
	p.Drain()
	p.cancel(errClosed)
	p.tasks.Wait()
	p.kept.close()
}

// now returns the time with the precision of the store.
func (p *Pool) now() time.Time { return p.settings.Clock().UTC().Truncate(time.Microsecond) }

// logError logs an error unless the pool is closing.
func (p *Pool) logError(ctx context.Context, text string, err error, fields ...zap.Field) {
	if ctx.Err() == nil || p.ctx.Err() == nil {
		p.settings.Logger.Error(text, append(fields, zap.Error(err))...)
	}
}
