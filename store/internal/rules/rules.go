// Package rules holds the decisions that all stores share: the order and pages of lists, the
// effect of patches, which requests conflict, where a webhook starts reporting, and when records
// expire.
package rules

import (
	"bytes"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// CheckKey returns a *store.KeyConflictError if a request with a different hash already used the
// key and created id.
func CheckKey(k store.Key, hash []byte, id string) error {
	if !bytes.Equal(k.Hash, hash) {
		return &store.KeyConflictError{Key: k.Value, ID: id}
	}
	return nil
}

// CheckAnswer returns why an interaction that is not pending cannot be answered; nil if it already
// has the same answer.
func CheckAnswer(i *store.Interaction, r *store.Answer) error {
	switch {
	case i.State == store.InteractionCanceled:
		return &store.StateError{Kind: "interaction", ID: i.ID, State: string(i.State), Want: "answered"}
	case !bytes.Equal(i.Answer, r.Answer):
		return &store.ConflictError{TurnID: r.TurnID, ID: r.ID}
	default:
		return nil
	}
}

// CheckActive returns a *store.StateError for a session that takes no turns.
func CheckActive(id string, state store.SessionState) error {
	if state == store.SessionArchived {
		return &store.StateError{Kind: "session", ID: id, State: string(state), Want: "given a turn"}
	}
	return nil
}

// TouchSession records that a session got a turn.
func TouchSession(s *store.Session, at time.Time) {
	if at.After(s.ActiveAt) {
		s.ActiveAt = at
	}
	if at.After(s.LastTurnAt) {
		s.LastTurnAt = at
	}
}

// PatchSession applies a patch. current is the current agent of the snapshot to which the patch
// moves the tip. The error is store.ErrChanged.
func PatchSession(s *store.Session, p *store.SessionPatch, current string) error {
	if p.IfMetadata != nil && !bytes.Equal(*p.IfMetadata, s.Metadata) {
		return store.ErrChanged
	}
	if p.State != nil {
		s.State = *p.State
	}
	if p.Labels != nil {
		s.Labels = *p.Labels
	}
	if p.Metadata != nil {
		s.Metadata = *p.Metadata
	}
	if p.Tip != nil {
		s.Tip, s.CurrentAgentID = *p.Tip, current
	}
	if p.AgentID != nil {
		s.AgentID, s.CurrentAgentID = *p.AgentID, ""
	}
	s.UpdatedAt = p.Now
	return nil
}

// FirstCursor returns the seq after which a new webhook of a turn reports: the latest event of a
// live turn, or the event before the end of an ended turn.
func FirstCursor(n *store.NewWebhook, live bool, seq uint64) uint64 {
	switch {
	case n.FromStart || seq == 0:
		return 0
	case live:
		return seq
	default:
		return seq - 1
	}
}
