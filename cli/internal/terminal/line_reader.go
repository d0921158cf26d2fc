package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// MaxPrompt bounds a prompt read from standard input, in bytes.
const MaxPrompt = 4 << 20

// LineReader reads standard input line by line, for all questions.
type LineReader struct {
	// In is read unless Read, which receives the lines, is set.
	In   io.Reader
	Read <-chan string
	// problems holds the read error, or nil, once the input has ended.
	problems <-chan error
	// Ended is set if the input has no more lines, and Failed if reading it failed.
	Ended  bool
	Failed error
	// Waiting is called when a wait for a line starts and ends; it may be nil.
	Waiting func(waits bool)
	// Hide turns echo off or on before a line is read; nil if the terminal echoes by itself.
	Hide func(secret bool)
}

// Next returns the next line, and "" at the end; ok is false if ctx ended or over was closed first.
// The reader only ends with the program, since reading cannot be canceled.
func (l *LineReader) Next(ctx context.Context, over <-chan struct{}) (line string, ok bool) {
	if l.Read == nil {
		lines, problems := make(chan string), make(chan error, 1)
		l.Read, l.problems = lines, problems
		go func(in io.Reader, read chan<- string) {
			defer close(read)
			scanner := bufio.NewScanner(in)
			scanner.Buffer(nil, MaxPrompt)
			for scanner.Scan() {
				read <- scanner.Text()
			}
			err := scanner.Err()
			if errors.Is(err, bufio.ErrTooLong) {
				err = fmt.Errorf("a line is larger than %d bytes", MaxPrompt)
			}
			problems <- err
		}(l.In, lines)
	}
	if l.Waiting != nil {
		l.Waiting(true)
		defer l.Waiting(false)
	}
	select {
	case line, more := <-l.Read:
		if l.Ended = !more; l.Ended && l.problems != nil {
			l.Failed, l.problems = <-l.problems, nil
		}
		return line, true
	case <-over:
		return "", false
	case <-ctx.Done():
		return "", false
	}
}
