package spec

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
)

// RequestEdits changes the JSON bodies of requests to a vendor. The provider's edits apply first,
// then the model's and the agent's.
type RequestEdits struct {
	Set  map[string]json.RawMessage `json:"set,omitempty" doc:"Fields to add or replace, by name. Objects are merged into the request's. A later set of a model or an agent restores a field that an earlier omit removed."`
	Omit []string                   `json:"omit,omitempty" doc:"Fields to omit, such as stream_options. A dot leads into an object or the objects of a list: tools.function.strict. The name of an optional field alone, such as strict, omits it everywhere."`
}

// essentialFields must not be edited: without them the request means something else, or its
// answer cannot be read.
var essentialFields = []string{
	"model", "messages", "input", "contents", "system", "instructions", "systemInstruction", "stream", "tools", "toolConfig",
}

// essentialParts are the nested fields without which a message or tool changes its meaning.
var essentialParts = []string{
	"role", "content", "parts", "text", "type", "name", "function", "arguments", "parameters", "input_schema", "inputSchema",
	"tool_calls", "tool_call_id", "call_id", "tool_use_id", "toolUse", "toolResult", "toolUseId", "functionCall", "functionResponse",
}

// isEssential reports whether a path names an essential field, or an essential part of one.
func isEssential(path string) bool {
	names := strings.Split(path, ".")
	return slices.Contains(essentialFields, names[0]) && (len(names) == 1 || slices.Contains(essentialParts, names[len(names)-1]))
}

// Validate checks the record by itself. Paths are relative to the record.
func (e *RequestEdits) Validate() diag.List {
	var list diag.List
	for _, name := range slices.Sorted(maps.Keys(e.Set)) {
		path := diag.Key("set", name)
		switch {
		case name == "":
			list = append(list, diag.New(diag.InvalidValue, path, "a field needs a name"))
		case strings.Contains(name, "."):
			list = append(list, diag.New(diag.InvalidValue, path, "%q is not a field: names of set have no dots", name).
				WithHint("write the objects: %s: …%s", strings.ReplaceAll(name, ".", ": {"), strings.Repeat("}", strings.Count(name, "."))))
		case slices.Contains(essentialFields, name):
			list = append(list, diag.New(diag.InvalidValue, path, "%s cannot be set: the runtime writes it", name))
		case !json.Valid(e.Set[name]):
			list = append(list, diag.New(diag.InvalidValue, path, "%s is not valid JSON", name))
		}
	}
	for i, path := range e.Omit {
		at := diag.Index("omit", i)
		switch {
		case path == "" || slices.Contains(strings.Split(path, "."), ""):
			list = append(list, diag.New(diag.InvalidValue, at, "%q is not a field: names are separated by single dots", path))
		case isEssential(path):
			list = append(list, diag.New(diag.InvalidValue, at, "%s cannot be left out: without it the runtime cannot ask the model or read its answer", path))
		}
	}
	return list
}

// Merge returns the edits followed by those in over. Both may be nil.
func (e *RequestEdits) Merge(over *RequestEdits) *RequestEdits {
	if e == nil || over == nil {
		if e == nil {
			return over
		}
		return e
	}
	merged := &RequestEdits{Set: maps.Clone(e.Set)}
	for _, path := range e.Omit {
		if root, _, _ := strings.Cut(path, "."); over.Set[root] == nil {
			merged.Omit = append(merged.Omit, path)
		}
	}
	for _, path := range over.Omit {
		delete(merged.Set, path)
		merged.Omit = append(merged.Omit, path)
	}
	if merged.Set == nil && len(over.Set) > 0 {
		merged.Set = make(map[string]json.RawMessage, len(over.Set))
	}
	maps.Copy(merged.Set, over.Set)
	return merged
}
