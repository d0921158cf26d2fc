package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/display"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// Values of until, which say when a stream ends.
const (
	untilTerminal = "terminal"
	untilBlocked  = "blocked_or_terminal"
)

// sender sends a client the events of a turn.
type sender struct {
	*eventReader
	service *service.Service
	caller  service.Caller
	logger  *zap.Logger
	log     *service.Follower
	// untilBlocked also ends the stream where the turn waits. waitsAt is the log record of that
	// wait when the client connected; 0 if the turn was not waiting. stored is the last record at
	// that time.
	untilBlocked    bool
	waitsAt, stored uint64
	// blocked is set when the turn waits and the client wants no more events.
	blocked bool
}

// streamEvents streams the events of a turn after the given one as server-sent events, past and
// future, up to the event that ends the turn.
func (c *call) streamEvents() (any, error) {
	s, err := c.newSender()
	if err != nil {
		return nil, err
	}
	server.ServeEvents(c.w, c.r, func(ctx context.Context, out *server.EventStream) {
		if err := s.send(ctx, out); err != nil && !errors.Is(err, server.ErrClientGone) {
			s.breakOff(ctx, out, err)
		}
	})
	return nil, nil //nolint:nilnil // it is written
}

// newSender returns a sender for the turn in the path.
func (c *call) newSender() (*sender, error) {
	q := c.readQuery()
	after, err := readAfter(q)
	if err != nil {
		return nil, err
	}
	if seen, err := strconv.ParseUint(c.r.Header.Get("Last-Event-ID"), 10, 63); err == nil {
		after = seen // the header is newer than the original query
	}
	if _, err := readEventLimit(q); err != nil {
		return nil, err
	}
	until := q.Get("until")
	switch until {
	case "", untilTerminal, untilBlocked:
	default:
		return nil, badRequest("unsupported until %q: use %s or %s", clip.Text(until), untilTerminal, untilBlocked)
	}
	t, err := c.getTurn()
	if err != nil {
		return nil, err
	}
	s := &sender{
		eventReader: newEventReader(t, after), service: c.settings.Service, caller: c.caller, logger: c.settings.Logger,
		log: c.settings.Service.Follower(c.caller, t.Turn, 0, c.settings.KeepAlive), untilBlocked: until == untilBlocked, stored: t.Seq,
	}
	if t.Status == service.Waiting {
		s.waitsAt = t.Seq
	}
	return s, nil
}

// send sends the events until the stream ends.
func (s *sender) send(ctx context.Context, out *server.EventStream) error {
	if err := out.Write(func(b *bytes.Buffer) error { b.WriteString(": stream-open\n\n"); return nil }); err != nil {
		return err
	}
	for records, err := range s.log.Batches(ctx) {
		if err == nil && len(records) == 0 {
			err = out.KeepAlive()
		} else if err == nil {
			err = out.Write(func(b *bytes.Buffer) error { return s.writeRecords(b, records) })
		}
		if err != nil || s.blocked {
			return err
		}
	}
	if s.Over {
		return nil
	}
	t, err := s.service.GetTurn(ctx, s.caller, s.turnID)
	if err != nil {
		return err
	}
	last, err := s.ReadEnd(t)
	if err != nil {
		return err
	}
	return out.Write(func(b *bytes.Buffer) error { return s.writeEvents(b, last) })
}

// writeRecords writes the events for records of the log.
func (s *sender) writeRecords(b *bytes.Buffer, records []event.Record) error {
	for i := range records {
		events, err := s.ReadRecord(&records[i])
		if err == nil {
			err = s.writeEvents(b, events)
		}
		if err != nil {
			return err
		}
		if s.endsAt(&records[i]) {
			s.blocked = true
			return nil
		}
	}
	return nil
}

// endsAt reports whether the stream ends with a record because the turn waits after it. It does not
// end at an earlier wait from which the turn has continued.
func (s *sender) endsAt(record *event.Record) bool {
	if !s.untilBlocked {
		return false
	}
	if record.Seq <= s.stored {
		return record.Seq == s.waitsAt
	}
	return record.Type == event.TypeRunWaiting
}

func (s *sender) writeEvents(b *bytes.Buffer, events []display.Event) error {
	views := s.show(events)
	for i := range views {
		if err := views[i].writeTo(b); err != nil {
			return err
		}
	}
	return nil
}

// streamFailed is the message to the client of an interrupted stream.
const streamFailed = "agent event stream failed"

// breakOff tells the client that the stream ends before the turn, and ends the response visibly
// incomplete.
func (s *sender) breakOff(ctx context.Context, out *server.EventStream, cause error) {
	data, _ := json.Marshal(map[string]string{"message": streamFailed}) // strings
	last := eventView{
		TurnID: s.turnID, Type: "stream.error", Source: s.source, Visibility: display.Public, Data: data,
		Display: &display.Display{Kind: display.KindError, Phase: display.PhaseFailed, Text: streamFailed},
	}
	_ = out.Write(func(b *bytes.Buffer) error { // the client may be gone
		encoded, err := json.Marshal(last)
		b.WriteString("event: error\ndata: ")
		b.Write(encoded)
		b.WriteString("\n\n")
		return err
	})
	surfacekit.AbortStream(ctx, s.logger, s.turnID, cause)
}
