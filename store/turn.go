package store

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/event"
)

// Status is the state of a turn.
type Status string

// The states of a turn. Pending, running and waiting turns are live. The transitions are pending →
// running → (waiting → pending →) … and from each of these to one of the other states, which are
// final.
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
	// Background reports whether no caller waits for the turn, so that it continues when its caller
	// disconnects.
	Background bool
	// SnapshotID is reserved for the turn's snapshot. ParentSnapshotID is the snapshot that the
	// turn continues from: the session's tip at the first claim, unless the turn was created with
	// one. FromStart reports whether the turn was created to continue from nothing.
	SnapshotID       string
	ParentSnapshotID string
	FromStart        bool
	// Revision is the hash of the revision in which the turn started, as named by its first claim.
	// It is empty before the first claim.
	Revision string

	// NotBefore is when the turn is due; zero means immediately. StartedAt is zero before the first
	// claim, FinishedAt while the turn is live.
	CreatedAt, UpdatedAt, NotBefore, StartedAt, FinishedAt time.Time
	// ChangedAt is when Status last changed, or CreatedAt if it has not.
	ChangedAt time.Time

	// Worker owns the running turn until LeaseUntil. HeartbeatAt is the time of the worker's last
	// heartbeat.
	Worker                  string
	Fence                   int64
	LeaseUntil, HeartbeatAt time.Time
	// Admitted reports whether the turn was queued and takes room of its tenant.
	Admitted bool
	// Strikes counts the workers that died while running the turn since it last made progress.
	Strikes int
	// Seq is the seq of the turn's latest event.
	Seq uint64
	// Steps counts the turn's model calls so far.
	Steps int
}

// NewTurn describes a new turn. Of the turn it uses ID, SessionID, Owner, AgentID, Request,
// Metadata, Background, SnapshotID, ParentSnapshotID, FromStart, CreatedAt and NotBefore.
type NewTurn struct {
	Turn Turn
	// Input holds the input messages, which are the turn's first messages.
	Input [][]byte
	// Key is scoped to the session.
	Key Key
	// Reject rejects the turn if its session has a live turn.
	Reject bool
}

// TurnPatch changes a turn; nil fields are left unchanged.
type TurnPatch struct {
	Background *bool
	Now        time.Time
}

// TurnQuery selects a page of turns.
type TurnQuery struct {
	Scope Scope
	// Tenant, SessionID, AgentID and Statuses restrict the turns if set.
	Tenant    string
	SessionID string
	AgentID   string
	Statuses  []Status
	// Labels restricts the turns to those of sessions that have all of the labels.
	Labels map[string]string
	// ChangedAfter leaves out turns whose state last changed before it; zero leaves out none.
	ChangedAfter time.Time
	// ByChange orders the turns by the time their state last changed, latest first, instead of by
	// creation. The cursors of the two orders differ. A turn that changes during paging moves to
	// the front, so the remaining pages may miss it.
	ByChange bool
	// Count requests the Total of the page. It reads every matching turn.
	Count bool
	Page  Page
}

// TurnPage is a page of turns.
type TurnPage struct {
	Turns []*Turn
	// Next is where the next page begins; empty if absent.
	Next string
	// Total is how many turns match on all pages, if the query requests it.
	Total int
}

// EndTurn ends a turn from outside.
type EndTurn struct {
	Scope  Scope
	TurnID string
	// Status is the final status, and Result the outcome.
	Status Status
	Result json.RawMessage
	// Event is the terminal event; the store assigns its seq.
	Event event.Record
	// Agents is the usage of each agent, which is counted by hour.
	Agents event.AgentUsages
	Now    time.Time
}

// Claim requests a turn to run.
type Claim struct {
	TurnID string
	Worker string
	// Lease is how long the worker owns the turn without a heartbeat.
	Lease time.Duration
	// Revision is the hash of the revision in which the worker begins turns. A turn that already
	// has a revision keeps it.
	Revision string
	Now      time.Time
}

// Claimed is a turn with everything needed to run it.
type Claimed struct {
	Turn    Turn
	Session Session
	// Snapshot is the snapshot that the turn continues from; nil if none.
	Snapshot *Snapshot
	// State is the last committed state; nil for a new turn.
	State []byte
	// Messages are the turn's messages so far: its input, followed by the messages it added.
	Messages [][]byte
	// Journal has the turn's tool calls, and Interactions its past and pending interactions.
	Journal      []JournalRow
	Interactions []*Interaction
}

// Held is a turn that a worker believes it owns.
type Held struct {
	TurnID string
	Fence  int64
}

// Commit is a change of a turn by the worker that owns it.
type Commit struct {
	TurnID string
	Fence  int64
	Now    time.Time
	// Events follow the latest event, with consecutive seqs; any other commit is rejected.
	Events []event.Record
	// State replaces the turn's state, unless it is nil, and clears its strikes because the turn
	// made progress. Steps is set with it.
	State []byte
	Steps int
	// Messages are appended to the turn's messages.
	Messages [][]byte
	// Journal has the calls that began or ended, by key.
	Journal   []JournalRow
	Artifacts []*Artifact
	// Asked are interactions that can be answered once committed. An interaction whose id the turn
	// already has stays unchanged.
	Asked []*Interaction

	// At most one of these is set. Suspend makes the turn wait, Yield hands the turn back to be
	// claimed again, and Finish ends it.
	Suspend *Suspend
	Yield   bool
	Finish  *Finish
	// Due is when the job of a turn that is handed back is due; zero means immediately.
	Due time.Time
}

// Suspend makes a turn wait for interactions. If one of them is already answered, the turn
// becomes pending instead.
type Suspend struct {
	// Open are the ids of all interactions that have no answer to the worker's knowledge.
	Open []string
}

// Finish ends a turn.
type Finish struct {
	Status Status
	Result json.RawMessage
	// Agents is the usage of each agent, which is counted by hour.
	Agents event.AgentUsages
	// Snapshot becomes the tip of the session; nil if the turn did not succeed.
	Snapshot *Snapshot
}

// Position is the progress of a turn.
type Position struct {
	TurnID string
	Status Status
	// Seq is the seq of the latest event, or 0 if there are no events.
	Seq uint64
}
