package native

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/evalcase"
)

// turnSource reads sessions and turns. A Client and a Local are sources.
type turnSource interface {
	GetTurn(ctx context.Context, id string) (*Turn, error)
	ListTurns(ctx context.Context, q TurnQuery) (*TurnList, error)
	ExportSession(ctx context.Context, id string) (*service.SessionExport, error)
	ReadEvents(ctx context.Context, turnID string, after uint64, limit int, filter ...service.EventFilter) ([]event.Record, error)
}

// DraftEvalCase makes a case for evals of an ended turn and its session's earlier turns. The error
// is an *evalcase.Error for a turn that cannot become a case.
func DraftEvalCase(ctx context.Context, from turnSource, turnID, caseID string) (*evalcase.Draft, error) {
	turns, err := readConversation(ctx, from, turnID)
	if err != nil {
		return nil, err
	}
	return evalcase.New(caseID, turns...)
}

// readConversation reads an ended turn after its session's earlier turns.
func readConversation(ctx context.Context, from turnSource, id string) ([]*evalcase.Turn, error) {
	t, err := from.GetTurn(ctx, id)
	if err != nil {
		return nil, err
	}
	if t.Outcome == nil {
		return nil, &evalcase.Error{Reason: "the turn is " + string(t.Status) + "; only turns that have ended become cases"}
	}
	ids, err := earlierTurns(ctx, from, t)
	if err != nil {
		return nil, err
	}
	var turns []*evalcase.Turn
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

const (
	// maxConversation bounds the turns of a case.
	maxConversation = 100
	// eventsPage is the number of events per read.
	eventsPage = 100
)

// earlierTurns returns the IDs of the turns that a turn continues from, the first one first.
func earlierTurns(ctx context.Context, from turnSource, t *Turn) ([]string, error) {
	export, err := from.ExportSession(ctx, t.SessionID)
	if err != nil {
		return nil, err
	}
	made := map[string]string{}
	for q := (TurnQuery{SessionID: t.SessionID, Page: service.Page{Limit: maxConversation}}); ; {
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
		return nil, &evalcase.Error{Reason: "its session has since continued from an earlier turn"}
	default: // the turn failed and left no snapshot
		chain = slices.DeleteFunc(chain, func(s service.ExportedState) bool { return s.CreatedAt.After(t.CreatedAt) })
	}
	var ids []string
	for i := range chain {
		id := made[chain[i].ID]
		if id == "" {
			return nil, &evalcase.Error{Reason: "its session has earlier messages that no turn made, such as imported ones"}
		}
		ids = append(ids, id)
	}
	if len(ids) >= maxConversation {
		return nil, &evalcase.Error{Reason: "its session has too many earlier turns for a case"}
	}
	return ids, nil
}

// readEvents reads the events of a turn.
func readEvents(ctx context.Context, from turnSource, t *Turn) (*evalcase.Turn, error) {
	turn := &evalcase.Turn{AgentID: t.AgentID, FinalAgent: t.Outcome.Agent, Status: event.Status(t.Status), Input: t.Input, Variables: t.Variables}
	for after := uint64(0); ; {
		records, err := from.ReadEvents(ctx, t.ID, after, eventsPage, service.OwnEvents)
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
