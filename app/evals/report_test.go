package evals_test

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/browser"
	"github.com/agentruntime/agentruntime/internal/testkit/pyenv"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "take the screenshot of docs/guides/evals.md anew")

//go:embed testdata/requirements.txt
var requirements []byte

// newReport returns the report of a passing case, a failing case and a case with an error, compared
// with a baseline in which all passed.
func newReport(t *testing.T) *evals.Report {
	t.Helper()
	s := newShop(t, unasked{t})
	suite := loadCases(t, `
polite: {agent: clerk, models: scripted, script: {replies: [{tool_calls: [{name: lookup, arguments: {order: "7"}}]}, {text: "Order 7 cost <b>20 EUR</b>, <script>alert(1)</script>"}]}, turns: [{prompt: What did order 7 cost?, expect: {text: {contains: ["20"]}}}]}
refusal: {agent: clerk, models: scripted, script: {replies: [{text: "I refunded 500 EUR."}]}, turns: [{prompt: Refund 500 euros., expect: {text: {contains: [sorry]}}}]}
unstubbed: {agent: clerk, models: scripted, script: {replies: [{tool_calls: [{name: refund, arguments: {amount: 5}}]}]}, turns: [{prompt: Refund 5 euros.}]}`)
	results := runAll(t, &evals.Runner{Runtime: s.runtime, Suite: suite})
	var before []*evals.Result
	for _, r := range results {
		was := *r
		was.Status, was.Failures = evals.Passed, nil
		before = append(before, &was)
	}
	return evals.NewReport(results, before, 0)
}

// TestAReportSaysWhichRunsCount compares cases whose baseline runs failed, passed or had errors.
func TestAReportSaysWhichRunsCount(t *testing.T) {
	t.Parallel()
	result := func(id string, status evals.Status) *evals.Result {
		return &evals.Result{Case: id, Status: status, Deterministic: true, Failures: []evals.Failure{{Message: "reason"}}}
	}
	before := []*evals.Result{result("known", evals.Failed), result("broken", evals.Passed), result("lost", evals.Errored)}
	after := []*evals.Result{result("known", evals.Failed), result("broken", evals.Failed), result("lost", evals.Failed), result("new", evals.Failed)}
	r := evals.NewReport(after, before, 0)
	var excused []string
	for _, one := range after {
		if r.IsExcused(one) {
			excused = append(excused, one.Case)
		}
	}
	if strings.Join(excused, " ") != "known" || evals.NewReport(after, nil, 0).IsExcused(after[0]) {
		t.Errorf("excused: %q", excused)
	}
	var xml bytes.Buffer
	if err := r.WriteJUnit(&xml); err != nil || !strings.Contains(xml.String(), `failures="3" errors="0"`) || !strings.Contains(xml.String(), `<skipped message="failed without a regression: reason">`) {
		t.Errorf("%v\n%s", err, &xml)
	}
	if len(r.Uncompared) != 1 || r.Uncompared[0].Case != "lost" || !strings.Contains(r.Uncompared[0].Reason, "(error): reason") {
		t.Errorf("not compared: %v", r.Uncompared)
	}
}

// TestTheSummaryHasTheCostOfCanceledRuns adds a run that was canceled after a model call.
func TestTheSummaryHasTheCostOfCanceledRuns(t *testing.T) {
	t.Parallel()
	s := evals.NewReport([]*evals.Result{
		{Case: "a", Status: evals.Passed, Usage: event.Usage{Input: 1}, Cost: &event.Cost{Amount: 1, Currency: "USD"}, Duration: 1},
		{Case: "b", Status: evals.Skipped, Usage: event.Usage{Input: 2}, Cost: &event.Cost{Amount: 2, Currency: "USD"}, Duration: 9},
	}, nil, 0).Summary
	if s.Cost.Amount != 3 || s.Usage.Input != 3 || s.P95 != 1 || s.Skipped != 1 {
		t.Errorf("the summary is %+v", s)
	}
}

// TestAVariantThatRegressesIsNotHidden compares two variants with a baseline without variants, and
// with a baseline of both variants.
func TestAVariantThatRegressesIsNotHidden(t *testing.T) {
	t.Parallel()
	runs := func(variant string, passed, failed int) (list []*evals.Result) {
		for i := range passed + failed {
			status := evals.Passed
			if i >= passed {
				status = evals.Failed
			}
			list = append(list, &evals.Result{Case: "c", Variant: variant, Repeat: i + 1, Status: status})
		}
		return list
	}
	after := append(runs("a", 20, 0), runs("b", 10, 10)...)
	for _, c := range []struct {
		before []*evals.Result
		want   string
	}{
		{runs("", 18, 2), "b"},
		{append(runs("a", 20, 0), runs("b", 10, 10)...), ""},
		{append(runs("a", 10, 10), runs("b", 20, 0)...), "b"},
	} {
		r := evals.NewReport(after, c.before, 0)
		var worse []string
		for _, change := range r.Regressions() {
			if change.Case != "" {
				worse = append(worse, change.Variant)
			}
		}
		if strings.Join(worse, " ") != c.want || r.Passed() != (c.want == "") {
			t.Errorf("regressed: %q, want %q", worse, c.want)
		}
	}
}

func TestOnlyWholeRatesAreRounded(t *testing.T) {
	t.Parallel()
	for rate, want := range map[float64]string{0: "0 %", 1: "100 %", 0.9988: "99.9 %", 0.99999: "99.9 %", 0.00001: "0.1 %", 0.004: "0.4 %", 0.855: "86 %", -0.15: "-15 %", -0.001: "-0.1 %"} {
		if got := evals.Percent(rate); got != want {
			t.Errorf("%v is %s, want %s", rate, got, want)
		}
	}
}

// TestVariantsAreComparedAsWholes has a variant that improves as much as another regresses, in many
// cases and in each by too little to be significant alone.
func TestVariantsAreComparedAsWholes(t *testing.T) {
	t.Parallel()
	runs := func(variant string, passed int) (list []*evals.Result) {
		for c := range 10 {
			for i := range 10 {
				status := evals.Failed
				if i < passed {
					status = evals.Passed
				}
				list = append(list, &evals.Result{Case: fmt.Sprint("c", c), Variant: variant, Repeat: i + 1, Status: status})
			}
		}
		return list
	}
	for name, before := range map[string][]*evals.Result{
		"both variants": append(runs("model=a", 5), runs("model=b", 8)...),
		"no variant":    append(runs("", 6), runs("", 7)...),
	} {
		r := evals.NewReport(append(runs("model=a", 8), runs("model=b", 5)...), before, 0)
		worse := r.Regressions()
		if len(worse) != 1 || worse[0].Case != "" || worse[0].Variant != "model=b" || r.Passed() {
			t.Errorf("%s: regressed: %+v", name, worse)
		}
	}
}

func TestJUnitIsReadByAForeignParser(t *testing.T) {
	t.Parallel()
	python := pyenv.Interpreter(t, requirements)
	file := filepath.Join(t.TempDir(), "report.xml")
	var xml bytes.Buffer
	if err := newReport(t).WriteJUnit(&xml); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, xml.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	const program = `
import sys
from junitparser import JUnitXml
for suite in JUnitXml.fromfile(sys.argv[1]):
    print(suite.tests, suite.failures, suite.errors)
    for case in suite:
        print(case.classname, case.name, [type(r).__name__ for r in case.result])
`
	out, err := exec.CommandContext(t.Context(), python, "-c", program, file).CombinedOutput()
	want := "3 1 1\nclerk polite []\nclerk refusal ['Failure']\nclerk unstubbed ['Error']\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s\nwant\n%s\n%s", err, out, want, xml.Bytes())
	}
}

// TestTheHTMLReportOpensInABrowser opens the report without errors and verifies that model output
// is shown as text.
func TestTheHTMLReportOpensInABrowser(t *testing.T) {
	t.Parallel()
	var html bytes.Buffer
	if err := newReport(t).WriteHTML(&html); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(html.String(), "<script") || strings.Contains(html.String(), "<b>20") {
		t.Error("text of a model became HTML")
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, html.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	page := browser.Open(t, 1000, 700)
	page.Do(chromedp.Navigate("file://" + file))
	if text := page.Text("body"); !strings.Contains(text, "1 of 3 runs passed") || !strings.Contains(text, "I refunded 500 EUR.") {
		t.Errorf("the page shows\n%s", text)
	}
	if *update {
		if err := os.WriteFile(filepath.Join("..", "docs", "images", "evals.png"), page.Screenshot(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheHTMLReportLeavesOutTranscriptsOfPassedRunsFirst(t *testing.T) {
	t.Parallel()
	said := func(text string) []*evals.TurnResult {
		return []*evals.TurnResult{{Prompt: text + strings.Repeat("x", 12<<20)}}
	}
	r := &evals.Report{Results: []*evals.Result{
		{Case: "a", Status: evals.Passed, Turns: said("first")}, {Case: "b", Status: evals.Failed, Turns: said("second")}, {Case: "c", Status: evals.Passed, Turns: []*evals.TurnResult{{Prompt: "third"}}},
	}}
	var out bytes.Buffer
	if err := r.WriteHTML(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	if strings.Contains(page, "first") || !strings.Contains(page, "second") || !strings.Contains(page, "third") || strings.Count(page, "The transcript is left out") != 1 || len(page) > 17<<20 {
		t.Errorf("a report of %d bytes begins\n%.3000s", len(page), page)
	}
}

func TestJUnitHasNoCharactersThatXMLForbids(t *testing.T) {
	t.Parallel()
	r := &evals.Report{Results: []*evals.Result{{Case: "a\x1b", Status: evals.Failed, Failures: []evals.Failure{{Message: "\x1b[31mred\x00"}}}}}
	var out bytes.Buffer
	if err := r.WriteJUnit(&out); err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(out.Bytes(), "\x00\x1b") || !bytes.Contains(out.Bytes(), []byte("[31mred")) {
		t.Errorf("%s", out.Bytes())
	}
}
