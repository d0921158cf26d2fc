package process

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/time/rate"
)

const (
	// maxLine limits a line, in bytes. The rest of a longer line follows as further lines.
	maxLine = 8 << 10
	// lineBurst lines are passed on immediately, then linesPerSecond.
	lineBurst      = 200
	linesPerSecond = 20
)

// LineWriter passes each line of a program's output to a log function. If a program writes too
// much, lines are dropped and a note counts them. The zero value is unusable: call NewLineWriter.
// It is safe for concurrent use.
type LineWriter struct {
	log     func(line string)
	mu      sync.Mutex
	part    []byte
	limit   *rate.Limiter
	dropped int
}

// NewLineWriter returns a writer that calls log, one line at a time, without blank lines.
func NewLineWriter(log func(line string)) *LineWriter {
	return &LineWriter{log: log, limit: rate.NewLimiter(linesPerSecond, lineBurst)}
}

// Write passes on the complete lines. It never fails.
func (w *LineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		piece, rest := p, []byte(nil)
		end := bytes.IndexByte(p, '\n')
		if end >= 0 {
			piece, rest = p[:end], p[end+1:]
		}
		if room := maxLine - len(w.part); len(piece) > room {
			w.part = append(w.part, piece[:room]...)
			p = p[room:]
			w.endLine()
			continue
		}
		w.part = append(w.part, piece...)
		if end >= 0 {
			w.endLine()
		}
		p = rest
	}
	return n, nil
}

// Flush passes on an incomplete last line, and the number of dropped lines.
func (w *LineWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endLine()
	w.noteDropped()
}

// endLine passes on the current line. The lock is held.
func (w *LineWriter) endLine() {
	line := strings.TrimSpace(strings.ToValidUTF8(string(w.part), "\uFFFD"))
	w.part = w.part[:0]
	switch {
	case line == "":
	case !w.limit.Allow():
		w.dropped++
	default:
		w.noteDropped()
		w.log(line)
	}
}

// noteDropped passes on the number of dropped lines. The lock is held.
func (w *LineWriter) noteDropped() {
	if w.dropped > 0 {
		w.log(fmt.Sprintf("[%d lines dropped]", w.dropped))
		w.dropped = 0
	}
}
