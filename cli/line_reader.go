package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// maxPrompt bounds a prompt read from standard input, in bytes.
const maxPrompt = 4 << 20

// lineReader reads standard input line by line, for all questions.
type lineReader struct {
	in   io.Reader
	read <-chan string
	// problems holds the read error, or nil, once the input has ended.
	problems <-chan error
	// ended is set if the input has no more lines, failed if reading it failed.
	ended  bool
	failed error
	// waiting is called when a wait for a line starts and ends; it may be nil.
	waiting func(waits bool)
	// hide turns echo off or on before a line is read; nil if the terminal echoes by itself.
	hide func(secret bool)
}

// next returns the next line, and "" at the end; ok is false if ctx ended or over was closed first.
// The reader only ends with the program, since reading cannot be canceled.
func (l *lineReader) next(ctx context.Context, over <-chan struct{}) (line string, ok bool) {
	if l.read == nil {
		lines, problems := make(chan string), make(chan error, 1)
		l.read, l.problems = lines, problems
		go func(in io.Reader, read chan<- string) {
			defer close(read)
			scanner := bufio.NewScanner(in)
			scanner.Buffer(nil, maxPrompt)
			for scanner.Scan() {
				read <- scanner.Text()
			}
			err := scanner.Err()
			if errors.Is(err, bufio.ErrTooLong) {
				err = fmt.Errorf("a line is larger than %d bytes", maxPrompt)
			}
			problems <- err
		}(l.in, lines)
	}
	if l.waiting != nil {
		l.waiting(true)
		defer l.waiting(false)
	}
	select {
	case line, more := <-l.read:
		if l.ended = !more; l.ended && l.problems != nil {
			l.failed, l.problems = <-l.problems, nil
		}
		return line, true
	case <-over:
		return "", false
	case <-ctx.Done():
		return "", false
	}
}
