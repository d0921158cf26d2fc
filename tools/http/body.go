package http

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"mime"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/tools"
)

const jsonType = "application/json"

// body makes the body of a request. A nil body makes none.
type body struct {
	// rest builds the body from the arguments that are used nowhere else.
	rest   bool
	pieces []piece
}

// piece is a part of a body with the way to insert its argument.
type piece struct {
	part

	insert inserter
}

// inserter appends an argument in the form required by its place.
type inserter func(dst []byte, args tools.Arguments, name string) ([]byte, error)

// parseBody compiles a configured body: a JSON string is a text template, and any other JSON value
// is sent as it is, with placeholders in its strings. Empty text means no body.
func parseBody(raw json.RawMessage, typ string) (*body, error) {
	media := mediaType(typ)
	var text string
	if json.Unmarshal(raw, &text) != nil {
		if !isJSON(media) {
			return nil, errors.New("a body that is not JSON must be a string")
		}
		return parseStructure(raw)
	}
	switch {
	case text == "":
		return nil, nil
	case isJSON(media):
		return parseJSON(text, false)
	default:
		return parseText(text, media)
	}
}

// mediaType returns a content type without parameters; JSON by default, and "" if malformed.
func mediaType(typ string) string {
	if typ == "" {
		return jsonType
	}
	media, _, err := mime.ParseMediaType(typ)
	if err != nil {
		return ""
	}
	return media
}

func isJSON(media string) bool {
	return media == jsonType || strings.HasSuffix(media, "+json")
}

func isXML(media string) bool {
	return media == "application/xml" || media == "text/xml" || strings.HasSuffix(media, "+xml")
}

// parseText compiles a body that is not JSON.
func parseText(text, media string) (*body, error) {
	t, err := parseTemplate(text)
	if err != nil {
		return nil, err
	}
	escape := escaperFor(media)
	if escape == nil && !t.isLiteral() {
		return nil, errors.New("arguments cannot be escaped in a body of this content type; they can in JSON, XML, plain text and application/x-www-form-urlencoded")
	}
	b := &body{pieces: make([]piece, len(t))}
	for i := range t {
		b.pieces[i] = piece{t[i], insertText(escape)}
	}
	return b, nil
}

func escaperFor(media string) escaper {
	switch {
	case media == "text/plain":
		return func(dst []byte, _, value string) ([]byte, error) { return append(dst, value...), nil }
	case media == "application/x-www-form-urlencoded":
		return escapeQuery
	case isXML(media):
		return escapeXML
	default:
		return nil
	}
}

func insertText(escape escaper) inserter {
	return func(dst []byte, args tools.Arguments, name string) ([]byte, error) {
		value, err := args.Text(name)
		if err != nil {
			return nil, err
		}
		return escape(dst, name, value)
	}
}

func escapeXML(dst []byte, _, value string) ([]byte, error) {
	w := bytes.NewBuffer(dst)
	err := xml.EscapeText(w, []byte(value))
	return w.Bytes(), err
}

// renderBody returns the body; nil if absent. used contains the names of the arguments that are
// used anywhere.
func (b *body) renderBody(args tools.Arguments, used map[string]bool) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	if b.rest {
		return rawjson.Marshal(withoutNames(args, used))
	}
	dst := make([]byte, 0, 256)
	for i := range b.pieces {
		p := &b.pieces[i]
		if p.name == "" {
			dst = append(dst, p.literal...)
			continue
		}
		var err error
		if dst, err = p.insert(dst, args, p.name); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// addNames adds the names of the arguments in b to a set.
func (b *body) addNames(set map[string]bool) {
	if b == nil {
		return
	}
	for i := range b.pieces {
		if name := b.pieces[i].name; name != "" {
			set[name] = true
		}
	}
}
