package runtime

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// The operations of a patch.
const (
	opAdd     = "add"
	opRemove  = "remove"
	opReplace = "replace"
)

// DiffCustom returns the changes to the application's state, or nil if absent: the operations add,
// remove and replace, the members of an object ordered by name, and the elements of a list by
// index. Both states are compact JSON; nothing is null. Numbers are equal if spelled the same.
//
// Only differing parts are decoded: most of a large state is compared as bytes.
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

// diff adds the changes to a value at a path.
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

// diffObjects adds the changes to an object's members.
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
			order = strings.Compare(before[0].Name, after[0].Name)
		}
		switch {
		case order < 0:
			d.add(opRemove, path+"/"+escapePointer(before[0].Name), nil)
		case order > 0:
			d.add(opAdd, path+"/"+escapePointer(after[0].Name), after[0].Value)
		case !bytes.Equal(before[0].Value, after[0].Value):
			d.diff(before[0].Value, after[0].Value, path+"/"+escapePointer(before[0].Name))
		}
		if order <= 0 {
			before = before[1:]
		}
		if order >= 0 {
			after = after[1:]
		}
	}
}

// diffLists adds the changes to a list's elements.
func (d *differ) diffLists(from, to json.RawMessage, path string) {
	before, after := slices.Collect(rawjson.Elements(from)), slices.Collect(rawjson.Elements(to))
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

// membersOf returns the members of a compact object, ordered by name. Of two members with the same
// name the last one counts.
func membersOf(object json.RawMessage) []rawjson.Member {
	var list []rawjson.Member
	for name, value := range rawjson.Entries(object) {
		list = append(list, rawjson.Member{Name: name, Value: value})
	}
	byName := func(a, b rawjson.Member) int { return cmp.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(list, byName) {
		slices.SortStableFunc(list, byName)
	}
	kept := list[:0]
	for i := range list {
		if i+1 == len(list) || list[i+1].Name != list[i].Name {
			kept = append(kept, list[i])
		}
	}
	return kept
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

// sameText reports whether two JSON strings have the same text.
func sameText(a, b json.RawMessage) bool { return textOf(a) == textOf(b) }

// escapePointer escapes a name for use in a JSON Pointer.
func escapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
