package resolve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
)

// EntryChange is a changed document entry, or a section without entries.
type EntryChange struct {
	Kind ChangeKind `json:"kind"`
	// Path is its path in the document, as in workflows.digest.
	Path string `json:"path"`
}

// orderPath is reported if only the order of entries differs.
const orderPath = "order"

// CompareDocuments returns the entries that differ between two documents, ordered by path.
// Documents that are not byte-for-byte equal differ in at least one entry. An empty document has no
// entries.
func CompareDocuments(before, after []byte) ([]EntryChange, error) {
	if bytes.Equal(before, after) {
		return nil, nil
	}
	old, err := documentEntries(before)
	if err != nil {
		return nil, fmt.Errorf("before the change: %w", err)
	}
	fresh, err := documentEntries(after)
	if err != nil {
		return nil, fmt.Errorf("after the change: %w", err)
	}
	var list []EntryChange
	for path, value := range old {
		switch now, ok := fresh[path]; {
		case !ok:
			list = append(list, EntryChange{Removed, path})
		case !bytes.Equal(value, now):
			list = append(list, EntryChange{Changed, path})
		}
	}
	for path := range fresh {
		if _, ok := old[path]; !ok {
			list = append(list, EntryChange{Added, path})
		}
	}
	if len(list) == 0 {
		list = append(list, EntryChange{Changed, orderPath})
	}
	slices.SortFunc(list, func(a, b EntryChange) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// documentEntries returns the entries of a document's sections and patches by path. Documents are
// canonical, so the entries can be compared as text.
func documentEntries(document []byte) (map[string]json.RawMessage, error) {
	entries := make(map[string]json.RawMessage)
	if len(document) == 0 {
		return entries, nil
	}
	var sections map[string]json.RawMessage
	if err := json.Unmarshal(document, &sections); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	for name, section := range sections {
		switch name {
		case "version": // of the format
		case "patches":
			addEntries(entries, name, section, 2)
		default:
			addEntries(entries, name, section, 1)
		}
	}
	return entries, nil
}

// addEntries adds the entries of a section, down to the given depth.
func addEntries(entries map[string]json.RawMessage, path string, value json.RawMessage, depth int) {
	var below map[string]json.RawMessage
	if depth == 0 || len(value) == 0 || value[0] != '{' || json.Unmarshal(value, &below) != nil || len(below) == 0 {
		entries[path] = value
		return
	}
	for name, one := range below {
		addEntries(entries, diag.Key(path, name), one, depth-1)
	}
}
