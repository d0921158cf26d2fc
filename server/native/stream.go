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
	"github.com/agentruntime/agentruntime/internal/jsonfit"
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

// serveEvents responds with the events of a turn: a page of the stored ones, or a stream of stored
// and future ones.
func (c *call) serveEvents() error {
	q := queryOf(c.r, queryAfter, queryLimit, queryDelegates)
	after, limit, filter := q.readNumber(queryAfter), q.pageLimit(service.MaxPage), q.eventFilter()
	if seen := c.r.Header.Get(resumeHeader); seen != "" {
		n, err := strconv.ParseUint(seen, 10, 64)
		if err != nil {
			q.noteProblem(resumeHeader, "\""+clip.Text(seen)+"\" must be a number, 0 or more")
		}
		after = n // the header is newer than the original query
	}
	if q.err != nil {
		return q.err
	}
	id := c.r.PathValue("turn")
	if !strings.Contains(c.r.Header.Get("Accept"), streamType) {
		return c.eventPage(id, after, limit, filter)
	}
	turn, err := c.findTurn(c.r.Context(), id)
	if err != nil {
		return err
	}
	c.streamEvents(turn, after, filter)
	return nil
}

// eventPage responds with a page of events, which ends early if they are large.
func (c *call) eventPage(id string, after uint64, limit int, filter service.EventFilter) error {
	records, err := c.ReadEvents(c.r.Context(), id, after, limit, filter)
	if err != nil {
		return err
	}
	size := 0
	for i := range records {
		if size += len(records[i].Data); size > maxRead && i > 0 {
			records = records[:i]
			break
		}
	}
	if records == nil {
		records = []event.Record{}
	}
	return server.WriteJSON(c.w, http.StatusOK, eventList{records})
}

// streamEvents streams the events of a turn as server-sent events, up to the terminal event. A
// stream that fails earlier is cut off, because clients take a clean end for the turn's end.
func (c *call) streamEvents(turn *service.Turn, after uint64, filter service.EventFilter) {
	logger, id := c.settings.Logger, turn.ID // the turn and the call may be large and are not retained
	log := c.Service.Follower(c.Caller, turn, after, c.settings.KeepAlive, filter)
	server.ServeEvents(c.w, c.r, func(ctx context.Context, out *server.EventStream) {
		if err := out.Follow(log.Batches(ctx), writeEvent); err != nil && !errors.Is(err, server.ErrClientGone) {
			surfacekit.AbortStream(ctx, logger, id, err)
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
	cut.Data = jsonfit.Object(whole, size-frameOverhead)
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
