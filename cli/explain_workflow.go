package cli

import (
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec/workflow"
)

// workflowView is the output of explain for a workflow, for programs.
type workflowView struct {
	Workflow    string         `json:"workflow"`
	Description string         `json:"description,omitempty"`
	Starts      []string       `json:"starts"`
	Steps       []workflowStep `json:"steps"`
	Diagnostics diag.List      `json:"diagnostics,omitempty"`
}

// workflowStep is a step of a workflow.
type workflowStep struct {
	ID        string   `json:"id"`
	Does      string   `json:"does"`
	When      string   `json:"when,omitempty"`
	DependsOn []string `json:"dependsOn,omitempty"`
	Timeout   string   `json:"timeout"`
	Attempts  int      `json:"attempts"`
}

// describeWorkflow describes a workflow and the diagnostics about it.
func describeWorkflow(w *workflow.Workflow, found diag.List) *workflowView {
	v := &workflowView{Workflow: w.ID, Description: w.Description, Starts: append([]string{}, w.Starts()...), Steps: []workflowStep{}, Diagnostics: found}
	steps := w.AllSteps()
	for i := range steps {
		s := &steps[i]
		one := workflowStep{ID: s.ID, Does: s.Does(), DependsOn: s.DependsOn(), Timeout: s.TimeLimit().String(), Attempts: s.Attempts()}
		if s.When != nil {
			one.When = s.When.Text()
		}
		v.Steps = append(v.Steps, one)
	}
	return v
}

// drawWorkflow draws a workflow as a flowchart: solid arrows are the order of the steps,
// thick ones carry data.
func drawWorkflow(w *workflow.Workflow, redact func(string) string) string {
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
