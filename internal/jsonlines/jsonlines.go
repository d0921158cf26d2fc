// Package jsonlines reads JSON-RPC messages from a stream of lines that may contain other text.
package jsonlines

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// ErrTooLong reports a line above the limit.
var ErrTooLong = errors.New("a line is too long")

// Reader returns the lines of a stream that are JSON-RPC messages. It is not safe for concurrent
// use.
type Reader struct {
	// Accept reports whether to return a message, which has no line break; nil returns all.
	Accept func(message []byte) bool

	from  *bufio.Reader
	max   int
	other func(line string)
	rest  []byte
}

// NewReader returns a reader of lines of at most max bytes; a longer line ends it with ErrTooLong.
// Lines that are not messages are passed to other, without the line break.
func NewReader(from io.Reader, max int, other func(line string)) *Reader {
	return &Reader{from: bufio.NewReader(from), max: max, other: other}
}

// Read reads messages, each followed by a line break.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.readLine()
		if text := bytes.TrimSpace(line); len(text) > 0 {
			switch {
			case !isMessage(text):
				r.other(string(text))
			case r.Accept == nil || r.Accept(text):
				r.rest = append(r.rest, text...)
				r.rest = append(r.rest, '\n')
			}
		}
		if err != nil && len(r.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *Reader) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := r.from.ReadSlice('\n')
		if len(line)+len(part) > r.max {
			return nil, ErrTooLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// isMessage reports whether a line looks like a JSON-RPC message. Broken messages count, so
// that their reader fails instead of waiting for them.
func isMessage(line []byte) bool {
	if line[0] != '{' && line[0] != '[' {
		return false
	}
	if !json.Valid(line) {
		return bytes.Contains(line, []byte(`"jsonrpc"`))
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(line, &m) != nil {
		return true // a batch
	}
	_, hasVersion := m["jsonrpc"]
	_, hasID := m["id"]
	_, hasResult := m["result"]
	_, hasError := m["error"]
	return hasVersion || hasID && (hasResult || hasError)
}
