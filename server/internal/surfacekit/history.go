package surfacekit

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
)

// maxUnknown limits how many answers of a history are looked up in a session.
const maxUnknown = 64

// ErrNoInput means that a history does not end with a user message.
var ErrNoInput = errors.New("the last message must be one of the user")

// TurnOf returns the turn in the id of a message, a call or a question.
func TurnOf(id string) string {
	turn, _, _ := strings.Cut(id, "/")
	return turn
}

// ContinueHistory returns the turn that continues a client's history in a session. It continues
// after the session's latest answer in the history; later messages are new. The result of a tool
// has the id of its call. The error may be ErrNoInput.
func (r *Request) ContinueHistory(session *service.Session, history []model.Message) (*service.CreateTurn, error) {
	c := &service.CreateTurn{SessionID: session.ID, AgentID: r.R.PathValue("agent"), Addressed: true, OnBusy: service.RejectBusy}
	begins, base := 0, ""
	unknown := map[string]bool{}
	for i := len(history) - 1; i >= 0 && begins == 0 && len(unknown) < maxUnknown; i-- {
		id := TurnOf(history[i].ID)
		if history[i].Role != model.RoleAssistant || id == "" || unknown[id] {
			continue
		}
		turn, err := r.FindTurn(session, id)
		if err != nil {
			return c, err
		}
		if turn != nil && turn.Status == service.Succeeded { // the client may have made up the id
			c.SnapshotID, begins, base = turn.SnapshotID, i+1, id
		}
		unknown[id] = true
	}
	if begins == 0 {
		known, err := r.hasMessageOf(session, history)
		if err != nil {
			return c, err
		}
		c.FromStart = known
	}
	rest := slices.DeleteFunc(slices.Clone(history[begins:]), func(m model.Message) bool { return base != "" && TurnOf(m.ID) == base })
	var ok bool
	if c.Before, c.Input, ok = SplitInput(rest); !ok {
		return c, ErrNoInput
	}
	return c, nil
}

// hasMessageOf reports whether a history repeats a message of the session, which means that the
// client starts the conversation over.
func (r *Request) hasMessageOf(session *service.Session, history []model.Message) (bool, error) {
	kept, err := r.SessionMessages(session)
	ids := make(map[string]bool, len(history))
	for i := range history {
		ids[history[i].ID] = true
	}
	return slices.ContainsFunc(kept, func(m model.Message) bool {
		return m.ID != "" && m.Role != model.RoleAssistant && ids[m.ID]
	}), err
}

// SessionMessages returns the latest messages of a session.
func (r *Request) SessionMessages(session *service.Session) ([]model.Message, error) {
	if session.Tip == "" {
		return nil, nil
	}
	kept, err := r.Service.GetSnapshot(r.Context(), r.Caller, session.Tip)
	if err != nil || kept.State == nil {
		return nil, err
	}
	return kept.State.Messages, nil
}

// FindTurn returns a turn of a session; nil if the session has no turn with the id.
func (r *Request) FindTurn(session *service.Session, id string) (*service.Turn, error) {
	turn, err := service.FindOwn(r.Caller, id, func(id string) (*service.Turn, error) { return r.Service.GetTurn(r.Context(), r.Caller, id) })
	if errors.Is(err, service.ErrNotFound) || err == nil && turn.SessionID != session.ID {
		return nil, nil //nolint:nilnil // there is none
	}
	return turn, err
}

// ReadTurn returns a narrator that has read a turn's events so far.
func (r *Request) ReadTurn(turnID string) (*Narrator, error) {
	n := NewNarrator(turnID, 0, math.MaxInt, nil)
	return n, r.ReadLog(turnID, n)
}

// ReadLog adds the events of a turn so far to a narrator.
func (r *Request) ReadLog(turnID string, n *Narrator) error {
	for after := uint64(0); ; {
		records, err := r.Service.ReadEvents(r.Context(), r.Caller, turnID, after, service.MaxPage)
		if err != nil || len(records) == 0 {
			return err
		}
		if err := n.Add(records); err != nil {
			return err
		}
		after = records[len(records)-1].Seq
	}
}
