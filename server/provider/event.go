package provider

import (
	"context"
	"strconv"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/display"
	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// maxEvents is the maximum length of an event list.
const maxEvents = 1000

// ListTurnEvents returns the events of a turn after a given one.
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
	turns := s.current.Load()
	reader := surfacekit.EventReader{Reader: display.Reader{Model: t.record.Model}, After: uint64(req.GetAfterSeq())}
	events, err := reader.List(t.Turn, limit, func(after uint64) ([]event.Record, error) {
		return turns.ReadEvents(ctx, owner, t.ID, after, service.MaxPage)
	})
	if err != nil {
		return nil, err
	}
	source, list := turns.name, make([]*pb.AgentTurnEvent, len(events))
	for i := range events {
		e := &events[i]
		data, err := decodeStruct(e.Data)
		if err != nil {
			data = nil // unsupported data is left out, but not the event
		}
		list[i] = &pb.AgentTurnEvent{
			Id: t.ID + ":" + strconv.FormatUint(e.Seq, 10), TurnId: t.ID, Seq: int64(e.Seq), Type: e.Type, Source: source, //nolint:gosec // a count of events
			Visibility: e.Visibility, Data: data, CreatedAt: timeOf(e.Time), Display: displayOf(e.Display),
		}
	}
	return &pb.ListAgentProviderTurnEventsResponse{Events: list}, nil
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
