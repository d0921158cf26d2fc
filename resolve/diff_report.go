package resolve

import (
	"strings"

	"github.com/agentruntime/agentruntime/diag"
)

// DiffReport describes the effect of a change on the agents. "runtime diff --format json" prints
// it.
type DiffReport struct {
	// Same is set when nothing differs. Widened is set when an agent may do or use more than
	// before.
	Same    bool `json:"same"`
	Widened bool `json:"widened"`
	// Lost is set if an agent was removed or may no longer call a tool.
	Lost   bool        `json:"lost,omitempty"`
	Agents []AgentDiff `json:"agents"`
	// Entries are the other differences between the configurations, such as workflows.
	Entries []EntryChange `json:"entries,omitempty"`
}

// NewDiffReport returns the report of Diff's results.
func NewDiffReport(diffs []AgentDiff) *DiffReport {
	r := &DiffReport{Same: len(diffs) == 0, Agents: append([]AgentDiff{}, diffs...)}
	for i := range diffs {
		r.Widened = r.Widened || diffs[i].Widened()
		r.Lost = r.Lost || len(diffs[i].Lost()) > 0
	}
	return r
}

// AddEntries adds the differing document entries to a report, except the entries of agents that
// are already listed.
func (r *DiffReport) AddEntries(before, after []byte) error {
	changes, err := CompareDocuments(before, after)
	if err != nil {
		return err
	}
	shown := make(map[string]bool)
	for i := range r.Agents {
		shown[diag.Key("agents", r.Agents[i].Agent)] = true
	}
	for _, c := range changes {
		if !shown[strings.TrimPrefix(c.Path, "patches.")] {
			r.Entries = append(r.Entries, c)
		}
	}
	r.Same = len(r.Agents)+len(r.Entries) == 0
	return nil
}
