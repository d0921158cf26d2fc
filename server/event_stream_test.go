package server_test

import (
	"bytes"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server"
)

// sentParts is a response that notes what is sent together.
type sentParts struct {
	header  http.Header
	pending strings.Builder
	parts   []string
	// left is how many writes succeed.
	left int
}

func newSentParts() *sentParts { return &sentParts{header: http.Header{}, left: 1 << 20} }

var errTooSlow = errors.New("too slow")

func (p *sentParts) Header() http.Header { return p.header }

func (p *sentParts) WriteHeader(int) {}

func (p *sentParts) Write(b []byte) (int, error) {
	if p.left--; p.left < 0 {
		return 0, errTooSlow
	}
	return p.pending.Write(b)
}

func (p *sentParts) FlushError() error {
	p.parts = append(p.parts, p.pending.String())
	p.pending.Reset()
	return nil
}

// logOf returns batches of so many events each, with a terminal one at the end.
func logOf(sizes ...int) iter.Seq2[[]event.Record, error] {
	return func(yield func([]event.Record, error) bool) {
		seq := uint64(0)
		for i, n := range sizes {
			list := make([]event.Record, n)
			for j := range list {
				seq++
				list[j] = event.Record{Seq: seq, Type: event.TypeTextDelta}
			}
			if i == len(sizes)-1 && n > 0 {
				list[n-1].Type = event.TypeRunFinish
			}
			if !yield(list, nil) {
				return
			}
		}
	}
}

func writeSeq(b *bytes.Buffer, r *event.Record) error {
	b.WriteString(strconv.FormatUint(r.Seq, 10) + ";")
	return nil
}

func TestAnEventStreamSendsTogetherWhatIsThere(t *testing.T) {
	t.Parallel()
	out := newSentParts()
	s, err := server.OpenEventStream(out)
	if err == nil {
		err = s.Follow(logOf(3, 0, 1, 2), writeSeq)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(out.parts, "|"); got != "|1;2;3;|: keep-alive\n\n|4;" {
		t.Errorf("it sends %q", got)
	}
	if got := out.pending.String(); got != "5;6;" {
		t.Errorf("the end of the response sends %q", got)
	}
	if got := out.header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("it is of type %s", got)
	}
}

// TestAnEventStreamDoesNotGatherWithoutEnd sends a batch that is large.
func TestAnEventStreamDoesNotGatherWithoutEnd(t *testing.T) {
	t.Parallel()
	const size = 10 << 10
	out := newSentParts()
	s, err := server.OpenEventStream(out)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", size)
	write := func(b *bytes.Buffer, _ *event.Record) error { b.WriteString(text); return nil }
	if err := s.Follow(logOf(100, 0), write); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, part := range out.parts {
		sum += len(part)
		if len(part) > 64<<10+size {
			t.Errorf("%d bytes are sent together", len(part))
		}
	}
	if sum < 100*size {
		t.Errorf("%d bytes are sent", sum)
	}
}

func TestAnEventStreamTellsWhyItEnds(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong")
	broken := func(yield func([]event.Record, error) bool) { yield(nil, wrong) }
	for name, tt := range map[string]struct {
		log   iter.Seq2[[]event.Record, error]
		write func(*bytes.Buffer, *event.Record) error
		left  int
		want  error
	}{
		"the log is over":        {logOf(1, 1), writeSeq, 9, nil},
		"the log cannot be read": {broken, writeSeq, 9, wrong},
		"an event has no form":   {logOf(1), func(*bytes.Buffer, *event.Record) error { return wrong }, 9, wrong},
		"the client is gone":     {logOf(1, 1), writeSeq, 0, server.ErrClientGone},
		"and nothing happens":    {logOf(0, 0), writeSeq, 0, server.ErrClientGone},
	} {
		out := newSentParts()
		out.left = tt.left
		s, err := server.OpenEventStream(out)
		if err == nil {
			err = s.Follow(tt.log, tt.write)
		}
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// discard is a response that nobody reads.
type discard struct{ header http.Header }

func (d discard) Header() http.Header { return d.header }

func (discard) WriteHeader(int) {}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func (discard) FlushError() error { return nil }

// quiet is a log of a turn with nothing to say, n times.
func quiet(n int) iter.Seq2[[]event.Record, error] {
	return func(yield func([]event.Record, error) bool) {
		for range n {
			if !yield(nil, nil) {
				return
			}
		}
	}
}

// BenchmarkKeepAlive measures a sign of life, which is to allocate nothing.
func BenchmarkKeepAlive(b *testing.B) {
	s, err := server.OpenEventStream(discard{http.Header{}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	if err := s.Follow(quiet(b.N), writeSeq); err != nil {
		b.Fatal(err)
	}
}

// TestASignOfLifeAllocatesNothing is for servers with many streams that have
// nothing to say.
func TestASignOfLifeAllocatesNothing(t *testing.T) {
	s, err := server.OpenEventStream(discard{http.Header{}})
	if err != nil {
		t.Fatal(err)
	}
	silent := quiet(100)
	if got := testing.AllocsPerRun(100, func() {
		if err := s.Follow(silent, writeSeq); err != nil {
			t.Fatal(err)
		}
	}); got > 10 { // for all hundred of them
		t.Errorf("it is %.0f times", got)
	}
}
