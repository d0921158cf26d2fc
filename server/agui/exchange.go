package agui

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// exchange is a run that a client requests.
type exchange struct {
	*call
	in      *runInput
	session *service.Session
	history []model.Message
}

// newInput returns the user's messages after the assistant's last one.
func (x *exchange) newInput() ([]model.Message, bool) {
	isResult := func(m model.Message) bool { return m.Role != model.RoleAssistant && surfacekit.TurnOf(m.ID) != m.ID }
	_, input, ok := surfacekit.SplitInput(slices.DeleteFunc(slices.Clone(x.history), isResult))
	return input, ok
}

// changedState returns the client's state if it differs from the session's.
func (x *exchange) changedState(snapshotID string) (json.RawMessage, error) {
	state := x.in.appState()
	if state == nil {
		return nil, nil
	}
	kept, err := x.keptState(snapshotID)
	if err != nil || rawjson.Equal(state, kept) {
		return nil, err
	}
	return state, nil
}

// keptState returns the session's state in a snapshot, or in the latest one; nil if it has none.
func (x *exchange) keptState(snapshotID string) (json.RawMessage, error) {
	if x.session == nil {
		return nil, nil
	}
	id := cmp.Or(snapshotID, x.session.Tip)
	if id == "" {
		return nil, nil
	}
	kept, err := x.Service.GetSnapshotHead(x.Context(), x.Caller, id)
	if err != nil || kept.State == nil {
		return nil, err
	}
	return kept.State.Custom, nil
}
