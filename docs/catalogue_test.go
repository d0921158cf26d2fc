package docs_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event"
)

// allEvents are the kinds of events. TestEventCatalogue finds out when one is
// missing.
func allEvents() []event.Data {
	return []event.Data{
		new(event.RunStart), new(event.RunFinish), new(event.StepStart), new(event.StepEnd),
		new(event.TextDelta), new(event.ReasoningDelta), new(event.ReasoningEncrypted),
		new(event.ToolCallStart), new(event.ToolCallDelta), new(event.ToolCallReady), new(event.ToolCallDone),
		new(event.ToolCallStreamDelta), new(event.ToolCallResumed), new(event.ToolCallCancel),
		new(event.InferenceComplete), new(event.ActivitySnapshot), new(event.StateSnapshot),
		new(event.StreamReset), new(event.ModelRetry), new(event.InteractionRequest), new(event.RunWaiting),
		new(event.ContextTrimmed), new(event.ContextCompacted),
		new(event.LoopDetected), new(event.ToolBudgetExceeded), new(event.ToolCallsOmitted), new(event.Handoff),
		new(event.CustomPatch), new(event.Artifact), new(event.RevisionChanged),
	}
}

var (
	eventRow  = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|.*$")
	eventType = regexp.MustCompile(`(?m)^\tType\w+\s+Type = "([a-z_]+)"$`)
)

// TestEventCatalogue compares the table of events with their types: every kind
// has a row, and the row names every field.
func TestEventCatalogue(t *testing.T) {
	rows := map[string]string{}
	_, table, _ := strings.Cut(readText(t, "docs/events.md"), "## Catalogue")
	table, _, _ = strings.Cut(table, "## Order")
	for _, m := range eventRow.FindAllStringSubmatch(table, -1) {
		rows[m[1]] = m[0]
	}
	known := map[string]bool{}
	for _, data := range allEvents() {
		name := string(data.Type())
		known[name] = true
		for _, field := range reflect.VisibleFields(reflect.TypeOf(data).Elem()) {
			if field.Anonymous {
				continue
			}
			json, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !strings.Contains(rows[name], "`"+json+"`") {
				t.Errorf("the row of %s does not name the field %s", name, json)
			}
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("the table has a row for %s, which is no event", name)
	}
	for _, m := range eventType.FindAllStringSubmatch(readText(t, "event/data.go"), -1) {
		if !known[m[1]] {
			t.Errorf("the event %s is not among allEvents", m[1])
		}
	}
}

var metricName = regexp.MustCompile(`"((?:gen_ai|agentruntime)\.[a-z_.]+)"`)

// TestMetricTable looks for every metric in the page that lists them.
func TestMetricTable(t *testing.T) {
	page := readText(t, "docs/observability.md")
	found := metricName.FindAllStringSubmatch(readText(t, "telemetry/metrics.go"), -1)
	if len(found) == 0 {
		t.Fatal("telemetry/metrics.go names no metrics")
	}
	for _, m := range found {
		if !strings.Contains(page, "| `"+m[1]+"` |") {
			t.Errorf("docs/observability.md does not list the metric %s", m[1])
		}
	}
}

// readText returns a file of the repository.
func readText(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
