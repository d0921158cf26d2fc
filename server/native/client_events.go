package native

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// Events returns the events of a turn with a seq greater than after, past and future, up to the
// terminal event. It resumes an interrupted stream without repeating events, and fetches events
// that are too large for the stream separately. An error ends the sequence.
func (c *Client) Events(ctx context.Context, turnID string, after uint64, filter ...service.EventFilter) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		if err := errMissingID("turn", turnID); err != nil {
			yield(event.Record{}, err)
			return
		}
		f := &follower{client: c, turnID: turnID, seq: after, filter: filter, again: c.newPatience()}
		for {
			over, err := f.readStream(ctx, yield)
			if over || err == nil && f.hasEnded(ctx, yield) {
				return
			}
			if err == nil {
				err = f.client.connectionError(f.newRequest(), errEnded)
			}
			if err = f.again.waitBeforeRetry(ctx, err); err != nil {
				yield(event.Record{}, err)
				return
			}
		}
	}
}

var (
	// errEnded means that a stream ended before its turn.
	errEnded = errors.New("the stream ended before the turn")
	// errSilent means that a stream has neither events nor keep-alives.
	errSilent = errors.New("the server gives no sign of life")
)

// follower follows one turn.
type follower struct {
	client *Client
	turnID string
	filter []service.EventFilter
	// seq is the seq of the latest yielded event.
	seq uint64
	// last is set if the turn had ended before the stream was opened, so that a clean end of the
	// stream is the end of the turn.
	last  bool
	again *patience
}

func (f *follower) newRequest() *Request {
	q := eventQuery{Delegates: slices.Contains(f.filter, service.WithDelegates)}
	r := newGet(surfacekit.QueryOf(q), "turns", f.turnID, "events")
	r.Header = http.Header{}
	r.Header.Set(resumeHeader, strconv.FormatUint(f.seq, 10))
	return r
}

// readStream reads one stream. over reports whether the sequence has ended; if not, the error is
// why the stream ended, nil for a clean end.
func (f *follower) readStream(ctx context.Context, yield func(event.Record, error) bool) (over bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := f.newRequest()
	resp, err := f.client.openResponse(ctx, r, nil, streamType)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	silence := time.AfterFunc(f.client.settings.Silence, func() { cancel(errSilent) })
	defer silence.Stop()
	lines := newEventReader(resp.Body, func() { silence.Reset(f.client.settings.Silence) })
	for {
		record, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil && errors.Is(context.Cause(ctx), errSilent):
			return false, f.client.connectionError(r, errSilent)
		case errors.Is(err, errStream):
			return false, f.client.answerError(r, resp, err.Error())
		case err != nil:
			return false, f.client.connectionError(r, err)
		case record.Seq <= f.seq:
			continue // it was already yielded
		}
		silence.Stop() // the consumer may take its time
		if record, err = f.completeEvent(ctx, record); err != nil {
			return false, err
		}
		f.seq = record.Seq
		f.again.resetWait()
		if !yield(*record, nil) || record.Terminal() {
			return true, nil
		}
		silence.Reset(f.client.settings.Silence)
	}
}

// completeEvent returns the complete event: it fetches an event that was shortened for the
// stream.
func (f *follower) completeEvent(ctx context.Context, record *event.Record) (*event.Record, error) {
	var said struct {
		Truncated bool `json:"truncated"` // clip.Marker
	}
	if !bytes.Contains(record.Data, []byte(`"`+clip.Marker+`"`)) || json.Unmarshal(record.Data, &said) != nil || !said.Truncated {
		return record, nil
	}
	list, err := f.client.ReadEvents(ctx, f.turnID, record.Seq-1, 1, f.filter...)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 || list[0].Seq != record.Seq {
		return record, nil // the log no longer has it
	}
	return &list[0], nil
}

// hasEnded reports whether no more events will follow a stream that ended cleanly. The terminal
// event may be hidden or pruned; but a proxy may also have ended the stream early, and then more
// events follow.
func (f *follower) hasEnded(ctx context.Context, yield func(event.Record, error) bool) bool {
	if f.last {
		return true
	}
	t, err := f.client.GetTurn(ctx, f.turnID)
	if err != nil {
		yield(event.Record{}, err)
		return true
	}
	f.last = !t.Status.Live()
	return f.last && f.seq >= t.Events
}

// maxEvent bounds an event, in bytes.
const maxEvent = 32 << 20

// errStream means that a response is not a stream of events.
var errStream = errors.New("the stream makes no sense")

// eventReader reads server-sent events.
type eventReader struct {
	in *bufio.Reader
	// alive is called for each line.
	alive func()
}

func newEventReader(r io.Reader, alive func()) *eventReader {
	return &eventReader{in: bufio.NewReader(r), alive: alive}
}

// next returns the next event. The error is io.EOF at the end, io.ErrUnexpectedEOF within an
// event, errStream for an invalid event, and otherwise an error of the reader.
func (e *eventReader) next() (*event.Record, error) {
	var data []byte
	var id string
	begun := false
	for {
		line, err := e.readLine(maxEvent - len(data))
		switch {
		case errors.Is(err, io.EOF) && (begun || len(line) > 0):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		e.alive()
		if len(line) == 0 {
			if !begun {
				continue
			}
			return decodeRecord(id, data)
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			id = string(value)
		case "data":
			if begun {
				data = append(data, '\n')
			}
			data, begun = append(data, value...), true
		}
	}
}

// readLine returns a line without its end. The bytes are valid until the next call.
func (e *eventReader) readLine(most int) ([]byte, error) {
	var whole []byte
	for {
		part, err := e.in.ReadSlice('\n')
		if len(whole)+len(part) > most {
			return nil, fmt.Errorf("%w: an event has more than %d bytes", errStream, maxEvent)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			whole = append(whole, part...)
			continue
		}
		if whole != nil {
			part = append(whole, part...)
		}
		if err != nil {
			return part, err
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r")), nil
	}
}

// decodeRecord reads an event. Its id, if any, is its number.
func decodeRecord(id string, data []byte) (*event.Record, error) {
	record := new(event.Record)
	if err := json.Unmarshal(data, record); err != nil {
		return nil, fmt.Errorf("%w: an event cannot be read", errStream)
	}
	if record.Seq == 0 || record.Type == "" || id != "" && id != strconv.FormatUint(record.Seq, 10) {
		return nil, fmt.Errorf("%w: an event has no number, or two", errStream)
	}
	return record, nil
}
