package vendorhttp

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// repeat is a reader that repeats a text for n bytes in all.
type repeat struct {
	text string
	n    int64
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.n <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && int64(n) < r.n {
		n += copy(p[n:min(int64(len(p)), r.n)], r.text)
	}
	r.n -= int64(n)
	return n, nil
}

func TestLimitStream(t *testing.T) {
	for _, tt := range []struct {
		name string
		text string
		size int64
		want error
	}{
		{"a line", "x", eventLimit / 2, nil},
		{"a line without end", "x", 2 * eventLimit, errEventTooLarge},
		{"an event without end", "data: xxxxxxxxx\n", 2 * eventLimit, errEventTooLarge},
		{"a list without end in many lines", "data: [1,\n", 4 * eventLimit, errEventTooLarge},
		{"a document without end", "{\"a\":", 2 * eventLimit, errEventTooLarge},
		{"many events", "data: x\n\n", 4 * eventLimit, nil},
		{"many events of another line end", "data: x\r\n\r\n", 4 * eventLimit, nil},
		{"many events of an old line end", "data: x\r\r", 4 * eventLimit, nil},
		{"many events without an empty line", "data: [DONE]\n", 2 * eventLimit, nil},
		{"many documents", "{}\n\n", 2 * eventLimit, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			source := &repeat{text: strings.Repeat(tt.text, 1<<15/len(tt.text)+1), n: tt.size}
			r := newEventReader(limitStream(io.NopCloser(source), nil), Framing{})
			for r.next() {
			}
			if !errors.Is(r.err, tt.want) || tt.want == nil && source.n > 0 {
				t.Errorf("%d of %d bytes are not read, then %v", source.n, tt.size, r.err)
			}
		})
	}
}

func TestAStreamWithoutEndIsCutOff(t *testing.T) {
	source := &repeat{text: strings.Repeat("x", 1<<15), n: 2 * streamLimit}
	if _, err := io.Copy(io.Discard, limitStream(io.NopCloser(source), nil)); !errors.Is(err, errStreamTooLarge) {
		t.Errorf("reading ends with %v", err)
	}
}

// TestDrainDoesNotWait uses a server that keeps its stream open.
func TestDrainDoesNotWait(t *testing.T) {
	reader, writer := io.Pipe()
	canceled := false
	drain(reader, func() {
		canceled = true
		_ = writer.Close()
	})
	if !canceled {
		t.Error("the request goes on")
	}
	drain(strings.NewReader("\n"), context.CancelFunc(func() { t.Error("a stream that ended is canceled") }))
}
