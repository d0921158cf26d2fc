package agentruns

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// refFields are the fields of a tool reference by its kind.
var refFields = map[string][]string{
	kindMantyx: namesOf(mantyxTool{}), kindPlugin: namesOf(pluginTool{}), kindLocal: namesOf(localTool{}), kindA2A: namesOf(a2aTool{}),
	kindMCP: namesOf(mcpServerTool{}), kindA2ALocal: namesOf(a2aLocalTool{}), kindMCPLocal: namesOf(mcpLocalTool{}),
}

// clientToolFields are the fields of a tool as listed by an MCP server, which clients pass on.
// The last ones only affect the client.
var clientToolFields = []string{
	"name", "description", "inputSchema", "outputSchema",
	"title", "annotations", "icons", "execution", "_meta",
}

// unknownRefFields returns a warning for each field of a tool reference that has no effect. A field
// that resembles one of its kind is an error. Case is ignored, as in decoding. Cards and serverInfo
// are passed on unchecked.
func unknownRefFields(path string, raw json.RawMessage) ([]warning, error) {
	var read toolRef
	var known []string
	if json.Unmarshal(raw, &read) == nil {
		known = refFields[read.Kind]
	}
	if known == nil {
		return nil, nil
	}
	ref, foreign := objectOf(raw), foreignRefFields(known)
	var list []warning
	for _, name := range slices.Sorted(maps.Keys(ref)) {
		switch {
		case containsFold(known, name):
			delete(ref, name)
		case containsFold(foreign, name):
			list = append(list, warning{path + "." + name, fmt.Sprintf("a tool of kind %s has no such field: it has no effect", read.Kind)})
			delete(ref, name)
		}
	}
	more, err := ref.warnUnknown(path, known...)
	if err != nil {
		return nil, err
	}
	list = append(list, more...)
	if read.Kind != kindMCPLocal {
		return list, nil
	}
	var with struct {
		Tools []fields `json:"tools"`
	}
	_ = json.Unmarshal(raw, &with) // it was read as a reference
	for i, tool := range with.Tools {
		maps.DeleteFunc(tool, func(name string, value json.RawMessage) bool {
			return isNull(value) || containsFold(clientToolFields, name)
		})
		more, err := tool.warnUnknown(fmt.Sprintf("%s.tools[%d]", path, i), clientToolFields...)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

func containsFold(names []string, name string) bool {
	return slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(name, other) })
}

// foreignRefFields returns the fields of other kinds, in order.
func foreignRefFields(known []string) []string {
	var names []string
	for _, fields := range refFields {
		for _, name := range fields {
			if !slices.Contains(known, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// objectOf returns the fields of an object that are not null; nil if raw is not an
// object.
func objectOf(raw json.RawMessage) fields {
	object, err := fields{"": raw}.readObject("")
	if err != nil {
		return nil
	}
	return object
}
