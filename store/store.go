// Package store defines the contract of stores, which keep sessions, turns, events, interactions,
// snapshots, artifacts and journals, and defines their records. Its sub-packages memory, sqlite and
// postgres are the stores. The kit internal/testkit/storetest tests what each of them must do.
package store

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"go.uber.org/zap"
)

// Store keeps all records of a runtime. It is safe for concurrent use, by
// several processes where the implementation says so.
//
// Methods return copies, which the caller may change. A method that fails changed nothing, except
// a Claim that is held back, which may have made room for another turn. Times have microsecond
// precision.
//
// # Admission
//
// A new turn is pending. Its job is queued at once if its session has no earlier live turn and
// its tenant has fewer admitted turns than Settings.TenantTurns. Otherwise it is held back until
// there is room: when a turn ends, or starts waiting for an interaction, which frees its tenant's
// room but not its session. Turns of a session are admitted in order of creation, and a started
// turn keeps its session until it ends. A turn that is not due yet holds back nobody: its job is
// queued for its due time, and the claim then admits it.
//
// # Ownership
//
// A running turn belongs to the worker that claimed it, until its lease ends. Each claim raises
// the turn's fence; a commit with an older fence or for an ended turn fails with a *FencedError.
// Leases use the store's clock, because the callers' clocks may differ; times from callers only
// say when something happened, and whether a turn is due.
type Store interface {
	Sessions
	Turns
	Interactions
	Snapshots
	Artifacts
	Events
	Work
	Jobs
	Webhooks
	WebhookWork
	Revocations
	Revisions
	TenantVariables
	Feedbacks
	ModelRequests
	Usages
	WorkflowRuns
	Pruning
	Connection
}

// Connection is the part of a Store that belongs to the process that opened it.
type Connection interface {
	// Ping reports whether the store can be used.
	Ping(ctx context.Context) error
	// Close waits for running operations and closes the store. It may be called more than once.
	Close() error
}

// Sessions is the part of a Store that keeps sessions.
type Sessions interface {
	// CreateSession stores a new session. With a key that was used before it returns the session
	// created then. The error is a *KeyConflictError if that request was a different one, and a
	// *ExistsError if the id is taken. A key is deleted with its session.
	CreateSession(ctx context.Context, n *NewSession) (*Session, error)
	// Session returns a session. The error is ErrNotFound if the scope does not include it.
	Session(ctx context.Context, scope Scope, id string) (*Session, error)
	// Sessions returns a page of sessions, latest activity first.
	Sessions(ctx context.Context, q SessionQuery) (SessionPage, error)
	// UpdateSession applies a patch to a session.
	UpdateSession(ctx context.Context, scope Scope, id string, p SessionPatch) (*Session, error)
	// DeleteSession deletes a session with everything that belongs to it. The error is a *BusyError
	// while the session has a live turn.
	DeleteSession(ctx context.Context, scope Scope, id string) error
}

// TurnReader reads one turn.
type TurnReader interface {
	// Turn returns a turn. The error is ErrNotFound if the scope does not include it.
	Turn(ctx context.Context, scope Scope, id string) (*Turn, error)
}

// Turns is the part of a Store that keeps turns.
type Turns interface {
	TurnReader

	// CreateTurn stores a new turn and admits it if there is room. The turn's owner must have
	// access to its session. In addition to the errors of CreateSession, it returns ErrNotFound
	// for the session, a *StateError for an archived session, and a *BusyError if the turn would
	// have to wait but must not.
	CreateTurn(ctx context.Context, n *NewTurn) (*Turn, error)
	// Turns returns a page of turns, newest first unless the query says otherwise.
	Turns(ctx context.Context, q TurnQuery) (TurnPage, error)
	// SessionAgents returns the agents for which turns of a session were created, each once, in any
	// order.
	SessionAgents(ctx context.Context, sessionID string) ([]string, error)
	// UpdateTurn applies a patch to a turn.
	UpdateTurn(ctx context.Context, scope Scope, id string, p TurnPatch) (*Turn, error)
	// EndTurn ends a live turn from outside, whichever worker runs it: it raises the fence,
	// appends the terminal event, cancels pending interactions, and admits turns that now have
	// room. It returns a turn that has already ended unchanged.
	EndTurn(ctx context.Context, e *EndTurn) (*Turn, error)
}

// Starter is implemented by stores that can store a turn and claim it in one transaction.
type Starter interface {
	// StartTurn is CreateTurn for a process that has a worker for the turn. If the turn is admitted
	// immediately, the worker of the claim owns it, no job is queued, and claimed is what Claim
	// would return; otherwise claimed is nil. The claim names the new turn.
	StartTurn(ctx context.Context, n *NewTurn, c *Claim) (made *Turn, claimed *Claimed, err error)
}

// Interactions is the part of a Store that keeps the interactions of turns.
type Interactions interface {
	// Interaction returns an interaction. The error is ErrNotFound if the scope does not include
	// it.
	Interaction(ctx context.Context, scope Scope, turnID, id string) (*Interaction, error)
	// Interactions returns interactions, oldest first.
	Interactions(ctx context.Context, q InteractionQuery) ([]*Interaction, error)
	// AnswerInteraction answers a pending interaction. A waiting turn becomes pending and is
	// admitted when there is room. Repeating the answer returns the interaction unchanged. The
	// error is a *ConflictError for a different answer, and a *StateError for a canceled
	// interaction.
	AnswerInteraction(ctx context.Context, r *Answer) (*Interaction, error)
}

// ConversationReader reads the conversation that a turn continues.
type ConversationReader interface {
	// Conversation returns the messages of the conversation up to and including a snapshot, oldest
	// first: for each snapshot of its chain the input and messages of its turn. The error is
	// ErrNotFound for an unknown snapshot.
	Conversation(ctx context.Context, snapshotID string) ([][]byte, error)
}

// Snapshots is the part of a Store that keeps snapshots and messages.
type Snapshots interface {
	ConversationReader

	// Snapshot returns a snapshot. The error is ErrNotFound if the scope does not include it.
	Snapshot(ctx context.Context, scope Scope, id string) (*Snapshot, error)
	// Snapshots returns a page of the snapshots of a session, newest first.
	Snapshots(ctx context.Context, q SnapshotQuery) (SnapshotPage, error)
	// OwnMessages returns the messages that a snapshot or a turn itself adds.
	OwnMessages(ctx context.Context, ownerID string) ([][]byte, error)
}

// Artifacts is the part of a Store that keeps artifacts.
type Artifacts interface {
	// Artifact returns an artifact with its data. The error is ErrNotFound if the scope does not
	// include it.
	Artifact(ctx context.Context, scope Scope, id string) (*Artifact, error)
	// Artifacts returns the artifacts that a turn made, in order, without their data. The error is
	// ErrNotFound if the scope does not include the turn.
	Artifacts(ctx context.Context, scope Scope, turnID string) ([]*Artifact, error)
}

// Events is the part of a Store that followers of turns read.
type Events interface {
	TurnReader

	// Positions returns the positions of turns, in any order and for any owner; unknown turns are
	// left out. It is cheap: processes poll it for all turns that are being followed.
	Positions(ctx context.Context, turnIDs []string) ([]Position, error)
	// Events returns up to limit events of a turn with a seq greater than after, in order; none if
	// the turn has no such events or is unknown.
	Events(ctx context.Context, turnID string, after uint64, limit int) ([]event.Record, error)
}

// Work is the part of a Store that workers use.
type Work interface {
	TurnReader
	ConversationReader

	// Claim makes the worker the owner of a pending turn and returns everything needed to run it.
	// The errors are ErrNotFound, a *StateError for a turn that is not pending, and ErrHeld if
	// its session is busy or it is not due. A held turn is queued again when it can be claimed.
	Claim(ctx context.Context, c *Claim) (*Claimed, error)
	// Heartbeat extends the leases of a worker's turns, and returns the ids of turns that the
	// worker no longer owns.
	Heartbeat(ctx context.Context, worker string, lease time.Duration, held []Held) (lost []string, err error)
	// Commit appends to a turn and changes its state in one transaction. It returns when the commit
	// is durable. Commits of several turns may share a transaction.
	Commit(ctx context.Context, c *Commit) error
	// State returns the last committed state of a turn; nil if nothing was committed, the turn
	// has ended, or it is unknown.
	State(ctx context.Context, turnID string) ([]byte, error)
	// Journal returns the tool calls of a turn in the order in which they began.
	Journal(ctx context.Context, turnID string) ([]JournalRow, error)
	// LiveRevisions returns the hashes of the revisions in which live turns and live workflow runs
	// began, each once, in any order.
	LiveRevisions(ctx context.Context) ([]string, error)
	// Reap returns turns with expired leases to pending, adds a strike to each, and queues turns
	// that are due and have room. A store whose queue is outside its process also queues turns
	// that were admitted long ago but never claimed. It returns the number of turns taken from
	// workers.
	Reap(ctx context.Context, now time.Time) (int, error)
}

// Jobs is the part of a Store that sends turns to workers.
type Jobs interface {
	// Attach sets the queue for jobs. It is called once, before any operation that queues a job.
	Attach(q Queue)
	// Recover is called once before a process starts to work. A store used by only one process
	// reaps every running turn, since its worker is dead. Every store queues jobs for admitted
	// turns.
	Recover(ctx context.Context, now time.Time) (int, error)
}

// Pruning is the part of a Store that deletes expired records.
type Pruning interface {
	// Prune deletes records that have expired under the retention, up to its limit, and frees disk
	// space that the store does not free by itself. It never blocks other operations for long.
	Prune(ctx context.Context, r Retention) (Pruned, error)
}

// Queue receives the turns that a worker may claim. A job carries ids only; losing or duplicating a
// job is harmless, because the claim decides.
type Queue interface {
	// Enqueue queues jobs. A store on PostgreSQL calls it in the transaction
	// that admits the turns, with its pgx.Tx; other stores call it after their
	// commit, with nil.
	Enqueue(ctx context.Context, tx any, jobs []Job) error
}

// Job requests that a turn be claimed.
type Job struct {
	TurnID string
	// NotBefore is when the turn is due; zero means now.
	NotBefore time.Time
}

// Settings configures a store.
type Settings struct {
	// DSN locates the records: a file path for sqlite, a URL or key=value text for postgres; memory
	// does not use it.
	DSN string
	// TenantTurns is how many turns of one tenant may be admitted at the same time; 0 means no
	// limit.
	TenantTurns int
	// Logger receives the log of the store; nil drops it.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Retention is the age at which records are deleted. A duration of 0 keeps them forever.
type Retention struct {
	Now time.Time
	// Sessions is how long a session without a live turn is kept after its
	// latest activity.
	Sessions time.Duration
	// Events is how long the events and journal of a turn are kept after its
	// end. Its messages, result and snapshot stay.
	Events time.Duration
	// Keys is how long the keys of requests are kept.
	Keys time.Duration
	// Revisions is how long a revision is kept that is not current and in which no live turn or
	// live workflow run began.
	Revisions time.Duration
	// Usage is how long the usage of an hour is kept.
	Usage time.Duration
	// Limit is how many sessions, and how many turns, one call prunes; 0 means 1000.
	Limit int
}

// Pruned counts what Prune deleted.
type Pruned struct {
	// Sessions and Revisions count deleted ones, Turns those that lost their events, Keys deleted
	// keys, and Usage deleted rows of usage.
	Sessions, Turns, Keys, Revisions, Usage int
}
