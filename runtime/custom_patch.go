package runtime

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/event"
)

// The operations of a patch.
const (
	opAdd     = "add"
	opRemove  = "remove"
	opReplace = "replace"
)

// DiffCustom returns how the application's state changed, or nil if it did not: the
// operations add, remove and replace, the members of an object in the order of their
// names, and the elements of a list by their index. Both states are compact JSON; nothing is
// null. Numbers are the same if they are spelled the same.
//
// Only what differs is decoded: most of a large state is compared as bytes.
func DiffCustom(from, to json.RawMessage) []event.PatchOperation {
	var d differ
	d.diff(documentOf(from), documentOf(to), "")
	return d.patch
}

func replaceWhole(custom json.RawMessage) event.PatchOperation {
	return event.PatchOperation{Op: opReplace, Value: documentOf(custom)}
}

// documentOf returns a state as a document: null if it is empty.
func documentOf(custom json.RawMessage) json.RawMessage {
	if len(custom) == 0 {
		return json.RawMessage("null")
	}
	return custom
}

// differ collects the differences of two documents.
type differ struct{ patch []event.PatchOperation }

// diff adds how a value at a path changed.
func (d *differ) diff(from, to json.RawMessage, path string) {
	switch {
	case bytes.Equal(from, to):
	case from[0] == '{' && to[0] == '{':
		d.diffObjects(from, to, path)
	case from[0] == '[' && to[0] == '[':
		d.diffLists(from, to, path)
	case from[0] == '"' && to[0] == '"' && sameText(from, to): // another spelling
	default:
		d.add(opReplace, path, to)
	}
}

// add adds an operation.
func (d *differ) add(op, path string, value json.RawMessage) {
	d.patch = append(d.patch, event.PatchOperation{Op: op, Path: path, Value: bytes.Clone(value)})
}

// member is a member of an object.
type member struct {
	name  string
	value json.RawMessage
}

// diffObjects adds how the members of an object changed.
func (d *differ) diffObjects(from, to json.RawMessage, path string) {
	before, after := membersOf(from), membersOf(to)
	for len(before) > 0 || len(after) > 0 {
		order := 0
		switch {
		case len(before) == 0:
			order = 1
		case len(after) == 0:
			order = -1
		default:
			order = strings.Compare(before[0].name, after[0].name)
		}
		switch {
		case order < 0:
			d.add(opRemove, path+"/"+escapePointer(before[0].name), nil)
		case order > 0:
			d.add(opAdd, path+"/"+escapePointer(after[0].name), after[0].value)
		case !bytes.Equal(before[0].value, after[0].value):
			d.diff(before[0].value, after[0].value, path+"/"+escapePointer(before[0].name))
		}
		if order <= 0 {
			before = before[1:]
		}
		if order >= 0 {
			after = after[1:]
		}
	}
}

// diffLists adds how the elements of a list changed.
func (d *differ) diffLists(from, to json.RawMessage, path string) {
	before, after := elementsOf(from), elementsOf(to)
	for i := len(before) - 1; i >= len(after); i-- {
		d.add(opRemove, path+"/"+strconv.Itoa(i), nil)
	}
	for i := range min(len(before), len(after)) {
		if !bytes.Equal(before[i], after[i]) {
			d.diff(before[i], after[i], path+"/"+strconv.Itoa(i))
		}
	}
	for i := len(before); i < len(after); i++ {
		d.add(opAdd, path+"/-", after[i])
	}
}

// membersOf returns the members of a compact object, in the order of their names. Of two
// with the same name the last one counts.
func membersOf(object json.RawMessage) []member {
	var list []member
	for i := 1; object[i] != '}'; {
		end := skipValue(object, i)
		m := member{name: textOf(object[i:end])}
		i = end + 1
		end = skipValue(object, i)
		m.value = object[i:end]
		list = append(list, m)
		if i = end; object[i] == ',' {
			i++
		}
	}
	byName := func(a, b member) int { return cmp.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(list, byName) {
		slices.SortStableFunc(list, byName)
	}
	kept := list[:0]
	for i := range list {
		if i+1 == len(list) || list[i+1].name != list[i].name {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// elementsOf returns the elements of a compact list.
func elementsOf(list json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	for i := 1; list[i] != ']'; {
		end := skipValue(list, i)
		out = append(out, list[i:end])
		if i = end; list[i] == ',' {
			i++
		}
	}
	return out
}

// skipValue returns the end of the value that begins at i, in compact JSON.
func skipValue(raw json.RawMessage, i int) int {
	switch raw[i] {
	case '"':
		return skipText(raw, i)
	case '{', '[':
	default:
		for i < len(raw) && raw[i] != ',' && raw[i] != '}' && raw[i] != ']' {
			i++
		}
		return i
	}
	for depth := 0; ; i++ {
		switch raw[i] {
		case '"':
			i = skipText(raw, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// skipText returns the end of the string that begins at i.
func skipText(raw json.RawMessage, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(raw[i:], '"')
		escapes := 0
		for raw[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// textOf returns the text of a JSON string.
func textOf(quoted json.RawMessage) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // it is part of valid JSON
	return text
}

// sameText reports whether two JSON strings are the same text.
func sameText(a, b json.RawMessage) bool { return textOf(a) == textOf(b) }

// escapePointer returns a name as a part of a JSON Pointer.
func escapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
