package http

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/tools"
)

// parseStructure compiles a body configured as a structure.
func parseStructure(raw json.RawMessage) (*body, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, errors.New("body is not JSON")
	}
	return parseJSON(compact.String(), true)
}

// parseJSON compiles a JSON text. Inside a string a placeholder becomes the argument as text,
// outside as JSON. In a structure a string that is only a placeholder counts as outside, since
// there is no other way to write it; the structure's text must be compact JSON.
func parseJSON(text string, structure bool) (*body, error) {
	s := jsonScanner{text: text, structure: structure}
	for s.pos < len(s.text) {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	s.flush(s.pos)
	b := &body{pieces: s.pieces}
	sample, err := b.renderBody(nil, nil)
	if err != nil {
		return nil, err
	}
	if !json.Valid(sample) {
		return nil, errors.New("body is not JSON with its placeholders filled in; for another format set the header Content-Type")
	}
	return b, nil
}

// jsonScanner splits a JSON text at its placeholders.
type jsonScanner struct {
	text      string
	structure bool
	pieces    []piece

	pos int
	// from is where the literal begins that is not yet in pieces.
	from int
	// inString reports whether pos is inside a string, which begins at opened, and filled whether
	// the string has a placeholder.
	inString, filled bool
	opened           int
}

func (s *jsonScanner) flush(end int) {
	if s.from < end {
		s.pieces = append(s.pieces, piece{part: part{literal: s.text[s.from:end]}})
	}
	s.from = s.pos
}

func (s *jsonScanner) next() error {
	switch c := s.text[s.pos]; {
	case strings.HasPrefix(s.text[s.pos:], "{{"):
		return s.readPlaceholder()
	case s.inString && c == '\\':
		s.pos = min(s.pos+2, len(s.text))
	case c == '"':
		s.pos++
		if s.inString && s.filled && s.atColon() {
			return errKey
		}
		s.inString, s.filled, s.opened = !s.inString, false, s.pos
	default:
		s.pos++
	}
	return nil
}

var errKey = errors.New("a placeholder must not stand in a key of the body, only in a value")

// atColon reports whether the string that ends at pos is a key.
func (s *jsonScanner) atColon() bool {
	return strings.HasPrefix(strings.TrimLeft(s.text[s.pos:], " \t\r\n"), ":")
}

func (s *jsonScanner) readPlaceholder() error {
	start := s.pos
	end := strings.Index(s.text[start:], "}}")
	if end < 0 {
		return errPlaceholder
	}
	s.pos = start + end + len("}}")
	t, err := parseTemplate(s.text[start:s.pos])
	if err != nil {
		return err
	}
	p := piece{t[0], insertJSON}
	switch {
	case s.inString && s.structure && s.opened == start && s.text[s.pos] == '"':
		s.pos++ // the quotes go with the placeholder
		if s.atColon() {
			return errKey
		}
		s.flush(start - 1)
		s.inString = false
	case s.inString:
		p.insert = insertText(escapeJSONString)
		s.filled = true
		s.flush(start)
	default:
		s.flush(start)
	}
	s.pieces = append(s.pieces, p)
	return nil
}

func insertJSON(dst []byte, args tools.Arguments, name string) ([]byte, error) {
	if !args.Has(name) {
		return append(dst, "null"...), nil
	}
	w := bytes.NewBuffer(dst)
	err := json.Compact(w, args[name])
	return w.Bytes(), err
}

func escapeJSONString(dst []byte, _, value string) ([]byte, error) {
	quoted, err := rawjson.Marshal(value)
	if err != nil {
		return nil, err
	}
	return append(dst, quoted[1:len(quoted)-1]...), nil
}
