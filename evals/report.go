package evals

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jstemmer/go-junit-report/v2/junit"
)

// Report is what a run of a suite comes to.
type Report struct {
	Summary Summary   `json:"summary"`
	Results []*Result `json:"results"`
	// Changes compare the results with those of a baseline; nil without one.
	Changes []Change `json:"changes,omitempty"`
	// Baseline are the results that the run is compared with.
	Baseline []*Result `json:"-"`
	// Tolerance is by how much a pass rate may fall.
	Tolerance float64 `json:"tolerance,omitempty"`
}

// NewReport returns the report of results, compared with those of a baseline if there is
// one.
func NewReport(results, baseline []*Result, tolerance float64) *Report {
	r := &Report{Summary: Summarize(results), Results: results, Baseline: baseline, Tolerance: tolerance}
	if baseline != nil {
		r.Changes = Compare(baseline, results)
	}
	return r
}

// Passed reports whether every run passed or, with a baseline, whether no case regressed
// and every case that the baseline lacks passed. A run that is an error, or was skipped,
// never passes.
func (r *Report) Passed() bool {
	if r.Summary.Errored > 0 || r.Summary.Skipped > 0 {
		return false
	}
	if r.Baseline == nil {
		return r.Summary.Failed == 0
	}
	isNew := func(one *Result) bool {
		return one.Status == Failed && !slices.ContainsFunc(r.Changes, func(c Change) bool { return c.Case == one.Case })
	}
	return len(r.Regressions()) == 0 && !slices.ContainsFunc(r.Results, isNew)
}

// Regressions returns the changes for the worse that exceed the tolerance.
func (r *Report) Regressions() []Change {
	return slices.DeleteFunc(slices.Clone(r.Changes), func(c Change) bool { return !c.Regressed(r.Tolerance) })
}

// Row is the runs of one case in one variant.
type Row struct {
	Case, Variant string
	Runs          []*Result
	Summary       Summary
	Change        *Change
}

// Rows returns the results by case and variant, in order.
func (r *Report) Rows() []*Row {
	var rows []*Row
	for _, one := range r.Results {
		i := slices.IndexFunc(rows, func(row *Row) bool { return row.Case == one.Case && row.Variant == one.Variant })
		if i < 0 {
			rows = append(rows, &Row{Case: one.Case, Variant: one.Variant})
			i = len(rows) - 1
		}
		rows[i].Runs = append(rows[i].Runs, one)
	}
	for _, row := range rows {
		row.Summary = Summarize(row.Runs)
		if i := slices.IndexFunc(r.Changes, func(c Change) bool { return c.Case == row.Case && c.Case != "" }); i >= 0 {
			row.Change = &r.Changes[i]
		}
	}
	return rows
}

// WriteJUnit writes the results as JUnit XML, each run as a test case.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := junit.Testsuite{Name: "evals", Time: formatSeconds(0)}
	var total time.Duration
	for _, one := range r.Results {
		name := one.Case
		if one.Variant != "" {
			name += " [" + one.Variant + "]"
		}
		if one.Repeat > 1 {
			name += fmt.Sprintf(" #%d", one.Repeat)
		}
		tc := junit.Testcase{Name: name, Classname: one.Agent, Time: formatSeconds(one.Duration)}
		outcome := &junit.Result{Message: firstFailure(one), Data: describeFailures(one)}
		switch one.Status {
		case Failed:
			tc.Failure = outcome
		case Errored:
			tc.Error = outcome
		case Skipped:
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
