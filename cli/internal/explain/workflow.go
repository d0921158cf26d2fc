package explain

import (
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec/workflow"
)

// Workflow is the output of explain for a workflow, for programs.
type Workflow struct {
	Workflow    string         `json:"workflow"`
	Description string         `json:"description,omitempty"`
	Starts      []string       `json:"starts"`
	Steps       []WorkflowStep `json:"steps"`
	Diagnostics diag.List      `json:"diagnostics,omitempty"`
}

// WorkflowStep is a step of a workflow.
type WorkflowStep struct {
	ID        string   `json:"id"`
	Does      string   `json:"does"`
	When      string   `json:"when,omitempty"`
	DependsOn []string `json:"dependsOn,omitempty"`
	Timeout   string   `json:"timeout"`
	Attempts  int      `json:"attempts"`
}

// NewWorkflow describes a workflow and the diagnostics about it.
func NewWorkflow(w *workflow.Workflow, found diag.List) *Workflow {
	v := &Workflow{Workflow: w.ID, Description: w.Description, Starts: append([]string{}, w.Starts()...), Steps: []WorkflowStep{}, Diagnostics: found}
	steps := w.AllSteps()
	for i := range steps {
		s := &steps[i]
		one := WorkflowStep{ID: s.ID, Does: s.Does(), DependsOn: s.DependsOn(), Timeout: s.TimeLimit().String(), Attempts: s.Attempts()}
		if s.When != nil {
			one.When = s.When.Text()
		}
		v.Steps = append(v.Steps, one)
	}
	return v
}

// DrawWorkflow draws a workflow as a flowchart: solid arrows are the order of the steps,
// thick ones carry data.
func DrawWorkflow(w *workflow.Workflow, redact func(string) string) string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	starts := w.Starts()
	for i, start := range starts {
		fmt.Fprintf(&b, "  t%d([\"%s\"])\n", i+1, mermaidText(redact(start)))
	}
	steps := w.AllSteps()
	for i := range steps {
		s := &steps[i]
		text := s.ID + ": " + s.Does()
		if s.When == nil {
			fmt.Fprintf(&b, "  s%d[\"%s\"]\n", i+1, mermaidText(redact(text)))
			continue
		}
		fmt.Fprintf(&b, "  s%d{{\"%s\"}}\n", i+1, mermaidText(redact(text+", when "+s.When.Text())))
	}
	for i := range starts {
		if len(steps) > 0 {
			fmt.Fprintf(&b, "  t%d --> s1\n", i+1)
		}
	}
	for _, a := range w.Arrows() {
		line := "-->"
		if a.Data {
			line = "==>"
		}
		fmt.Fprintf(&b, "  s%d %s s%d\n", a.From+1, line, a.To+1)
	}
	return b.String()
}
