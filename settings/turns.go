package settings

import (
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
)

// The defaults of turns.
const (
	defaultConcurrency = 64
	defaultTurnLease   = 5 * time.Second
	defaultStrikes     = 3
	minMemoryLimit     = 1 << 20
	defaultGrace       = 30 * time.Second
)

// minTurnLease is the shortest lease: a worker sends three heartbeats per lease, and a slow disk must not look like a dead worker.
const minTurnLease = time.Second

// What happens to a turn whose interaction was not answered in time, and to a call
// whose outcome is unknown.
const (
	timeoutCancels     = "cancel"
	timeoutFails       = "fail"
	IndeterminateError = "error"
	IndeterminateAsk   = "ask"
)

// In which revision a turn goes on, and what becomes of it if that is gone.
const (
	revisionPinned = "pin"
	revisionLatest = "latest"
	goneFails      = "fail"
	goneLatest     = "latest"
)

// Which agent works on the turn after a handoff.
const (
	handoffSession = "session"
	handoffPerTurn = "per_turn"
)

// Turns configures how a process works on turns that are kept in a store. Absent
// fields have the defaults named in their descriptions.
type Turns struct {
	Concurrency          *int           `json:"concurrency,omitempty" min:"1" default:"64" doc:"How many turns this process works on at the same time. Each has a model call open and holds its conversation in memory."`
	PerTenant            int            `json:"per_tenant,omitempty" min:"0" default:"0" doc:"How many turns of one tenant are worked on at the same time, by all processes together; 0 is no limit."`
	Lease                *spec.Duration `json:"lease,omitempty" default:"5s" doc:"How long a turn belongs to a process that sends no heartbeat, 1s or more. A short lease takes turns from a process that is only slow, which then repeats a step; a long one leaves those of a dead process lying."`
	Strikes              *int           `json:"strikes,omitempty" min:"1" default:"3" doc:"How many processes may crash on a turn without progress before it fails. The last attempt runs alone, so 2 allows one retry, alone."`
	MemoryLimit          *int64         `json:"memory_limit,omitempty" min:"1048576" doc:"How many bytes of memory the process may use before turns are failed with the code out_of_memory: those over which a process died first, then those with the largest conversation, then the newest. The default is 90 % of GOMEMLIMIT, else of what the control group or the machine has."`
	InteractionTimeout   spec.Duration  `json:"interaction_timeout,omitempty" default:"0s" doc:"How long a turn waits for a person; 0 is for ever. A turn that waits keeps its session busy."`
	OnInteractionTimeout string         `json:"on_interaction_timeout,omitempty" enum:"cancel|fail" default:"cancel" doc:"What becomes of a turn whose person did not answer in time: with cancel the call is refused and the turn goes on, with fail the turn ends."`
	Indeterminate        string         `json:"indeterminate,omitempty" enum:"error|ask" default:"error" doc:"What becomes of a call of a tool with the effect once that was under way when the process died: error tells the model that its outcome is unknown, ask asks a person. It is never repeated."`
	Revision             string         `json:"revision,omitempty" enum:"pin|latest" default:"pin" doc:"In which revision of the configuration a turn goes on that was interrupted or waited: with pin in the one that it began in, with latest in the current one."`
	OnRevisionGone       string         `json:"on_revision_gone,omitempty" enum:"fail|latest" default:"fail" doc:"What becomes of a pinned turn whose revision cannot be built any more, because something that it needs is gone: with fail the turn ends, with latest it goes on in the current revision."`
	Handoff              string         `json:"handoff,omitempty" enum:"session|per_turn" default:"session" doc:"How long a handoff lasts: with session the agent that took over also works on the later turns of the session, until a request names an agent; with per_turn the next turn goes to the session's own agent again."`
	Grace                *spec.Duration `json:"grace,omitempty" default:"30s" doc:"How long a process that is told to end waits for the steps under way. What is not done by then is cut short and run again."`
}

// Limit returns how many turns a process works on at the same time.
func (t *Turns) Limit() int {
	if t.Concurrency == nil {
		return defaultConcurrency
	}
	return *t.Concurrency
}

// LeaseTime returns how long a turn belongs to a process without a sign of
// life.
func (t *Turns) LeaseTime() time.Duration {
	if t.Lease == nil {
		return defaultTurnLease
	}
	return t.Lease.Std()
}

// StrikeLimit returns how many processes may die over a turn.
func (t *Turns) StrikeLimit() int {
	if t.Strikes == nil {
		return defaultStrikes
	}
	return *t.Strikes
}

// GraceTime returns how long a process waits for the steps under way when it is
// told to end.
func (t *Turns) GraceTime() time.Duration {
	if t.Grace == nil {
		return defaultGrace
	}
	return t.Grace.Std()
}

// Validate checks the record by itself.
func (t *Turns) Validate() diag.List {
	list := check.Positive("concurrency", t.Concurrency)
	list = append(list, check.NotNegative("per_tenant", &t.PerTenant)...)
	if t.Lease != nil && t.Lease.Std() < minTurnLease {
		list = append(list, diag.New(diag.InvalidValue, "lease", "lease is %s; it must be %s or more", t.Lease, minTurnLease))
	}
	list = append(list, check.Positive("strikes", t.Strikes)...)
	if t.MemoryLimit != nil && *t.MemoryLimit < minMemoryLimit {
		list = append(list, diag.New(diag.InvalidValue, "memory_limit", "memory_limit is %d; it must be %d or more", *t.MemoryLimit, minMemoryLimit))
	}
	list = append(list, check.NotNegativeSpan("interaction_timeout", &t.InteractionTimeout)...)
	list = append(list, check.OneOf("on_interaction_timeout", t.OnInteractionTimeout, timeoutCancels, timeoutFails)...)
	list = append(list, check.OneOf("indeterminate", t.Indeterminate, IndeterminateError, IndeterminateAsk)...)
	list = append(list, check.OneOf("revision", t.Revision, revisionPinned, revisionLatest)...)
	list = append(list, check.OneOf("on_revision_gone", t.OnRevisionGone, goneFails, goneLatest)...)
	list = append(list, check.OneOf("handoff", t.Handoff, handoffSession, handoffPerTurn)...)
	list = append(list, check.NotNegativeSpan("grace", t.Grace)...)
	return append(list, t.warnNoEffect()...)
}
