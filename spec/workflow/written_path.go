package workflow

import (
	"strings"

	"github.com/agentruntime/agentruntime/diag"
)

// writtenPath is the path of a field in a workflow and in the record it was translated from.
type writtenPath struct{ own, written string }

func (w *Workflow) addWritten(own, written string) {
	w.written = append(w.written, writtenPath{own, written})
}

// AsWritten returns diagnostics with the paths of the record that the workflow was translated from.
// Paths are relative to the workflow; without a translation they are unchanged.
func (w *Workflow) AsWritten(list diag.List) diag.List {
	for i := range list {
		list[i].Path = w.WrittenPath(list[i].Path)
	}
	return list
}

// WrittenPath returns a path translated as in AsWritten.
func (w *Workflow) WrittenPath(path string) string {
	var longest writtenPath
	for _, p := range w.written {
		rest, below := strings.CutPrefix(path, p.own)
		if below && (rest == "" || rest[0] == '.' || rest[0] == '[') && len(p.own) > len(longest.own) {
			longest = p
		}
	}
	return longest.written + strings.TrimPrefix(path, longest.own)
}
