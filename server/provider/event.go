package provider

import (
	"context"
	"strconv"

	"github.com/agentruntime/agentruntime/event/display"
	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/service"
)

// maxEvents is the maximum length of an event list.
const maxEvents = 1000

// ListTurnEvents returns the events of a turn after a given one. It reads the log from its
// beginning, so that the numbers are always the same.
func (s *Server) ListTurnEvents(ctx context.Context, req *pb.ListAgentProviderTurnEventsRequest) (*pb.ListAgentProviderTurnEventsResponse, error) {
	if req.GetAfterSeq() < 0 || req.GetLimit() < 0 {
		return nil, invalid("after_seq and limit must not be less than 0")
	}
	t, err := s.readTurn(ctx, req.GetTurnId(), req.GetSubject())
	if err != nil {
		return nil, err
	}
	limit := maxEvents
	if asked := int(req.GetLimit()); asked > 0 && asked < limit {
		limit = asked
	}
	turns, _ := s.current()
	list := eventList{after: uint64(req.GetAfterSeq()), source: s.hostName(), turnID: t.ID}
	reader := display.Reader{Model: t.record.Model}
	for seen := uint64(0); len(list.events) < limit; {
		records, err := turns.ReadEvents(ctx, owner, t.ID, seen, service.MaxPage)
		if err != nil {
			return nil, err
		}
		for i := range records {
			events, err := reader.Read(&records[i])
			if err != nil {
				return nil, err
			}
			list.add(events)
			seen = records[i].Seq
		}
		if len(records) > 0 {
			continue
		}
		if !list.over && t.Outcome != nil { // the log lacks its end
			events, err := reader.ReadOutcome(t.FinishedAt, t.Outcome)
			if err != nil {
				return nil, err
			}
			list.add(events)
		}
		break
	}
	return &pb.ListAgentProviderTurnEventsResponse{Events: list.events[:min(limit, len(list.events))]}, nil
}

// eventList has the events that the host has not seen.
type eventList struct {
	after          uint64
	source, turnID string
	events         []*pb.AgentTurnEvent
	// over is set once the turn's last event has been reached.
	over bool
}

func (l *eventList) add(events []display.Event) {
	for i := range events {
		e := &events[i]
		l.over = l.over || e.Terminal()
		if e.Seq <= l.after {
			continue
		}
		data, err := decodeStruct(e.Data)
		if err != nil {
			data = nil // unsupported data is left out, but not the event
		}
		l.events = append(l.events, &pb.AgentTurnEvent{
			Id: l.turnID + ":" + strconv.FormatUint(e.Seq, 10), TurnId: l.turnID, Seq: int64(e.Seq), Type: e.Type, Source: l.source, //nolint:gosec // a count of events
			Visibility: e.Visibility, Data: data, CreatedAt: timeOf(e.Time), Display: displayOf(e.Display),
		})
	}
}

func displayOf(d *display.Display) *pb.AgentTurnDisplay {
	if d == nil {
		return nil
	}
	return &pb.AgentTurnDisplay{
		Kind: string(d.Kind), Phase: string(d.Phase), Text: d.Text, Label: d.Label, Ref: d.Ref, ParentRef: d.ParentRef,
		Input: valueOf(d.Input), Output: valueOf(d.Output), Error: valueOf(d.Error), Action: d.Action, Format: d.Format, Language: d.Language,
	}
}
