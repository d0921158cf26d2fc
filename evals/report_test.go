package evals_test

import (
	"bytes"
	_ "embed"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/evals"
	"github.com/agentruntime/agentruntime/internal/testkit/browser"
	"github.com/agentruntime/agentruntime/internal/testkit/pyenv"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "take the screenshot of docs/evals.md anew")

//go:embed testdata/requirements.txt
var requirements []byte

// newReport returns the report of a run of a case that passes, one that fails and one
// that is an error, compared with a baseline in which all passed.
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

// TestTheHTMLReportOpensInABrowser opens the report without errors, and finds text of
// models shown as text.
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
	if text := page.Text("body"); !strings.Contains(text, "1 of 2 runs passed") || !strings.Contains(text, "I refunded 500 EUR.") {
		t.Errorf("the page shows\n%s", text)
	}
	if *update {
		if err := os.WriteFile(filepath.Join("..", "docs", "images", "evals.png"), page.Screenshot(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
