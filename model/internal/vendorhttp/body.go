package vendorhttp

import (
	"bytes"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/spec"
)

// bodyEdit changes a value in a request body. The zero value changes nothing.
type bodyEdit struct {
	omit bool
	// name replaces the name of the member; empty to keep it.
	name string
	// set replaces the value, or is merged with it if both are objects.
	set json.RawMessage
	// members are the edits of the members of an object, or of the objects in a list.
	members map[string]*bodyEdit
}

// at returns the edit of the member at a path.
func (e *bodyEdit) at(path ...string) *bodyEdit {
	for _, name := range path {
		if e.members == nil {
			e.members = make(map[string]*bodyEdit, 1)
		}
		if e.members[name] == nil {
			e.members[name] = &bodyEdit{}
		}
		e = e.members[name]
	}
	return e
}

// omitPath omits the fields at a dotted path, in standard names or the server's names.
func (e *bodyEdit) omitPath(path string) {
	e.omitRenamed(path)
	*e.at(strings.Split(path, ".")...) = bodyEdit{omit: true}
}

// omitRenamed omits the member that is renamed to name.
func (e *bodyEdit) omitRenamed(name string) {
	for _, m := range e.members {
		if m.name == name {
			*m = bodyEdit{omit: true}
		}
	}
}

// renameMember renames a member.
func (e *bodyEdit) renameMember(from, to string) { *e.at(from) = bodyEdit{name: to} }

// setValue sets a member by name and, if the value is an object, its members.
func (e *bodyEdit) setValue(name string, value json.RawMessage) {
	e.omitRenamed(name)
	m := e.at(name)
	m.omit, m.name = false, ""
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return // not reached: validated
	}
	m.set = compact.Bytes()
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) == nil {
		for inner, v := range fields {
			m.setValue(inner, v)
		}
	}
}

// addEdits adds the configured edits.
func (e *bodyEdit) addEdits(edits *spec.RequestEdits) {
	if edits == nil {
		return
	}
	for _, path := range edits.Omit {
		e.omitPath(path)
		e.omitAliases(path)
	}
	for name, value := range edits.Set {
		if slices.Contains(outputLimits, name) {
			e.omitAliases(name)
		}
		e.setValue(name, value)
	}
}

// omitAliases omits a field under its other names and, if it is optional, in its usual places.
func (e *bodyEdit) omitAliases(name string) {
	if slices.Contains(outputLimits, name) {
		for _, other := range outputLimits {
			if m := e.at(other); other != name && m.set == nil {
				*m = bodyEdit{omit: true}
			}
		}
	} else if f := findOptional(name); f != nil {
		for _, path := range slices.Concat(f.paths, f.further) {
			e.omitPath(path)
		}
	}
}

// appendEdited appends a JSON value without white space, after applying the edit.
func (e *bodyEdit) appendEdited(out, value []byte) []byte {
	switch {
	case e.set != nil && (value[0] != '{' || e.set[0] != '{'):
		return append(out, e.set...)
	case len(e.members) == 0:
		return append(out, value...)
	case value[0] == '[':
		out = append(out, '[')
		for i, element := range elementsOf(value) {
			if i > 0 {
				out = append(out, ',')
			}
			out = e.appendEdited(out, element)
		}
		return append(out, ']')
	case value[0] != '{':
		return append(out, value...)
	}
	return e.appendObject(out, value)
}

func (e *bodyEdit) appendObject(out, object []byte) []byte {
	out = append(out, '{')
	start := len(out)
	addName := func(name string) {
		if len(out) > start {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), name...), `":`...)
	}
	found := make(map[string]bool, len(e.members))
	for name, value := range membersOf(object) {
		m := e.members[string(name)]
		switch {
		case m == nil:
			addName(string(name))
			out = append(out, value...)
			continue
		case m.omit:
		case m.name != "":
			addName(m.name)
			out = append(out, value...)
		default:
			addName(string(name))
			out = m.appendEdited(out, value)
		}
		found[string(name)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(e.members)) {
		if m := e.members[name]; m.set != nil && !found[name] {
			quoted, _ := json.Marshal(name) // a text always encodes
			addName(string(quoted[1 : len(quoted)-1]))
			out = append(out, m.set...)
		}
	}
	return append(out, '}')
}

// membersOf returns the escaped names and the values of an object without white space.
func membersOf(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for i := 1; i < len(object) && object[i] == '"'; i++ {
			name := valueEnd(object, i)
			end := valueEnd(object, min(name+1, len(object)))
			if end <= name+1 || !yield(object[i+1:name-1], object[name+1:end]) {
				return
			}
			i = end
		}
	}
}

// hasMember reports whether an object without white space has a member with a plain name.
func hasMember(object []byte, name string) bool {
	for member := range membersOf(object) {
		if string(member) == name {
			return true
		}
	}
	return false
}

// elementsOf returns the elements of a list without white space.
func elementsOf(list []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		n := 0
		for i := 1; i < len(list) && list[i] != ']'; i++ {
			end := valueEnd(list, i)
			if end <= i || !yield(n, list[i:end]) {
				return
			}
			i, n = end, n+1
		}
	}
}

// valueEnd returns the end of the value that begins at a position.
func valueEnd(data []byte, at int) int {
	depth := 0
	for i := at; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return min(i+1, len(data))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':':
			if depth == 0 {
				return i
			}
		}
	}
	return len(data)
}
