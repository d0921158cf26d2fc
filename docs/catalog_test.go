package docs_test

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event"
)

// allEvents lists the kinds of events. TestEventCatalog detects missing kinds.
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

// TestEventCatalog compares the events table with the types: every kind has a row that names
// every field.
func TestEventCatalog(t *testing.T) {
	rows := map[string]string{}
	_, table, _ := strings.Cut(readText(t, "docs/reference/events.md"), "## Catalog")
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
	page := readText(t, "docs/guides/observability.md")
	found := metricName.FindAllStringSubmatch(readText(t, "runtime/telemetry/metrics.go"), -1)
	if len(found) == 0 {
		t.Fatal("runtime/telemetry/metrics.go names no metrics")
	}
	for _, m := range found {
		if !strings.Contains(page, "| `"+m[1]+"` |") {
			t.Errorf("docs/guides/observability.md does not list the metric %s", m[1])
		}
	}
}

// sources returns the text of the product's Go files.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != root || entry.Name() == "node_modules" || entry.Name() == "bench"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

var (
	instrument     = regexp.MustCompile(`(Counter|Gauge|Histogram)\((\w+\+)?("[a-z_.]+"|metric[A-Z]\w+|name),(?:[^\n]*WithUnit\("([^"]*)"\))?`)
	instrumentName = regexp.MustCompile(`(metric[A-Z]\w+)\s*=\s*("[a-z_.]+")`)
	exposedName    = regexp.MustCompile(`\b(?:agentruntime|gen_ai|http_server)_[a-z_]+`)
	tableMetric    = regexp.MustCompile("(?m)^\\| `([a-z_]+\\.[a-z_.]+)`")
)

// TestMetricsInDocumentsAreExposed compares the names in all pages and deployments with the
// instruments, under their Prometheus names.
func TestMetricsInDocumentsAreExposed(t *testing.T) {
	text := sources(t)
	named := make(map[string]string)
	for _, m := range instrumentName.FindAllStringSubmatch(text, -1) {
		named[m[1]] = m[2]
	}
	known, exposed := make(map[string]bool), make(map[string]bool)
	for _, m := range instrument.FindAllStringSubmatch(text, -1) {
		if m[4] == "1" {
			t.Errorf("the unit of %s is 1, so that Prometheus calls it a ratio", m[3])
		}
		name := strings.Trim(cmp.Or(named[m[3]], m[3]), `"`)
		if m[2] != "" || name == "name" {
			continue
		}
		known[name] = true
		name = strings.ReplaceAll(name, ".", "_")
		if m[4] == "s" {
			name += "_seconds"
		}
		switch m[1] {
		case "Counter":
			exposed[strings.TrimSuffix(name, "_total")+"_total"], exposed[name] = true, true
		case "Histogram":
			exposed[name+"_bucket"], exposed[name+"_sum"], exposed[name+"_count"] = true, true, true
		default:
			exposed[name] = true
		}
	}
	if len(known) < 10 {
		t.Fatalf("only %d instruments are found", len(known))
	}
	for name := range named { // durations come from a function
		known[strings.Trim(named[name], `"`)] = true
	}
	for name, page := range documents(t) {
		for _, found := range exposedName.FindAllString(page, -1) {
			if !exposed[found] {
				t.Errorf("%s: no metric is exposed as %s", name, found)
			}
		}
	}
	for _, m := range tableMetric.FindAllStringSubmatch(metricSection(t), -1) {
		name := m[1]
		if strings.HasPrefix(name, "agentruntime.agent.") { // operations, whose names have three suffixes
			name = strings.TrimSuffix(name, ".count")
			if !strings.Contains(text, `"`+strings.TrimPrefix(name, "agentruntime.")+`"`) && !strings.Contains(text, `"`+name+`"`) {
				t.Errorf("no operation is measured as %s", name)
			}
		} else if !known[name] {
			t.Errorf("no instrument is called %s", name)
		}
	}
}

// metricSection returns the section about metrics.
func metricSection(t *testing.T) string {
	t.Helper()
	_, section, _ := strings.Cut(readText(t, "docs/guides/observability.md"), "\n## Metrics")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// documents returns the pages and deployment files by name.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, dir := range []string{"docs", "examples/deploy"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			switch filepath.Ext(path) {
			case ".md", ".yaml", ".yml", ".json", ".service":
				data, err := os.ReadFile(path)
				all[path] = string(data)
				return err
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

var (
	logCall    = regexp.MustCompile(`\.(Debug|Info|Warn|Error|Check|Log)\((?:ctx, |level, |\w+, )*"([^"]+)"|logError\(ctx, "([^"]+)"`)
	logInTable = regexp.MustCompile("(?m)^\\| `([^`]+)`[^|]*\\| ([^|]*) \\|$")
	logInText  = regexp.MustCompile(`"message": ?"([^"]+)"`)
	logInProse = regexp.MustCompile("(?s)A server also logs its messages as JSON(.*?)Errors at startup")
	quoted     = regexp.MustCompile("`([^`]+)`")
)

// TestLogLinesInDocumentsAreWritten compares the log lines in pages with the program's log lines,
// and the levels in the table.
func TestLogLinesInDocumentsAreWritten(t *testing.T) {
	levels := make(map[string][]string)
	for _, m := range logCall.FindAllStringSubmatch(sources(t), -1) {
		text := cmp.Or(m[2], m[3])
		levels[text] = append(levels[text], strings.ToLower(cmp.Or(m[1], "error")))
	}
	written := func(name, line string) []string {
		found := levels[strings.ReplaceAll(line, "\n", " ")]
		if len(found) == 0 {
			t.Errorf("%s: the log never has %q", name, line)
		}
		return found
	}
	logs := readText(t, "docs/guides/observability.md")
	_, table, ok := strings.Cut(logs, "| Line | Level |")
	table, _, _ = strings.Cut(table, "\n\n")
	prose := logInProse.FindString(logs)
	if !ok || prose == "" {
		t.Fatal("docs/guides/observability.md lists no log lines")
	}
	for _, m := range logInTable.FindAllStringSubmatch(table, -1) {
		for _, level := range written("docs/guides/observability.md", m[1]) {
			if level != "check" && level != "log" && !strings.Contains(m[2], level) {
				t.Errorf("%q is logged at %s, not %s", m[1], level, m[2])
			}
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(prose, -1) {
		written("docs/guides/observability.md", m[1])
	}
	for name, page := range documents(t) {
		if strings.HasSuffix(name, "runtime.schema.json") {
			continue
		}
		for _, m := range logInText.FindAllStringSubmatch(page, -1) {
			if strings.Contains(page, `"level":"`) {
				written(name, m[1])
			}
		}
	}
}

// readText returns a repository file's text.
func readText(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
