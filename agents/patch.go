package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/runtime"
)

// ApplyPatch applies a patch of custom state to a JSON document, as clients do. It creates missing
// parents and ignores removals of missing members, so that a client that lost a patch can apply the
// next one.
func ApplyPatch(document json.RawMessage, patch []wire.PatchOp) (json.RawMessage, error) {
	if len(patch) > 0 && patch[0].Path == "" && (patch[0].Op == "replace" || patch[0].Op == "add") {
		document, patch = patch[0].Value, patch[1:]
	}
	if len(patch) == 0 {
		return document, nil
	}
	root, err := decodeCustom[any](document)
	if err != nil {
		return nil, fmt.Errorf("decode the document: %w", err)
	}
	room := maxPatchWork
	for i := range patch {
		if root, err = applyOp(root, &patch[i], &room); err != nil {
			return nil, fmt.Errorf("operation %d, %s %q: %w", i+1, patch[i].Op, patch[i].Path, err)
		}
	}
	return json.Marshal(root)
}

// Diff returns the patch that turns one JSON document into another, for programs that keep
// a copy of a custom state. It uses add, remove and replace only.
func Diff(from, to json.RawMessage) []wire.PatchOp { return toPatch(runtime.DiffCustom(from, to)) }

// maxPatchWork bounds the encoded size of everything a patch's operations copy and test, in
// bytes.
const maxPatchWork = 4 << 20

// encodeWithin encodes a decoded value and subtracts its size from room.
func encodeWithin(room *int, value any) ([]byte, error) {
	encoded, _ := json.Marshal(value)
	if *room -= len(encoded); *room < 0 {
		return nil, fmt.Errorf("the patch copies and tests more than %d bytes", maxPatchWork)
	}
	return encoded, nil
}

// applyOp applies one operation. room is the number of bytes it may encode.
func applyOp(root any, op *wire.PatchOp, room *int) (any, error) {
	path, err := parsePointer(op.Path)
	if err != nil {
		return nil, err
	}
	switch op.Op {
	case "add", "replace":
		value, err := decodeCustom[any](op.Value)
		if err != nil {
			return nil, err
		}
		return putAt(root, path, value, op.Op == "add")
	case "remove":
		return removeAt(root, path), nil
	case "move", "copy":
		from, err := parsePointer(op.From)
		if err != nil {
			return nil, err
		}
		value, found := valueAt(root, from)
		if !found {
			return root, nil
		}
		if op.Op == "move" {
			root = removeAt(root, from)
		} else {
			encoded, err := encodeWithin(room, value)
			if err != nil {
				return nil, err
			}
			value, _ = decodeCustom[any](encoded)
		}
		return putAt(root, path, value, true)
	case "test":
		value, _ := valueAt(root, path)
		encoded, err := encodeWithin(room, value)
		if err != nil {
			return nil, err
		}
		if !sameJSON(encoded, json.RawMessage(cmp.Or(string(op.Value), "null"))) {
			return nil, fmt.Errorf("the value is %s", encoded)
		}
		return root, nil
	default:
		return nil, fmt.Errorf("unknown operation %q", op.Op)
	}
}

// parsePointer returns the tokens of a JSON Pointer.
func parsePointer(pointer string) ([]string, error) {
	if pointer == "" {
		return nil, nil
	}
	if pointer[0] != '/' {
		return nil, fmt.Errorf("the path %q does not begin with a slash", pointer)
	}
	tokens := strings.Split(pointer[1:], "/")
	for i := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(tokens[i], "~1", "/"), "~0", "~")
	}
	return tokens, nil
}

// valueAt returns the value at a path.
func valueAt(at any, path []string) (any, bool) {
	for _, token := range path {
		switch parent := at.(type) {
		case map[string]any:
			child, ok := parent[token]
			if !ok {
				return nil, false
			}
			at = child
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(parent) {
				return nil, false
			}
			at = parent[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// putAt puts a value at a path and creates missing parent objects. insert shifts later list
// elements up.
func putAt(at any, path []string, value any, insert bool) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	token, rest := path[0], path[1:]
	if list, ok := at.([]any); ok {
		return putInList(list, token, rest, value, insert)
	}
	object, ok := at.(map[string]any)
	if !ok {
		object = make(map[string]any)
	}
	child, err := putAt(object[token], rest, value, insert)
	if err != nil {
		return nil, err
	}
	object[token] = child
	return object, nil
}

// putInList puts a value at a path that begins in a list.
func putInList(list []any, token string, rest []string, value any, insert bool) (any, error) {
	i := len(list)
	if token != "-" {
		var err error
		if i, err = strconv.Atoi(token); err != nil || i < 0 || i > len(list) {
			return nil, fmt.Errorf("there is no element %q", token)
		}
	}
	if len(rest) == 0 && insert || i == len(list) {
		child, err := putAt(nil, rest, value, insert)
		if err != nil {
			return nil, err
		}
		list = append(list, nil)
		copy(list[i+1:], list[i:])
		list[i] = child
		return list, nil
	}
	child, err := putAt(list[i], rest, value, insert)
	if err != nil {
		return nil, err
	}
	list[i] = child
	return list, nil
}

// removeAt removes the value at a path, if there is one.
func removeAt(at any, path []string) any {
	if len(path) == 0 {
		return nil
	}
	switch parent := at.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(parent, path[0])
		} else if child, ok := parent[path[0]]; ok {
			parent[path[0]] = removeAt(child, path[1:])
		}
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(parent) {
			return at
		}
		if len(path) == 1 {
			return append(parent[:i], parent[i+1:]...)
		}
		parent[i] = removeAt(parent[i], path[1:])
	}
	return at
}

// toPatch returns a patch of an event as clients see it.
func toPatch(list []event.PatchOperation) []wire.PatchOp {
	out := make([]wire.PatchOp, len(list))
	for i := range list {
		out[i] = wire.PatchOp{Op: list[i].Op, Path: list[i].Path, Value: list[i].Value}
	}
	return out
}
