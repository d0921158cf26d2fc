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
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/display"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// eventView is an event in the protocol's form.
type eventView struct {
	ID         string           `json:"id"`
	TurnID     string           `json:"turnId"`
	Seq        uint64           `json:"seq"`
	Type       string           `json:"type"`
	Source     string           `json:"source"`
	Visibility string           `json:"visibility" enum:"public,private"`
	Data       json.RawMessage  `json:"data" type:"object"`
	CreatedAt  *time.Time       `json:"createdAt" null:"true"`
	Display    *display.Display `json:"display,omitempty"`
	_          struct{}         `additionalProperties:"false"`
}

// eventReader turns the log of a turn into the events of the protocol.
type eventReader struct {
	surfacekit.EventReader
	turnID, source string
}

func newEventReader(t *turn, after uint64) *eventReader {
	return &eventReader{surfacekit.EventReader{Reader: display.Reader{Model: t.record.Model}, After: after}, t.ID, t.record.Provider}
}

func (r *eventReader) show(events []display.Event) []eventView {
	list := make([]eventView, len(events))
	for i := range events {
		e := &events[i]
		list[i] = eventView{
			ID: r.turnID + ":" + strconv.FormatUint(e.Seq, 10), TurnID: r.turnID, Seq: e.Seq, Type: e.Type, Source: r.source,
			Visibility: e.Visibility, Data: e.Data, CreatedAt: &e.Time, Display: e.Display,
		}
	}
	return list
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
	reader := newEventReader(t, after)
	events, err := reader.List(t.Turn, limit, func(after uint64) ([]event.Record, error) {
		records, err := askProvider(c, "list_turn_events", func(ctx context.Context) ([]event.Record, error) {
			return c.settings.Service.ReadEvents(ctx, c.caller, t.ID, after, service.MaxPage)
		})
		return records, nameError(err, "turn", t.ID)
	})
	return reader.show(events), err
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
		cut.Data = clip.Object(v.Data, size/2-frameOverhead)
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
