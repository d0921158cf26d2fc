package store

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/event"
)

// Status is the state of a turn.
type Status string

// The states of a turn. Pending, running and waiting turns are live. The
// transitions are pending → running → (waiting → pending →) … and from each of
// them to one of the others, in which a turn stays.
const (
	// Pending is a turn that is not running: it has not started, or continues when claimed.
	Pending Status = "pending"
	// Running is a turn that a worker owns.
	Running Status = "running"
	// Waiting is a turn that waits for an interaction.
	Waiting Status = "waiting"
	// Succeeded, Failed and Canceled are turns that have ended.
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
	Canceled  Status = "canceled"
)

// Live reports whether a turn in the state has not ended.
func (s Status) Live() bool { return s == Pending || s == Running || s == Waiting }

// Turn is one input worked on until it ends.
type Turn struct {
	ID        string
	SessionID string
	Owner     Owner
	AgentID   string
	Status    Status
	// Request is the turn's request as JSON, opaque to the store.
	Request json.RawMessage
	// Result is the outcome as JSON; nil while the turn is live.
	Result   json.RawMessage
	Metadata json.RawMessage
	// Background is set if nobody waits for the turn, so that it continues when its caller
	// disconnects.
	Background bool
	// SnapshotID is reserved for the turn's snapshot. ParentSnapshotID is the snapshot it
	// continues from: the session's tip at the first claim, unless the turn was created with one.
	// FromStart is set if it was created to continue from nothing.
	SnapshotID       string
	ParentSnapshotID string
	FromStart        bool
	// Revision is the hash of the revision in which the turn started, as named by its first
	// claim. It is empty before.
	Revision string

	// NotBefore is when the turn is due; zero is at once. StartedAt is zero
	// before its first claim, FinishedAt while it is live.
	CreatedAt, UpdatedAt, NotBefore, StartedAt, FinishedAt time.Time
	// ChangedAt is when Status changed last; at first it is CreatedAt.
	ChangedAt time.Time

	// Worker owns the turn while it runs, until LeaseUntil. HeartbeatAt is when
	// it gave a sign of life last.
	Worker                  string
	Fence                   int64
	LeaseUntil, HeartbeatAt time.Time
	// Admitted is set if the turn was queued and takes room of its tenant.
	Admitted bool
	// Strikes counts the workers that died over the turn since it made progress.
	Strikes int
	// Seq is the seq of its latest event.
	Seq uint64
	// Steps counts its model calls so far.
	Steps int
}

// NewTurn asks for a turn. Of the turn it takes ID, SessionID, Owner, AgentID,
// Request, Metadata, Background, SnapshotID, ParentSnapshotID, FromStart,
// CreatedAt and NotBefore.
type NewTurn struct {
	Turn Turn
	// Input are the input messages, the turn's first messages.
	Input [][]byte
	// Key is scoped to the session.
	Key Key
	// Reject refuses the turn when its session has a live one.
	Reject bool
}

// TurnPatch changes a turn; nil fields leave it as it is.
type TurnPatch struct {
	Background *bool
	Now        time.Time
}

// TurnQuery asks for a page of turns.
type TurnQuery struct {
	Scope Scope
	// Tenant, SessionID, AgentID and Statuses restrict the turns where they are set.
	Tenant    string
	SessionID string
	AgentID   string
	Statuses  []Status
	// Labels restricts the turns to those of sessions that have all of the labels.
	Labels map[string]string
	// ChangedAfter leaves out the turns whose state changed last before it; zero
	// leaves out none.
	ChangedAfter time.Time
	// ByChange orders the turns by when their state changed last, the latest
	// first, instead of by when they were made. The cursors of the two orders
	// differ. A turn that changes while one goes through the pages moves to the
	// front: it may be missed after a cursor.
	ByChange bool
	// Count asks for the Total of the page. It takes a look at every turn that
	// matches.
	Count bool
	Page  Page
}

// TurnPage is a page of turns.
type TurnPage struct {
	Turns []*Turn
	// Next is where the next page begins, or empty if none.
	Next string
	// Total is how many turns match on all pages, if the query asks for it.
	Total int
}

// EndTurn ends a turn from outside.
type EndTurn struct {
	Scope  Scope
	TurnID string
	// Status is the final status, and Result the outcome.
	Status Status
	Result json.RawMessage
	// Event is the terminal event; the store gives it its seq.
	Event event.Record
	// Agents is the usage of each agent, which is counted by hour.
	Agents event.AgentUsages
	Now    time.Time
}

// Claim asks for a turn to run.
type Claim struct {
	TurnID string
	Worker string
	// Lease is how long the turn is the worker's without a heartbeat.
	Lease time.Duration
	// Revision is the hash of the revision that the worker begins turns in. A turn
	// that has one already keeps its own.
	Revision string
	Now      time.Time
}

// Claimed is a turn with all that is needed to run it.
type Claimed struct {
	Turn    Turn
	Session Session
	// Snapshot is the snapshot that the turn continues from; nil for none.
	Snapshot *Snapshot
	// State is the latest that was committed; nil for a turn that begins.
	State []byte
	// Messages are the turn's messages so far: its input, followed by the messages it added.
	Messages [][]byte
	// Journal has its tool calls, and Interactions its past and pending interactions.
	Journal      []JournalRow
	Interactions []*Interaction
}

// Held is a turn that a worker believes to own.
type Held struct {
	TurnID string
	Fence  int64
}

// Commit is a change of a turn by the worker that owns it.
type Commit struct {
	TurnID string
	Fence  int64
	Now    time.Time
	// Events follow on the latest, with seqs without a gap: any other commit is
	// refused.
	Events []event.Record
	// State replaces the turn's state, unless it is nil, and clears its strikes:
	// the turn made progress. Steps comes with it.
	State []byte
	Steps int
	// Messages are added to the turn's own.
	Messages [][]byte
	// Journal has the calls that began or ended, by key.
	Journal   []JournalRow
	Artifacts []*Artifact
	// Asked are interactions that can be answered from then on; one whose id the
	// turn has already stays as it is.
	Asked []*Interaction

	// At most one of these is set. Suspend makes the turn wait, Yield hands it
	// back to be claimed again, and Finish ends it.
	Suspend *Suspend
	Yield   bool
	Finish  *Finish
	// Due is when the job of a turn that is handed back is due; zero is at once.
	Due time.Time
}

// Suspend makes a turn wait for interactions. If one of them is already answered, the turn
// becomes pending instead.
type Suspend struct {
	// Open are the ids of all that have no answer as far as the worker knows.
	Open []string
}

// Finish ends a turn.
type Finish struct {
	Status Status
	Result json.RawMessage
	// Agents is the usage of each agent, which is counted by hour.
	Agents event.AgentUsages
	// Snapshot becomes the tip of the session; nil for a turn that did not
	// succeed.
	Snapshot *Snapshot
}

// Position is how far a turn has got.
type Position struct {
	TurnID string
	Status Status
	// Seq is the seq of the latest event, or 0 if there are no events.
	Seq uint64
}
