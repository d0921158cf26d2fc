package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
)

// gestaltFile has a workflow in each group, in the form of Gestalt's documentation, and a native
// workflow.
const gestaltFile = `version: 1
workflows:
  eventTriggers:
    summarize_roadmap_item:
      provider: local
      match:
        type: roadmap.item.updated
        source: roadmap
        subject: item
      target:
        steps:
          - id: summarize
            agent:
              provider: simple
              model: fast
              prompt: "Summarize ${{ input.id }}."
              tools:
                - app: roadmap
                  operation: items.get
      invokes:
        - app: roadmap
          operation: items.get
  schedules:
    nightly: {cron: "0 2 * * *", timezone: Europe/Berlin, target: {agent: {provider: simple, prompt: Go.}}, permissions: [{plugin: roadmap, operations: [sync]}]}
  own: {steps: [{id: a, tool: {name: roadmap}}]}
`

func parseGestalt(t *testing.T, text string) (*config.File, diag.List) {
	t.Helper()
	return config.Parse([]config.Source{{Name: "f.yaml", Data: []byte(text)}}, options(nil))
}

func TestGroupsOfGestaltAreWorkflows(t *testing.T) {
	t.Parallel()
	f, list := parseGestalt(t, gestaltFile)
	if list.HasErrors() {
		t.Fatal(list)
	}
	var got []string
	for _, w := range f.Workflows {
		text, err := json.Marshal(w.AllSteps())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, w.ID+" "+strings.Join(w.Starts(), ", ")+" "+string(text))
	}
	want := []string{
		`summarize_roadmap_item event summarize_roadmap_item: type roadmap.item.updated from roadmap about item [{"id":"summarize","agent":{"agent":"simple","model_id":"fast","prompt":"Summarize ${{ input.id }}.","tools":["mcp__roadmap__items_get_a687b19c"]}}]`,
		`nightly schedule nightly: 0 2 * * * in Europe/Berlin [{"id":"target","agent":{"agent":"simple","prompt":"Go.","tools":["mcp__roadmap__sync"]}}]`,
		`own  [{"id":"a","tool":{"name":"roadmap"}}]`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the workflows are\n%s", strings.Join(got, "\n"))
	}
}

// TestGroupsOfGestaltSurviveARevision reads the document stored by a revision.
func TestGroupsOfGestaltSurviveARevision(t *testing.T) {
	t.Parallel()
	f, _ := parseGestalt(t, gestaltFile)
	document, err := f.Document()
	if err != nil {
		t.Fatal(err)
	}
	again, list := parseGestalt(t, string(document))
	if list.HasErrors() || len(again.Workflows) != 3 {
		t.Fatalf("%v\n%s", list, document)
	}
	for i, w := range f.Workflows {
		before, _ := json.Marshal(w)
		after, _ := json.Marshal(again.Workflows[i])
		if string(before) != string(after) {
			t.Errorf("%s became %s", before, after)
		}
	}
}

func TestALaterFileReplacesAWorkflowOfAGroup(t *testing.T) {
	t.Parallel()
	f, list := config.Parse([]config.Source{
		{Name: "a.yaml", Data: []byte(gestaltFile)},
		{Name: "b.yaml", Data: []byte("version: 1\nworkflows: {nightly: {steps: [{id: a, tool: {name: other}}]}, eventTriggers: {own: {match: {type: t}, target: {app: {name: third}}}}}\n")},
	}, options(nil))
	if list.HasErrors() || len(f.Workflows) != 3 || f.Workflows[1].AllSteps()[0].Tool.Name != "other" || f.Workflows[2].Events[0].Type != "t" {
		t.Errorf("%v, %+v", list, f.Workflows)
	}
}

func TestAPatchChangesAWorkflowOfAGroup(t *testing.T) {
	t.Parallel()
	f, list := parseGestalt(t, gestaltFile+"patches: {workflows: {summarize_roadmap_item: {match: {source: null}, paused: true}}}\n")
	if list.HasErrors() || f.Workflows[0].Events[0].Source != "" || !f.Workflows[0].Events[0].Paused {
		t.Errorf("%v, %+v", list, f.Workflows[0])
	}
}

func TestProblemsOfGroupsHaveTheirPathAndPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ old, new, path, place string }{
		{"provider: simple\n", "agent: simple\n", "workflows.eventTriggers.summarize_roadmap_item.target.steps[0].agent.agent", "f.yaml:14:15"},
		{"type: roadmap.item.updated\n", "kind: x\n", "workflows.eventTriggers.summarize_roadmap_item.match.type", "f.yaml:6:7"},
		{"Summarize ${{ input.id }}.", "${{ steps.none.outputs }}", "workflows.eventTriggers.summarize_roadmap_item.target.steps[0].agent.prompt", "f.yaml:16:23"},
		{"provider: local", "provider: temporal", "workflows.eventTriggers.summarize_roadmap_item.provider", "f.yaml:5:17"},
		{"app: roadmap\n          operation: items.get\n  schedules", "app: map\n  schedules", "workflows.eventTriggers.summarize_roadmap_item.target.steps[0].agent.tools[0]", "f.yaml:18:19"},
		{`cron: "0 2 * * *"`, `cron: nightly`, "workflows.schedules.nightly.cron", "f.yaml:24:21"},
		{"match:\n        type: roadmap.item.updated\n        source: roadmap\n        subject: item\n", "paused: true\n", "workflows.eventTriggers.summarize_roadmap_item.match", "f.yaml:4:5"},
		{"  own: {", "  nightly: {", "workflows.nightly", "f.yaml:25:3"},
	} {
		f, list := parseGestalt(t, strings.Replace(gestaltFile, tt.old, tt.new, 1))
		all := f.Complete(list, nil)
		found, errors := false, 0
		for _, d := range all {
			if d.Severity == diag.Error {
				errors++
			}
			found = found || d.Severity == diag.Error && d.Path == tt.path && d.Place() == tt.place
		}
		if !found || errors > 2 {
			t.Errorf("%s: no error has the path %s and the place %s: %+v", tt.new, tt.path, tt.place, all)
		}
	}
}
