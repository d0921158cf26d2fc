package agentruns

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// streamRun responds with the events of a run: those after the last one that the client saw, then
// new ones through the terminal event. A stream that ends earlier is cut off, because clients would
// reconnect immediately after a clean end.
func (c *call) streamRun() error {
	s, err := c.openSender()
	if err != nil {
		return err
	}
	server.ServeEvents(c.w, c.r, func(ctx context.Context, out *server.EventStream) {
		defer s.followed.addFollower(s)()
		if err := s.followRun(ctx, out); err != nil && !errors.Is(err, server.ErrClientGone) {
			surfacekit.AbortStream(ctx, s.settings.Logger, s.id, err)
		}
	})
	return nil
}

// openSender returns the sender for the run in the path. It keeps nothing else of the run and the
// request while the client follows the run.
func (c *call) openSender() (*sender, error) {
	found, err := c.getRun(c.r.Context())
	if err != nil {
		return nil, err
	}
	return &sender{
		Surface: c.Surface, caller: c.caller, log: c.settings.Service.Follower(c.caller, found.Turn, 0, c.settings.KeepAlive),
		translator: newTranslator(found.record.runFacts), id: found.ID, after: resumeFrom(c.r), stored: found.Seq,
	}, nil
}

// resumeFrom returns the number of the last event that the client saw; 0 if it saw none or the
// number is invalid.
func resumeFrom(r *http.Request) uint64 {
	text := r.Header.Get("Last-Event-ID")
	switch q := r.URL.Query(); {
	case q.Has("lastSeq"):
		text = q.Get("lastSeq")
	case q.Has("after"):
		text = q.Get("after")
	}
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return seq
}

// sender sends a client the events of a run after a sequence number.
type sender struct {
	*Surface
	*translator
	caller service.Caller
	log    *service.Follower
	id     string
	// after is the last event that the client claims to have seen.
	after uint64
	// stored is the last record in the log when the client connected.
	stored uint64
	// over is set once the terminal event has been reached.
	over bool
}

// writeRecord writes the events for a record of the log.
func (s *sender) writeRecord(b *bytes.Buffer, r *event.Record) error {
	frames, err := s.translateRecord(r)
	if err != nil {
		return err
	}
	if r.Seq > s.stored && len(frames) > 0 {
		// It was stored after the client connected, so no client can have seen it.
		s.after = min(s.after, frames[0].Seq-1)
	}
	s.over = s.over || r.Terminal()
	return s.addFrames(b, frames)
}

// addFrames writes events. The terminal one is left out only if the client has seen exactly that
// one: a client that claims to have seen more would otherwise get an empty stream with a clean end,
// and reconnect.
func (s *sender) addFrames(b *bytes.Buffer, frames []frame) error {
	for i := range frames {
		if seq := frames[i].Seq; seq == s.after || seq < s.after && !frames[i].isTerminal() {
			continue
		}
		if err := frames[i].writeTo(b); err != nil {
			return err
		}
	}
	return nil
}

// followRun sends the events of a run through the terminal one. The error explains an early end.
func (s *sender) followRun(ctx context.Context, out *server.EventStream) error {
	err := out.Follow(s.log.Batches(ctx), s.writeRecord)
	if err != nil || s.over {
		return err
	}
	return s.sendOutcome(ctx, out)
}

// sendOutcome sends the terminal event from the stored outcome of a run whose log was partly
// deleted.
func (s *sender) sendOutcome(ctx context.Context, out *server.EventStream) error {
	turn, err := s.settings.Service.GetTurn(ctx, s.caller, s.id)
	if err != nil || turn.Outcome == nil {
		return err
	}
	last := s.outcomeFrame(turn.Outcome)
	last.Seq = max(last.Seq, s.after+1)
	return out.Write(func(b *bytes.Buffer) error { return s.addFrames(b, []frame{last}) })
}
