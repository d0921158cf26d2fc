package evals

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jstemmer/go-junit-report/v2/junit"
)

// Report is the outcome of running a suite.
type Report struct {
	Summary Summary   `json:"summary"`
	Results []*Result `json:"results"`
	// Changes compare the results with a baseline; nil without a baseline.
	Changes []Change `json:"changes,omitempty"`
	// Removed are cases of the baseline that no longer exist.
	Removed []string `json:"removed,omitempty"`
	// Uncompared are the cases without a passed or failed run in the baseline, with the reason.
	Uncompared []Uncompared `json:"uncompared,omitempty"`
	// Baseline holds the results to compare the run with.
	Baseline []*Result `json:"-"`
	// Tolerance is the permitted decrease of a pass rate.
	Tolerance float64 `json:"tolerance,omitempty"`
}

// Uncompared is a case that cannot be compared with the baseline.
type Uncompared struct {
	Case   string `json:"case"`
	Reason string `json:"reason"`
}

// NewReport returns the report of results, compared with a baseline if there is one.
func NewReport(results, baseline []*Result, tolerance float64) *Report {
	r := &Report{Summary: summarizeResults(results), Results: results, Baseline: baseline, Tolerance: tolerance}
	if baseline != nil {
		r.Changes = compare(baseline, results)
		r.Uncompared = findUncompared(baseline, results)
	}
	return r
}

// findUncompared returns the cases whose runs in the baseline are errors or were skipped.
func findUncompared(before, after []*Result) (list []Uncompared) {
	was, now, seen := ratesOf(before), ratesOf(after), make(map[string]bool)
	for _, r := range after {
		i := slices.IndexFunc(before, func(b *Result) bool { return b.Case == r.Case })
		if i < 0 || seen[r.Case] || was[r.Case].Runs > 0 || now[r.Case].Runs == 0 {
			continue
		}
		seen[r.Case] = true
		list = append(list, Uncompared{r.Case, fmt.Sprintf("the baseline has no outcome (%s): %s", before[i].Status, firstFailure(before[i]))})
	}
	return list
}

// Passed reports whether every run passed or, with a baseline, whether no case regressed and every
// case missing from the baseline passes. An errored or skipped run never passes.
func (r *Report) Passed() bool {
	if r.Summary.Errored > 0 || r.Summary.Skipped > 0 {
		return false
	}
	if r.Baseline == nil {
		return r.Summary.Failed == 0
	}
	isNew := func(one *Result) bool {
		return one.Status == Failed && r.changeOf(one.Case, one.Variant) < 0
	}
	return len(r.Regressions()) == 0 && !slices.ContainsFunc(r.Results, isNew)
}

// IsExcused reports whether a failed run does not count, because its case did not regress.
func (r *Report) IsExcused(run *Result) bool {
	i := r.changeOf(run.Case, run.Variant)
	return run.Status == Failed && i >= 0 && !slices.ContainsFunc(r.Regressions(), func(c Change) bool {
		return c.Variant == run.Variant && (c.Case == run.Case || c.Case == "" && r.Changes[i].Difference < 0)
	})
}

// changeOf returns the index of the change of a case with a variant; -1 if absent.
func (r *Report) changeOf(id, variant string) int {
	return slices.IndexFunc(r.Changes, func(c Change) bool { return c.Case == id && c.Variant == variant && id != "" })
}

// Regressions returns the changes for the worse that exceed the tolerance.
func (r *Report) Regressions() []Change {
	return slices.DeleteFunc(slices.Clone(r.Changes), func(c Change) bool { return !c.Regressed(r.Tolerance) })
}

// Row holds the runs of one case in one variant.
type Row struct {
	Case, Variant string
	Runs          []*Result
	Summary       Summary
	Change        *Change
}

// Rows returns the results by case and variant, in order.
func (r *Report) Rows() []*Row {
	var rows []*Row
	known := make(map[rowKey]*Row)
	for _, one := range r.Results {
		key := rowKey{one.Case, one.Variant}
		row := known[key]
		if row == nil {
			row = &Row{Case: one.Case, Variant: one.Variant}
			known[key], rows = row, append(rows, row)
		}
		row.Runs = append(row.Runs, one)
	}
	for _, row := range rows {
		row.Summary = summarizeResults(row.Runs)
		if i := r.changeOf(row.Case, row.Variant); i >= 0 {
			row.Change = &r.Changes[i]
		}
	}
	return rows
}

// WriteJUnit writes the results as JUnit XML, each run as a test case. An excused failure is
// reported as skipped.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := junit.Testsuite{Name: "evals", Time: formatSeconds(0)}
	var total time.Duration
	for _, one := range r.Results {
		tc := junit.Testcase{Name: xmlText(one.Name()), Classname: one.Agent, Time: formatSeconds(one.Duration)}
		outcome := &junit.Result{Message: xmlText(firstFailure(one)), Data: xmlText(describeFailures(one))}
		switch {
		case r.IsExcused(one):
			outcome.Message = "failed without a regression: " + outcome.Message
			tc.Skipped = outcome
		case one.Status == Failed:
			tc.Failure = outcome
		case one.Status == Errored:
			tc.Error = outcome
		case one.Status == Skipped:
			tc.Skipped = outcome
		}
		total += one.Duration
		suite.AddTestcase(tc)
	}
	suite.Time = formatSeconds(total)
	var suites junit.Testsuites
	suites.AddSuite(suite)
	suites.Time = suite.Time
	return suites.WriteXML(w)
}

func formatSeconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func firstFailure(r *Result) string {
	if len(r.Failures) == 0 {
		return ""
	}
	return r.Failures[0].String()
}

// xmlText returns a text without the control characters that XML does not allow.
func xmlText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\uFFFE' || r == '\uFFFF' {
			return '\uFFFD'
		}
		return r
	}, text)
}

func describeFailures(r *Result) string {
	lines := make([]string, len(r.Failures))
	for i := range r.Failures {
		lines[i] = r.Failures[i].String()
	}
	return strings.Join(lines, "\n")
}

// String returns the failure with its place in the case.
func (f Failure) String() string {
	var at string
	if f.Turn > 0 {
		at = fmt.Sprintf("turn %d: ", f.Turn)
	}
	if f.Field != "" {
		at += f.Field + ": "
	}
	return at + f.Message
}
