package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// plain is a schema with the keywords that most tools use. It accepts JSON text without decoding,
// and never accepts text that the schema rejects. If it does not accept, the library decides and
// provides the reasons.
type plain struct {
	// types are the allowed types of the value; 0 allows all.
	types      valueTypes
	properties []property
	// required has a bit for each required property.
	required uint64
	// closed is set if no other properties are allowed, and others is the schema of other
	// properties; nil allows any.
	closed bool
	others *plain
	items  *plain
	// enum are the allowed strings; nil allows any value. anyOf are schemas, one of which must
	// accept the value.
	enum  []string
	anyOf []*plain

	minimum, maximum bound
	length, count    limits
}

type property struct {
	name   string
	schema *plain
}

// bound is a limit of a number.
type bound struct {
	set   bool
	value int64
}

// limits bound a length; most is -1 if there is no upper limit.
type limits struct{ least, most int }

func (l limits) allow(n int) bool { return n >= l.least && (l.most < 0 || n <= l.most) }

// none reports whether every length is allowed.
func (l limits) none() bool { return l.least == 0 && l.most < 0 }

type valueTypes uint8

const (
	typeNull valueTypes = 1 << iota
	typeBoolean
	typeObject
	typeArray
	typeString
	typeInteger
	typeNumber
)

var typesByName = map[string]valueTypes{
	"null": typeNull, "boolean": typeBoolean, "object": typeObject, "array": typeArray,
	"string": typeString, "integer": typeInteger, "number": typeNumber | typeInteger,
}

// maxProperties is the maximum number of properties of a plain object: one bit each.
const maxProperties = 64

// newPlain returns the plain form of a decoded schema, or nil if it has none. A schema with a plain
// form is valid.
func newPlain(doc any) *plain {
	object, ok := doc.(map[string]any)
	if !ok {
		return nil
	}
	b := plainBuilder{formats: true}
	if draft, named := object["$schema"]; named {
		switch draft {
		case "https://json-schema.org/draft/2020-12/schema":
		case "http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema#":
			b.formats = false // they would have to be checked
		default:
			return nil
		}
	}
	return b.build(object, true)
}

// plainBuilder builds a plain schema. formats is set if formats are only annotations.
type plainBuilder struct{ formats bool }

// buildAny returns the plain form of a part of a schema, or nil.
func (b *plainBuilder) buildAny(doc any) *plain {
	switch doc := doc.(type) {
	case map[string]any:
		return b.build(doc, false)
	case bool:
		if doc {
			return &plain{length: limits{most: -1}, count: limits{most: -1}}
		}
	}
	return nil
}

func (b *plainBuilder) build(object map[string]any, top bool) *plain {
	p := &plain{length: limits{most: -1}, count: limits{most: -1}}
	for key, value := range object {
		if !b.apply(p, key, value, top) {
			return nil
		}
	}
	if names, ok := object["required"].([]any); ok && !p.require(names) {
		return nil
	}
	return p
}

// apply adds a keyword, and reports whether a plain schema can have it.
func (b *plainBuilder) apply(p *plain, key string, value any, top bool) bool {
	switch key {
	case "$schema":
		return top
	case "title", "description", "$comment":
		return isText(value)
	case "format":
		return b.formats && isText(value)
	case "default":
		return true
	case "examples":
		_, ok := value.([]any)
		return ok
	case "deprecated", "readOnly", "writeOnly":
		_, ok := value.(bool)
		return ok
	case "type":
		return p.setTypes(value)
	case "properties":
		return b.addProperties(p, value)
	case "required": // once all properties are known
		_, ok := value.([]any)
		return ok
	case "additionalProperties":
		if value == false {
			p.closed = true
			return true
		}
		p.others = b.buildAny(value)
		return p.others != nil
	case "items":
		p.items = b.buildAny(value)
		return p.items != nil
	case "enum":
		return p.setEnum(value)
	case "anyOf":
		return b.addForms(p, value)
	default:
		return p.setLimit(key, value)
	}
}

func isText(value any) bool {
	_, ok := value.(string)
	return ok
}

func (p *plain) setTypes(value any) bool {
	names, ok := value.([]any)
	if !ok {
		names = []any{value}
	}
	for i, name := range names {
		text, _ := name.(string)
		typ := typesByName[text]
		if typ == 0 || slices.Contains(names[:i], name) {
			return false
		}
		p.types |= typ
	}
	return len(names) > 0
}

func (b *plainBuilder) addProperties(p *plain, value any) bool {
	properties, ok := value.(map[string]any)
	if !ok || len(properties) > maxProperties {
		return false
	}
	p.properties = make([]property, 0, len(properties))
	for name, doc := range properties {
		schema := b.buildAny(doc)
		if schema == nil {
			return false
		}
		p.properties = append(p.properties, property{name: name, schema: schema})
	}
	slices.SortFunc(p.properties, func(a, b property) int { return strings.Compare(a.name, b.name) })
	return true
}

// require records the required properties. Only declared ones can be recorded.
func (p *plain) require(names []any) bool {
	for _, name := range names {
		i := slices.IndexFunc(p.properties, func(q property) bool { return q.name == name })
		if i < 0 || p.required&(1<<i) != 0 {
			return false
		}
		p.required |= 1 << i
	}
	return true
}

func (p *plain) setEnum(value any) bool {
	values, ok := value.([]any)
	if !ok || len(values) == 0 {
		return false
	}
	known := make(map[string]bool, len(values))
	for _, v := range values {
		text, ok := v.(string)
		if !ok || known[text] {
			return false
		}
		known[text] = true
		p.enum = append(p.enum, text)
	}
	return true
}

func (b *plainBuilder) addForms(p *plain, value any) bool {
	forms, _ := value.([]any)
	for _, doc := range forms {
		form := b.buildAny(doc)
		if form == nil {
			return false
		}
		p.anyOf = append(p.anyOf, form)
	}
	return len(forms) > 0
}

// setLimit sets a limit of a number or length, and reports whether the value is valid.
func (p *plain) setLimit(key string, value any) bool {
	number, ok := value.(json.Number)
	if !ok {
		return false
	}
	n, ok := smallInteger([]byte(number))
	if !ok {
		return false
	}
	switch key {
	case "minimum":
		p.minimum = bound{set: true, value: n}
		return true
	case "maximum":
		p.maximum = bound{set: true, value: n}
		return true
	}
	if n < 0 {
		return false
	}
	switch key {
	case "minLength":
		p.length.least = int(n)
	case "maxLength":
		p.length.most = int(n)
	case "minItems":
		p.count.least = int(n)
	case "maxItems":
		p.count.most = int(n)
	default:
		return false
	}
	return true
}

// smallInteger returns the value of an integer with few enough digits to fit every type.
func smallInteger(token []byte) (int64, bool) {
	const digits = 9
	if len(token) > digits {
		return 0, false
	}
	n, err := strconv.ParseInt(string(token), 10, 64)
	return n, err == nil
}

// accepts reports whether the schema certainly accepts a JSON text, within a number of steps. It
// may return false for an acceptable text.
func (p *plain) accepts(raw []byte, steps int) bool {
	if !json.Valid(raw) {
		return false
	}
	s := textScanner{raw: raw, steps: steps}
	return s.accept(p)
}

// textScanner walks over a valid JSON text. steps is the number of remaining steps: a text is read
// once for each form that it may have.
type textScanner struct {
	raw   []byte
	at    int
	steps int
}

// next returns the next byte that is not a space.
func (s *textScanner) next() byte {
	for s.at < len(s.raw) {
		switch c := s.raw[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// accept reads one value and reports whether a schema accepts it. If not, the position is
// meaningless.
func (s *textScanner) accept(p *plain) bool {
	if s.steps--; s.steps < 0 {
		return false
	}
	c := s.next()
	if len(p.anyOf) > 0 {
		begun := s.at
		if !slices.ContainsFunc(p.anyOf, func(form *plain) bool { s.at = begun; return s.accept(form) }) {
			return false
		}
		s.at = begun
	}
	switch c {
	case '{':
		return p.allows(typeObject) && p.enum == nil && s.acceptObject(p)
	case '[':
		return p.allows(typeArray) && p.enum == nil && s.acceptArray(p)
	case '"':
		return p.allows(typeString) && s.acceptString(p)
	case 't', 'f':
		s.skipWord()
		return p.allows(typeBoolean) && p.enum == nil
	case 'n':
		s.skipWord()
		return p.allows(typeNull) && p.enum == nil
	default:
		return p.enum == nil && s.acceptNumber(p)
	}
}

func (p *plain) allows(typ valueTypes) bool { return p.types == 0 || p.types&typ != 0 }

// skipWord skips true, false, null or a number, and returns it.
func (s *textScanner) skipWord() []byte {
	begun := s.at
	for s.at < len(s.raw) && !strings.ContainsRune(",]} \t\r\n", rune(s.raw[s.at])) {
		s.at++
	}
	return s.raw[begun:s.at]
}

func (s *textScanner) acceptNumber(p *plain) bool {
	token := s.skipWord()
	if bytes.ContainsAny(token, "eE") {
		return false // its exponent may be out of range
	}
	if bytes.IndexByte(token, '.') >= 0 {
		return p.allows(typeNumber) && !p.minimum.set && !p.maximum.set
	}
	if !p.allows(typeInteger) {
		return false
	}
	if !p.minimum.set && !p.maximum.set {
		return true
	}
	n, ok := smallInteger(token)
	return ok && (!p.minimum.set || n >= p.minimum.value) && (!p.maximum.set || n <= p.maximum.value)
}

// readString skips a string and returns the text between its quotes. It returns false if that
// text contains escapes.
func (s *textScanner) readString() ([]byte, bool) {
	s.at++
	begun := s.at
	literal := true
	for s.raw[s.at] != '"' {
		if s.raw[s.at] == '\\' {
			literal = false
			s.at++
		}
		s.at++
	}
	text := s.raw[begun:s.at]
	s.at++
	return text, literal
}

func (s *textScanner) acceptString(p *plain) bool {
	text, literal := s.readString()
	s.steps -= len(text)/bytesPerStep + len(p.enum)/valuesPerStep
	if p.enum == nil && p.length.none() {
		return true
	}
	if !literal || !utf8.Valid(text) {
		return false
	}
	if !p.length.none() && !p.length.allow(utf8.RuneCount(text)) {
		return false
	}
	return p.enum == nil || slices.ContainsFunc(p.enum, func(allowed string) bool { return allowed == string(text) })
}

func (s *textScanner) acceptArray(p *plain) bool {
	items := p.items
	if items == nil {
		items = &anything
	}
	s.at++
	n := 0
	for s.next() != ']' {
		if n > 0 {
			s.at++ // the comma
		}
		if !s.accept(items) {
			return false
		}
		n++
	}
	s.at++
	return p.count.allow(n)
}

// anything accepts every value.
var anything = plain{length: limits{most: -1}, count: limits{most: -1}}

func (s *textScanner) acceptObject(p *plain) bool {
	s.at++
	var there uint64
	for first := true; s.next() != '}'; first = false {
		if !first {
			s.at++ // the comma
			s.next()
		}
		name, literal := s.readString()
		if !literal || !utf8.Valid(name) {
			return false
		}
		s.next()
		s.at++ // the colon
		value := p.others
		if i := p.indexOf(name); i >= 0 {
			there |= 1 << i
			value = p.properties[i].schema
		} else if p.closed {
			return false
		}
		if value == nil {
			value = &anything
		}
		if !s.accept(value) {
			return false
		}
	}
	s.at++
	return there&p.required == p.required
}

func (p *plain) indexOf(name []byte) int {
	for i := range p.properties {
		if p.properties[i].name == string(name) {
			return i
		}
	}
	return -1
}
