// Package document writes documents, the stored form of a configuration, and reads and changes their
// JSON text.
package document

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Layout holds the positions of a document's parts. It refers to the text without copying it.
type Layout struct {
	Text     []byte
	Sections []Section
}

// Section is a top-level key with its value; entries are set for a registry.
type Section struct {
	Name    string
	At      Member
	Entries []Member
}

// Member is the position of an object member: its key with the quotes, and its value.
type Member struct{ Key, KeyEnd, Value, End int32 }

// LayoutOf finds the parts of a document. ok is false unless the document has the form, members
// and order that config.File.Document writes. It does not look inside entries.
func LayoutOf(text []byte) (l *Layout, ok bool) {
	const begin = `{"version":1`
	if len(text) >= yamltree.MaxFileSize || !bytes.HasPrefix(text, []byte(begin)) {
		return nil, false
	}
	l = &Layout{Text: text}
	known := keys.Declared
	at := len(begin)
	for at < len(text) && text[at] == ',' {
		m, ok := l.memberAt(at + 1)
		if !ok {
			return nil, false
		}
		s := Section{Name: string(text[m.Key+1 : m.KeyEnd-1]), At: m}
		place := slices.Index(known, s.Name)
		if place < 0 {
			return nil, false
		}
		known = known[place+1:]
		if keys.RegistryNamed(s.Name) != nil {
			if s.Entries, ok = l.membersOf(m); !ok {
				return nil, false
			}
		}
		l.Sections = append(l.Sections, s)
		at = int(m.End)
	}
	return l, at == len(text)-1 && text[at] == '}'
}

// membersOf finds the members of a nonempty object.
func (l *Layout) membersOf(of Member) ([]Member, bool) {
	if l.Text[of.Value] != '{' || of.End-of.Value < 3 {
		return nil, false
	}
	var list []Member
	for at := int(of.Value); l.Text[at] != '}' || at == int(of.Value); {
		m, ok := l.memberAt(at + 1)
		if !ok || m.End >= of.End || l.Text[m.End] != ',' && l.Text[m.End] != '}' {
			return nil, false
		}
		list = append(list, m)
		at = int(m.End)
	}
	return list, int(list[len(list)-1].End) == int(of.End)-1
}

// memberAt finds the object member at a position.
func (l *Layout) memberAt(at int) (m Member, ok bool) {
	end, ok := l.skipText(at)
	if !ok || end >= len(l.Text) || l.Text[end] != ':' {
		return m, false
	}
	last, ok := l.skipValue(end + 1)
	return Member{int32(at), int32(end), int32(end + 1), int32(last)}, ok //nolint:gosec // a document is not that large
}

// skipText returns the end of the text whose opening quote is at a position.
func (l *Layout) skipText(at int) (end int, ok bool) {
	if at >= len(l.Text) || l.Text[at] != '"' {
		return 0, false
	}
	for i := at + 1; ; i++ {
		next := bytes.IndexByte(l.Text[i:], '"')
		if next < 0 {
			return 0, false
		}
		i += next
		escapes := i
		for l.Text[escapes-1] == '\\' {
			escapes--
		}
		if (i-escapes)%2 == 0 {
			return i + 1, true
		}
	}
}

// skipValue returns the end of the value at a position.
func (l *Layout) skipValue(at int) (end int, ok bool) {
	depth := 0
	for i := at; i < len(l.Text); {
		switch l.Text[i] {
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
		if depth == 0 && (l.Text[i-1] == '}' || l.Text[i-1] == ']' || l.Text[i-1] == '"') {
			return i, true
		}
	}
	return 0, false
}

// Section returns a section by its name, or nil.
func (l *Layout) Section(name string) *Section {
	for i := range l.Sections {
		if l.Sections[i].Name == name {
			return &l.Sections[i]
		}
	}
	return nil
}

// Find returns the index of a registry's entry, or -1.
func (l *Layout) Find(s *Section, id string) int {
	if s == nil {
		return -1
	}
	key := quoteKey(id)
	return slices.IndexFunc(s.Entries, func(m Member) bool { return string(l.Text[m.Key:m.KeyEnd]) == key })
}

// quoteKey returns an id as the key of an entry.
func quoteKey(id string) string {
	var w rawjson.Writer
	w.WriteText(id)
	return w.String()
}

// keyOf returns the key of a member, with its quotes.
func (l *Layout) keyOf(m Member) []byte { return l.Text[m.Key:m.KeyEnd] }

// ValueOf returns the value of a member.
func (l *Layout) ValueOf(m Member) []byte { return l.Text[m.Value:m.End] }

// IDOf returns the id of an entry.
func (l *Layout) IDOf(m Member) string {
	key := l.keyOf(m)
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key[1 : len(key)-1])
	}
	var id string
	_ = json.Unmarshal(key, &id) // it was written as JSON
	return id
}

// WithEntry returns the document with a JSON value that replaces an entry, or follows all others if
// at is negative.
func (l *Layout) WithEntry(s *Section, at int, id string, value []byte) []byte {
	last := int(s.Entries[len(s.Entries)-1].End)
	out := bytes.NewBuffer(make([]byte, 0, len(l.Text)+len(value)+len(id)))
	if at >= 0 {
		out.Write(l.Text[:s.Entries[at].Value])
		last = int(s.Entries[at].End)
	} else {
		out.Write(l.Text[:last])
		out.WriteByte(',')
		out.WriteString(quoteKey(id))
		out.WriteByte(':')
	}
	_ = json.Compact(out, value) // it is valid
	out.Write(l.Text[last:])
	return out.Bytes()
}

// WithoutEntry returns the document without one of several entries.
func (l *Layout) WithoutEntry(s *Section, at int) []byte {
	from, to := s.Entries[at].Key, s.Entries[at].End+1 // with the comma after it
	if at == len(s.Entries)-1 {
		from, to = from-1, to-1
	}
	return slices.Concat(l.Text[:from], l.Text[to:])
}
