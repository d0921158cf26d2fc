package terminal

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"sync"
)

// Writer writes text from models, tools, peers and files. It replaces every character that
// could control a terminal, hide text or reorder it with its JSON escape, even if a sequence is
// split over writes. JSON keeps its value.
type Writer struct {
	out io.Writer

	mu sync.Mutex
	// held is the start of a character, or a carriage return, that the next write completes.
	held []byte
	// failed is the first error of a write.
	failed error
}

// NewWriter returns a writer that writes the escaped text to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Write escapes p. It is safe for concurrent use.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	written := len(p)
	if len(w.held) > 0 {
		p = append(w.held, p...)
	}
	text, rest := appendEscaped(nil, p, false)
	w.held = bytes.Clone(rest)
	if err := w.writeRaw(text); err != nil {
		return 0, err
	}
	return written, nil
}

// Flush writes the held bytes. An incomplete character becomes U+FFFD.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flushLocked()
}

// WriteUnescaped writes the held bytes, and then text without escapes.
func (w *Writer) WriteUnescaped(text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.flushLocked(); err != nil {
		return err
	}
	return w.writeRaw([]byte(text))
}

// File returns the file that the output goes to, if any.
func (w *Writer) File() (*os.File, bool) { return FileOf(w.out) }

// Err returns the first error of a write. Later writes may have succeeded.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

func (w *Writer) flushLocked() error {
	text, _ := appendEscaped(nil, w.held, true)
	w.held = nil
	return w.writeRaw(text)
}

func (w *Writer) writeRaw(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	_, err := w.out.Write(text)
	w.failed = cmp.Or(w.failed, err)
	return err
}
