package cli

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

// readConversation reads an ended turn after its session's earlier turns.
func readConversation(ctx context.Context, from *place, id string) ([]*evals.StoredTurn, error) {
	t, err := from.GetTurn(ctx, id)
	if err != nil {
		return nil, err
	}
	if t.Outcome == nil {
		return nil, &evals.DraftError{Reason: "the turn is " + string(t.Status) + "; only turns that have ended become cases"}
	}
	ids, err := earlierTurns(ctx, from, t)
	if err != nil {
		return nil, err
	}
	var turns []*evals.StoredTurn
	for _, id := range ids {
		earlier, err := from.GetTurn(ctx, id)
		if err != nil {
			return nil, err
		}
		turn, err := readEvents(ctx, from, earlier)
		if err != nil {
			return nil, err
		}
		turns = append(turns, turn)
	}
	last, err := readEvents(ctx, from, t)
	return append(turns, last), err
}

// maxConversation bounds the turns of a case.
const maxConversation = 100

// earlierTurns returns the IDs of the turns that a turn continues from, the first one first.
func earlierTurns(ctx context.Context, from *place, t *native.Turn) ([]string, error) {
	export, err := from.ExportSession(ctx, t.SessionID)
	if err != nil {
		return nil, err
	}
	made := map[string]string{}
	for q := (native.TurnQuery{SessionID: t.SessionID, Page: store.Page{Limit: maxConversation}}); ; {
		list, err := from.ListTurns(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range list.Turns {
			if one := &list.Turns[i]; one.Outcome != nil {
				made[one.Outcome.SnapshotID] = one.ID
			}
		}
		if q.Page.After = list.Next; list.Next == "" {
			break
		}
	}
	chain := export.Snapshots
	at := slices.IndexFunc(chain, func(s service.ExportedState) bool { return s.ID == t.Outcome.SnapshotID })
	switch {
	case at >= 0:
		chain = chain[:at]
	case t.Outcome.SnapshotID != "":
		return nil, &evals.DraftError{Reason: "its session has since continued from an earlier turn"}
	default: // the turn failed and left no snapshot
		chain = slices.DeleteFunc(chain, func(s service.ExportedState) bool { return s.CreatedAt.After(t.CreatedAt) })
	}
	var ids []string
	for i := range chain {
		id := made[chain[i].ID]
		if id == "" {
			return nil, &evals.DraftError{Reason: "its session has earlier messages that no turn made, such as imported ones"}
		}
		ids = append(ids, id)
	}
	if len(ids) >= maxConversation {
		return nil, &evals.DraftError{Reason: "its session has too many earlier turns for a case"}
	}
	return ids, nil
}

// readEvents reads the events of a turn.
func readEvents(ctx context.Context, from *place, t *native.Turn) (*evals.StoredTurn, error) {
	turn := &evals.StoredTurn{AgentID: t.AgentID, FinalAgent: t.Outcome.Agent, Status: event.Status(t.Status), Input: t.Input, Variables: t.Variables}
	for after := uint64(0); ; {
		records, err := from.ReadEvents(ctx, t.ID, after, transcriptPage, eventFilter(false))
		if err != nil {
			return nil, err
		}
		if len(records) == 0 {
			return turn, nil
		}
		for i := range records {
			after = records[i].Seq
			ev, err := records[i].Event()
			if err != nil {
				return nil, err
			}
			turn.Events = append(turn.Events, ev)
		}
	}
}
