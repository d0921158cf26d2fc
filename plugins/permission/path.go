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

// visitValues calls visit with each value at the path until visit returns false, and reports
// whether it never did. there is false where the path leads nowhere. An empty list or object has no
// values, none of which is missing. The order is unspecified.
func (p path) visitValues(v any, visit func(v any, there bool) bool) bool {
	if len(p) == 0 {
		return visit(v, true)
	}
	object, isObject := v.(map[string]any)
	list, isList := v.([]any)
	switch s := p[0]; s.kind {
	case toKey:
		if value, ok := object[s.key]; ok {
			return p[1:].visitValues(value, visit)
		}
	case toElement:
		if s.index < len(list) {
			return p[1:].visitValues(list[s.index], visit)
		}
	case toAnyKey:
		for _, value := range object {
			if !p[1:].visitValues(value, visit) {
				return false
			}
		}
		if isObject {
			return true
		}
	case toAnyElement:
		for _, value := range list {
			if !p[1:].visitValues(value, visit) {
				return false
			}
		}
		if isList {
			return true
		}
	}
	return visit(nil, false)
}

// String returns the path in rule syntax.
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
