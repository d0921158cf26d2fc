package native

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

const (
	// streamType is the media type of event streams.
	streamType = "text/event-stream"
	// resumeHeader names the last event that a client has seen.
	resumeHeader = "Last-Event-ID"
	// maxRead is the total event size at which a page ends, in bytes.
	maxRead = 4 << 20
	// frameOverhead is the maximum size of an event without its data.
	frameOverhead = 4 << 10
)

// eventQuery selects events of the turn in the path.
type eventQuery struct {
	turnID

	After     uint64  `query:"after" jsonschema:"Only events after the one with this number."`
	Limit     int     `query:"limit" minimum:"1" maximum:"1000" default:"50" jsonschema:"Maximum number of events."`
	Delegates bool    `query:"delegates" default:"false" jsonschema:"Whether to include events of delegates. They have a path."`
	Seen      *uint64 `header:"Last-Event-ID" type:"string" pattern:"^[0-9]*$" jsonschema:"Number of the last event received. Overrides after."`
}

// serveEvents responds with the events of a turn: a page of the stored ones, or a stream of stored
// and future ones.
func (s *Surface) serveEvents(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
	var q eventQuery
	if err := surfacekit.ReadRequest(r, &q); err != nil {
		return err
	}
	if q.Seen != nil {
		q.After = *q.Seen // the header is newer than the original query
	}
	filter := service.OwnEvents
	if q.Delegates {
		filter = service.WithDelegates
	}
	l := &Local{s.settings.Service, caller}
	if !strings.Contains(r.Header.Get("Accept"), streamType) {
		records, err := l.ReadEvents(r.Context(), q.Turn, q.After, q.Limit, filter)
		if err != nil {
			return err
		}
		return server.WriteJSON(w, http.StatusOK, eventPage(records))
	}
	turn, err := l.findTurn(r.Context(), q.Turn)
	if err != nil {
		return err
	}
	s.streamEvents(w, r, turn.ID, s.settings.Service.Follower(caller, turn, q.After, s.settings.KeepAlive, filter))
	return nil
}

// eventPage returns a page of events, which ends early if they are large.
func eventPage(records []event.Record) eventList {
	size := 0
	for i := range records {
		if size += len(records[i].Data); size > maxRead && i > 0 {
			return eventList{records[:i]}
		}
	}
	return eventList{append([]event.Record{}, records...)}
}

// streamEvents streams the events of a turn as server-sent events, up to the terminal event. A
// stream that fails earlier is cut off, because clients take a clean end for the turn's end.
func (s *Surface) streamEvents(w http.ResponseWriter, r *http.Request, id string, log *service.Follower) {
	server.ServeEvents(w, r, func(ctx context.Context, out *server.EventStream) {
		if err := out.Follow(log.Batches(ctx), writeEvent); err != nil && !errors.Is(err, server.ErrClientGone) {
			surfacekit.AbortStream(ctx, s.settings.Logger, id, err)
		}
	})
}

// shortenEvent encodes an event that is too large for a stream, with its data shortened and marked
// as such.
func shortenEvent(r *event.Record, size int) ([]byte, error) {
	whole, err := json.Marshal(r.Data) // as many bytes as within the event
	if err != nil {
		return nil, err
	}
	cut := *r
	cut.Data = clip.Object(whole, size-frameOverhead)
	return json.Marshal(&cut)
}

// writeEvent writes an event as a server-sent event.
func writeEvent(b *bytes.Buffer, r *event.Record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	size := server.MaxFrame
	if r.Terminal() {
		size = server.MaxLastFrame
	}
	if len(data) > size-frameOverhead {
		if data, err = shortenEvent(r, size); err != nil {
			return err
		}
	}
	b.WriteString("id: ")
	b.WriteString(strconv.FormatUint(r.Seq, 10))
	b.WriteString("\ndata: ")
	b.Write(data)
	b.WriteString("\n\n")
	return nil
}
