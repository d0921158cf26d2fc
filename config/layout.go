package config

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// layout holds the positions of a document's parts, for a document from Document or in the same
// form. It refers to the text without copying it.
type layout struct {
	text     []byte
	sections []placedSection
}

// placedSection is a top-level key with its value; entries are set for a registry.
type placedSection struct {
	name    string
	at      span
	entries []span
}

// span is the position of an object member: its key with the quotes, and its value.
type span struct{ key, keyEnd, value, end int32 }

// layoutOf finds the parts of a document. ok is false unless the document has the form, members
// and order that Document writes. It does not look inside entries.
func layoutOf(text []byte) (l *layout, ok bool) {
	const begin = `{"version":1`
	if len(text) >= yamltree.MaxFileSize || !bytes.HasPrefix(text, []byte(begin)) {
		return nil, false
	}
	l = &layout{text: text}
	known := keys.Declared
	at := len(begin)
	for at < len(text) && text[at] == ',' {
		m, ok := l.memberAt(at + 1)
		if !ok {
			return nil, false
		}
		s := placedSection{name: string(text[m.key+1 : m.keyEnd-1]), at: m}
		place := slices.Index(known, s.name)
		if place < 0 {
			return nil, false
		}
		known = known[place+1:]
		if keys.RegistryNamed(s.name) != nil {
			if s.entries, ok = l.membersOf(m); !ok {
				return nil, false
			}
		}
		l.sections = append(l.sections, s)
		at = int(m.end)
	}
	return l, at == len(text)-1 && text[at] == '}'
}

// membersOf finds the members of a nonempty object.
func (l *layout) membersOf(of span) ([]span, bool) {
	if l.text[of.value] != '{' || of.end-of.value < 3 {
		return nil, false
	}
	var list []span
	for at := int(of.value); l.text[at] != '}' || at == int(of.value); {
		m, ok := l.memberAt(at + 1)
		if !ok || m.end >= of.end || l.text[m.end] != ',' && l.text[m.end] != '}' {
			return nil, false
		}
		list = append(list, m)
		at = int(m.end)
	}
	return list, int(list[len(list)-1].end) == int(of.end)-1
}

// memberAt finds the object member at a position.
func (l *layout) memberAt(at int) (m span, ok bool) {
	end, ok := l.skipText(at)
	if !ok || end >= len(l.text) || l.text[end] != ':' {
		return m, false
	}
	last, ok := l.skipValue(end + 1)
	return span{int32(at), int32(end), int32(end + 1), int32(last)}, ok //nolint:gosec // a document is not that large
}

// skipText returns the end of the text whose opening quote is at a position.
func (l *layout) skipText(at int) (end int, ok bool) {
	if at >= len(l.text) || l.text[at] != '"' {
		return 0, false
	}
	for i := at + 1; ; i++ {
		next := bytes.IndexByte(l.text[i:], '"')
		if next < 0 {
			return 0, false
		}
		i += next
		escapes := i
		for l.text[escapes-1] == '\\' {
			escapes--
		}
		if (i-escapes)%2 == 0 {
			return i + 1, true
		}
	}
}

// skipValue returns the end of the value at a position.
func (l *layout) skipValue(at int) (end int, ok bool) {
	depth := 0
	for i := at; i < len(l.text); {
		switch l.text[i] {
		case '"':
			if i, ok = l.skipText(i); !ok {
				return 0, false
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i, i > at
			}
			depth--
			i++
		case ',':
			if depth == 0 {
				return i, i > at
			}
			i++
		case ' ', '\n', '\t', '\r':
			return 0, false
		default:
			i++
			continue
		}
		if depth == 0 && (l.text[i-1] == '}' || l.text[i-1] == ']' || l.text[i-1] == '"') {
			return i, true
		}
	}
	return 0, false
}

// section returns a section by its name, or nil.
func (l *layout) section(name string) *placedSection {
	for i := range l.sections {
		if l.sections[i].name == name {
			return &l.sections[i]
		}
	}
	return nil
}

// find returns the index of a registry's entry, or -1.
func (l *layout) find(s *placedSection, id string) int {
	if s == nil {
		return -1
	}
	key := quoteKey(id)
	return slices.IndexFunc(s.entries, func(m span) bool { return string(l.text[m.key:m.keyEnd]) == key })
}

// quoteKey returns an id as the key of an entry.
func quoteKey(id string) string {
	var w rawjson.Writer
	w.WriteText(id)
	return w.String()
}

func (l *layout) keyOf(m span) []byte   { return l.text[m.key:m.keyEnd] }
func (l *layout) valueOf(m span) []byte { return l.text[m.value:m.end] }

// idOf returns the id of an entry.
func (l *layout) idOf(m span) string {
	key := l.keyOf(m)
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key[1 : len(key)-1])
	}
	var id string
	_ = json.Unmarshal(key, &id) // it was written as JSON
	return id
}

// withEntry returns the document with a JSON value that replaces an entry, or follows all others if
// at is negative.
func (l *layout) withEntry(s *placedSection, at int, id string, value []byte) []byte {
	last := int(s.entries[len(s.entries)-1].end)
	out := bytes.NewBuffer(make([]byte, 0, len(l.text)+len(value)+len(id)))
	if at >= 0 {
		out.Write(l.text[:s.entries[at].value])
		last = int(s.entries[at].end)
	} else {
		out.Write(l.text[:last])
		out.WriteByte(',')
		out.WriteString(quoteKey(id))
		out.WriteByte(':')
	}
	_ = json.Compact(out, value) // it is valid
	out.Write(l.text[last:])
	return out.Bytes()
}

// withoutEntry returns the document without one of several entries.
func (l *layout) withoutEntry(s *placedSection, at int) []byte {
	from, to := s.entries[at].key, s.entries[at].end+1 // with the comma after it
	if at == len(s.entries)-1 {
		from, to = from-1, to-1
	}
	return slices.Concat(l.text[:from], l.text[to:])
}
