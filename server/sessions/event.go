package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/display"
	"github.com/agentruntime/agentruntime/internal/jsonfit"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// eventView is an event in the protocol's form.
type eventView struct {
	ID         string           `json:"id"`
	TurnID     string           `json:"turnId"`
	Seq        uint64           `json:"seq"`
	Type       string           `json:"type"`
	Source     string           `json:"source"`
	Visibility string           `json:"visibility"`
	Data       json.RawMessage  `json:"data"`
	CreatedAt  *time.Time       `json:"createdAt"`
	Display    *display.Display `json:"display,omitempty"`
}

// eventReader turns the log of a turn into the events of the protocol. It reads the log from its
// beginning, so that the numbers are always the same.
type eventReader struct {
	display.Reader
	turnID, source string
	// after is the last event that the client has seen.
	after uint64
	// over is set once the turn's last event has been reached.
	over bool
}

func newEventReader(t *turn, after uint64) *eventReader {
	return &eventReader{Reader: display.Reader{Model: t.record.Model}, turnID: t.ID, source: t.record.Provider, after: after}
}

// read returns the events for a record that the client has not seen.
func (r *eventReader) read(record *event.Record) ([]eventView, error) {
	events, err := r.Read(record)
	if err != nil {
		return nil, err
	}
	return r.show(events), nil
}

func (r *eventReader) show(events []display.Event) []eventView {
	var list []eventView
	for i := range events {
		e := &events[i]
		r.over = r.over || e.Terminal()
		if e.Seq <= r.after {
			continue
		}
		list = append(list, eventView{
			ID: r.turnID + ":" + strconv.FormatUint(e.Seq, 10), TurnID: r.turnID, Seq: e.Seq, Type: e.Type, Source: r.source,
			Visibility: e.Visibility, Data: e.Data, CreatedAt: &e.Time, Display: e.Display,
		})
	}
	return list
}

// readOutcome returns the last event of a turn whose log lacks its end.
func (r *eventReader) readOutcome(t *service.Turn) ([]eventView, error) {
	if r.over || t.Outcome == nil {
		return nil, nil
	}
	events, err := r.ReadOutcome(t.FinishedAt, t.Outcome)
	return r.show(events), err
}

// maxEvents limits the number of events that a request may ask for; defaultEvents is used if it
// does not specify one.
const (
	maxEvents     = 1000
	defaultEvents = 100
)

// readAfter reads the last event that the client has seen.
func readAfter(q url.Values) (uint64, error) {
	text := q.Get("after")
	if text == "" {
		return 0, nil
	}
	after, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, badRequest("after must be a non-negative integer")
	}
	return after, nil
}

// readEventLimit reads the requested number of events; 0 means no limit.
func readEventLimit(q url.Values) (int, error) {
	if !q.Has("limit") {
		return defaultEvents, nil
	}
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 0 || limit > maxEvents {
		return 0, badRequest("limit must be between 0 and %d", maxEvents)
	}
	return limit, nil
}

// listEvents responds with the events of a turn after a given one.
func (c *call) listEvents() (any, error) {
	q := c.readQuery()
	after, err := readAfter(q)
	if err != nil {
		return nil, err
	}
	limit, err := readEventLimit(q)
	if err != nil {
		return nil, err
	}
	if limit == 0 {
		limit = math.MaxInt
	}
	t, err := c.getTurn()
	if err != nil {
		return nil, err
	}
	return c.readEvents(t, newEventReader(t, after), limit)
}

// readEvents returns up to limit of the stored events.
func (c *call) readEvents(t *turn, reader *eventReader, limit int) ([]eventView, error) {
	list, seen := []eventView{}, uint64(0)
	for len(list) < limit {
		records, err := askProvider(c, "list_turn_events", func(ctx context.Context) ([]event.Record, error) {
			return c.settings.Service.ReadEvents(ctx, c.caller, t.ID, seen, service.MaxPage)
		})
		if err != nil {
			return nil, nameError(err, "turn", t.ID)
		}
		for i := range records {
			views, err := reader.read(&records[i])
			if err != nil {
				return nil, err
			}
			list, seen = append(list, views...), records[i].Seq
		}
		if len(records) == 0 {
			last, err := reader.readOutcome(t.Turn)
			if err != nil {
				return nil, err
			}
			list = append(list, last...)
			break
		}
	}
	return list[:min(limit, len(list))], nil
}

// frameOverhead is the maximum size of an event without its data and display.
const frameOverhead = 4 << 10

// writeTo writes a server-sent event. If the event is too large, its data is shortened and marked
// as such.
func (v *eventView) writeTo(b *bytes.Buffer) error {
	size := server.MaxFrame
	if v.Type == display.TypeTurnCompleted || v.Type == display.TypeTurnFailed || v.Type == display.TypeTurnCanceled {
		size = server.MaxLastFrame
	}
	data, err := json.Marshal(v)
	if err == nil && len(data) > size-frameOverhead {
		cut := *v
		cut.Data = jsonfit.Object(v.Data, size/2-frameOverhead)
		if v.Display != nil {
			cut.Display = display.For(v.Type, cut.Data)
		}
		data, err = json.Marshal(&cut)
	}
	if err != nil {
		return err
	}
	b.WriteString("id: ")
	b.WriteString(strconv.FormatUint(v.Seq, 10))
	b.WriteString("\ndata: ")
	b.Write(data)
	b.WriteString("\n\n")
	return nil
}
