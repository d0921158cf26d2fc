package permission

import (
	"strconv"
	"strings"
)

// path leads to values in the arguments of a call.
type path []step

// step is one step of a path: to a key or any key of an object, or to an
// element or any element of a list.
type step struct {
	key   string
	index int
	kind  stepKind
}

type stepKind uint8

const (
	toKey stepKind = iota
	toAnyKey
	toElement
	toAnyElement
)

// walk calls visit with each value that the path leads to, until visit returns
// false. It returns false when visit did. The order is that of no particular
// kind.
func (p path) walk(v any, visit func(v any) bool) bool {
	if len(p) == 0 {
		return visit(v)
	}
	switch s := p[0]; s.kind {
	case toKey:
		if object, ok := v.(map[string]any); ok {
			if value, ok := object[s.key]; ok {
				return p[1:].walk(value, visit)
			}
		}
	case toAnyKey:
		object, _ := v.(map[string]any)
		for _, value := range object {
			if !p[1:].walk(value, visit) {
				return false
			}
		}
	case toElement:
		if list, ok := v.([]any); ok && s.index < len(list) {
			return p[1:].walk(list[s.index], visit)
		}
	case toAnyElement:
		list, _ := v.([]any)
		for _, value := range list {
			if !p[1:].walk(value, visit) {
				return false
			}
		}
	}
	return true
}

// String returns the path as a rule has it.
func (p path) String() string {
	var b strings.Builder
	for i, s := range p {
		if i > 0 && (s.kind == toKey || s.kind == toAnyKey) {
			b.WriteByte('.')
		}
		switch s.kind {
		case toKey:
			b.WriteString(s.key)
		case toAnyKey:
			b.WriteByte('*')
		case toElement:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case toAnyElement:
			b.WriteString("[*]")
		}
	}
	return b.String()
}
