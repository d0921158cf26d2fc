package vendorhttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// repeat is a reader that gives a text over and over, n bytes in all.
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
		{"an event without end", "data: x\n", 2 * eventLimit, errEventTooLarge},
		{"many events", "data: x\n\n", 4 * eventLimit, nil},
		{"many events of another line end", "data: x\r\n\r\n", 4 * eventLimit, nil},
		{"a stream without end", strings.Repeat("x", 1<<10) + "\n\n", 2 * streamLimit, errStreamTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			source := &repeat{text: strings.Repeat(tt.text, 1<<15/len(tt.text)+1), n: tt.size}
			n, err := io.Copy(io.Discard, limitStream(io.NopCloser(source), Framing{}, nil))
			if !errors.Is(err, tt.want) || tt.want == nil && n != tt.size {
				t.Errorf("%d of %d bytes are read, then %v", n, tt.size, err)
			}
		})
	}
}

// TestLimitStreamChangesNothing for any bytes, read in pieces of any size.
func TestLimitStreamChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.SampledFrom([]byte("a:\r\n"))).Draw(t, "data")
		for _, source := range []io.Reader{bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data)), iotest.DataErrReader(bytes.NewReader(data))} {
			limited := limitStream(io.NopCloser(source), Framing{}, nil).(*limitedStream)
			got, err := io.ReadAll(limited)
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%q is read as %q, then %v", data, got, err)
			}
			if want := int64(len(afterLastEvent(data))); limited.event != want {
				t.Fatalf("%d bytes of %q are counted as the last event, want %d", limited.event, data, want)
			}
		}
	})
}

// afterLastEvent returns what follows the last empty line, read in one go.
func afterLastEvent(data []byte) []byte {
	rest := data
	for {
		line, after, found := bytes.Cut(data, []byte("\n"))
		if !found {
			return rest
		}
		data = after
		if len(bytes.TrimSuffix(line, []byte("\r"))) == 0 {
			rest = after
		}
	}
}

// TestDrainDoesNotWait for a server that keeps its stream open.
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
