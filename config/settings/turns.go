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
	indeterminateError = "error"
	indeterminateAsk   = "ask"
)

// The revision in which a turn continues, and what happens if it is gone.
const (
	revisionPinned = "pin"
	revisionLatest = "latest"
	goneFails      = "fail"
	goneLatest     = "latest"
)

// The agent that runs the turn after a handoff.
const (
	handoffSession = "session"
	handoffPerTurn = "per_turn"
)

// Turns configures how a process runs stored turns. Missing fields have the defaults named in their
// descriptions.
type Turns struct {
	Concurrency          *int           `json:"concurrency,omitempty" min:"1" default:"64" doc:"Maximum number of turns this process runs at once. Each has an open model call and holds its conversation in memory."`
	PerTenant            int            `json:"per_tenant,omitempty" min:"0" default:"0" doc:"Maximum concurrent turns per tenant, across all processes. 0 means no limit."`
	Lease                *spec.Duration `json:"lease,omitempty" default:"5s" doc:"How long a process keeps a turn without sending a heartbeat, 1s or more. A short lease takes turns from slow processes, which repeats a step; a long lease delays the turns of a dead process."`
	Strikes              *int           `json:"strikes,omitempty" min:"1" default:"3" doc:"How many processes may crash on a turn without progress before it fails. Retries run apart from turns without crashes, and the last attempt runs alone, so 2 allows one retry, alone."`
	MemoryLimit          *int64         `json:"memory_limit,omitempty" min:"1048576" doc:"Memory, in bytes, above which turns fail with the code out_of_memory: first turns during which a process died, then those with the largest conversation, then the newest. Defaults to 90 % of GOMEMLIMIT, or else of the memory of the control group or machine."`
	InteractionTimeout   spec.Duration  `json:"interaction_timeout,omitempty" default:"0s" doc:"How long a turn waits for a person. 0 means forever. A waiting turn keeps its session busy."`
	OnInteractionTimeout string         `json:"on_interaction_timeout,omitempty" enum:"cancel|fail" default:"cancel" doc:"What happens to a turn when a person does not answer in time: cancel rejects the call and continues the turn, fail ends the turn."`
	Indeterminate        string         `json:"indeterminate,omitempty" enum:"error|ask" default:"error" doc:"What happens to a running call of a tool with effect once when its process dies: error tells the model that the outcome is unknown, ask asks a person. It is never repeated."`
	Revision             string         `json:"revision,omitempty" enum:"pin|latest" default:"pin" doc:"The revision of the configuration in which an interrupted or waiting turn continues: pin is the one it started in, latest the current one."`
	OnRevisionGone       string         `json:"on_revision_gone,omitempty" enum:"fail|latest" default:"fail" doc:"What happens to a pinned turn whose revision can no longer be built because a part is missing: fail ends the turn, latest continues it in the current revision."`
	Handoff              string         `json:"handoff,omitempty" enum:"session|per_turn" default:"session" doc:"How long a handoff lasts: with session, the new agent also runs later turns of the session until a request names an agent; with per_turn, the next turn returns to the session's own agent."`
	KeepRequests         bool           `json:"keep_requests,omitempty" doc:"Stores each model request as it is sent, for keys with the scope config:read. Each step stores the whole conversation again. Requests are deleted with the turn's events."`
	Grace                *spec.Duration `json:"grace,omitempty" default:"30s" doc:"How long a process that is shutting down waits for running steps. Steps that take longer are interrupted and run again."`
}

// Limit returns how many turns a process runs concurrently.
func (t *Turns) Limit() int { return orDefault(t.Concurrency, defaultConcurrency) }

// LeaseTime returns how long a turn belongs to a process without a heartbeat.
func (t *Turns) LeaseTime() time.Duration {
	return orDefault(t.Lease, spec.Duration(defaultTurnLease)).Std()
}

// StrikeLimit returns how many processes may die over a turn.
func (t *Turns) StrikeLimit() int { return orDefault(t.Strikes, defaultStrikes) }

// GraceTime returns how long a stopping process waits for its running steps.
func (t *Turns) GraceTime() time.Duration {
	return orDefault(t.Grace, spec.Duration(defaultGrace)).Std()
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
	list = append(list, check.NotNegative("interaction_timeout", &t.InteractionTimeout)...)
	list = append(list, check.OneOf("on_interaction_timeout", t.OnInteractionTimeout, timeoutCancels, timeoutFails)...)
	list = append(list, check.OneOf("indeterminate", t.Indeterminate, indeterminateError, indeterminateAsk)...)
	list = append(list, check.OneOf("revision", t.Revision, revisionPinned, revisionLatest)...)
	list = append(list, check.OneOf("on_revision_gone", t.OnRevisionGone, goneFails, goneLatest)...)
	list = append(list, check.OneOf("handoff", t.Handoff, handoffSession, handoffPerTurn)...)
	list = append(list, check.NotNegative("grace", t.Grace)...)
	return append(list, t.warnNoEffect()...)
}

// warnNoEffect warns of settings that never take effect.
func (t *Turns) warnNoEffect() diag.List {
	var list diag.List
	warnIneffective(&list, t.OnRevisionGone != "" && t.Revision == revisionLatest, "on_revision_gone",
		"on_revision_gone never applies: with the revision latest no turn needs an earlier one")
	warnIneffective(&list, t.OnInteractionTimeout != "" && t.InteractionTimeout == 0, "on_interaction_timeout",
		"on_interaction_timeout never applies: interaction_timeout is 0, which is for ever")
	return list
}
