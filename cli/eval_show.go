package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/diag"
)

// evalShow is the progress bar of a run, on a terminal.
type evalShow struct {
	terminal.Streams
	progress bool
	total    int
	done     int
}

func newEvalShow(p *program, total int) *evalShow {
	return &evalShow{Streams: p.Streams, progress: terminal.Controllable(p.Err), total: total}
}

// barWidth is the width of the progress bar, in characters.
const barWidth = 24

// advance shows that another run has ended.
func (s *evalShow) advance() {
	s.done++
	s.erase()
	if s.progress {
		full := barWidth * s.done / max(s.total, 1)
		_ = terminal.WriteUnescaped(s.Err, fmt.Sprintf("[%s%s] %d/%d", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), s.done, s.total))
	}
}

// erase erases the progress bar.
func (s *evalShow) erase() {
	if s.progress {
		_ = terminal.WriteUnescaped(s.Err, "\r\x1b[K") // the next write fails too
	}
}

// statusSigns mark the outcomes of cases.
var statusSigns = map[evals.Status]string{evals.Passed: "✓", evals.Failed: "✗", evals.Skipped: "-", evals.Errored: "!"}

// caseReport returns a report of case file diagnostics.
func (l *loaded) caseReport(list diag.List, suite *evals.Suite, p *program) *diag.Report {
	return &diag.Report{Diagnostics: nameCommand(list, l.command), Version: l.version, Source: suite.Source, Color: terminal.Colored(p.Err)}
}

// writeReports writes the report to the standard output and the files of the flags.
func (p *program) writeReports(suite *evals.Suite, report *evals.Report, files *reportFiles, o *evalOptions) error {
	if err := errors.Join(files.write(o.junit, report.WriteJUnit), files.write(o.html, report.WriteHTML)); err != nil {
		return err
	}
	switch o.format.Value {
	case "json":
		e := json.NewEncoder(p.Out)
		e.SetIndent("", "  ")
		return e.Encode(report)
	case "junit":
		return report.WriteJUnit(p.Out)
	case "html":
		return report.WriteHTML(p.Out)
	case "github":
		return p.annotateCases(suite, report)
	default:
		_, err := io.WriteString(p.Out, evalText(report))
		return err
	}
}

// reportFiles are the files of --junit and --html, by name. They are opened before the first
// case runs.
type reportFiles struct {
	open map[string]*os.File
	// fresh are the newly created files.
	fresh []string
}

func (f *reportFiles) openAll(names ...string) error {
	for _, name := range names {
		if name == "" {
			continue
		}
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			f.fresh = append(f.fresh, name)
		}
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666) //nolint:gosec // the user's umask applies, as with any output
		if err != nil {
			return err
		}
		f.open[name] = file
	}
	return nil
}

// write replaces the content of a file with a report.
func (f *reportFiles) write(name string, write func(io.Writer) error) error {
	file := f.open[name]
	if file == nil {
		return nil
	}
	delete(f.open, name)
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		if err := file.Truncate(0); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return errors.Join(write(file), file.Close())
}

// close closes the unwritten files and removes the newly created ones.
func (f *reportFiles) close() {
	for name, file := range f.open {
		_ = file.Close() // nothing was written
		if slices.Contains(f.fresh, name) {
			_ = os.Remove(name)
		}
	}
}

// annotateCases writes an annotation for GitHub on the line of each case that fails. Runs of a
// case with the same status share one, because GitHub shows only a few.
func (p *program) annotateCases(suite *evals.Suite, report *evals.Report) error {
	var list diag.List
	counts := make(map[[3]string]int)
	for _, r := range report.Results {
		counts[outcomeOf(r)]++
	}
	for _, r := range report.Results {
		n := counts[outcomeOf(r)]
		if r.Status == evals.Passed || n == 0 {
			continue
		}
		delete(counts, outcomeOf(r))
		var text []string
		for _, f := range r.Failures {
			text = append(text, f.String())
		}
		file, line, column := suite.Place(r.Case)
		d := diag.Diagnostic{
			Code: annotationCodes[r.Status], Severity: diag.Error, Path: diag.Key("cases", r.Case),
			Message: fmt.Sprintf("case %s: %s: %s", r.Name(), r.Status, strings.Join(text, "; ")),
		}
		if n > 1 {
			d.Message += fmt.Sprintf(" (%d runs)", n)
		}
		if report.IsExcused(r) {
			d.Severity, d.Message = diag.Warning, d.Message+" (no regression)"
		}
		d.Span = diag.Span{File: file, Line: line, Column: column, EndLine: line, EndColumn: column + len(r.Case)}
		list = append(list, d)
	}
	out := (&loaded{version: p.version(), command: p.Command()}).caseReport(list, suite, p)
	return renderReport(out, p.Out, diag.Format("github"))
}

// annotationCodes are the titles of annotations.
var annotationCodes = map[evals.Status]diag.Code{evals.Failed: "eval-failed", evals.Errored: "eval-error", evals.Skipped: "eval-skipped"}

// outcomeOf returns the case, variant and status of a run.
func outcomeOf(r *evals.Result) [3]string { return [3]string{r.Case, r.Variant, string(r.Status)} }

// evalText returns a report as text: a line and the failures for each case, then a
// summary.
func evalText(report *evals.Report) string {
	var b strings.Builder
	rows := report.Rows()
	width := 0
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = terminal.OneLine((&evals.Result{Case: row.Case, Variant: row.Variant}).Name())
		width = max(width, len(names[i]))
	}
	for i, row := range rows {
		s := row.Summary
		fmt.Fprintf(&b, "%s %-*s  %d/%d  %s", statusSigns[s.Status()], width, names[i], s.Passed, s.Total(), terminal.Count(s.Usage.Total(), "token", "tokens"))
		if !allReplayed(row.Runs) {
			fmt.Fprintf(&b, "  %s", shortDuration(s.P50))
		}
		if s.Cost != nil {
			fmt.Fprintf(&b, "  %s", s.Cost)
		}
		if s.Total() > 1 {
			fmt.Fprintf(&b, "  %s", s.DescribeRate())
		}
		b.WriteByte('\n')
		for _, r := range row.Runs {
			for _, f := range r.Failures {
				repeat := ""
				if r.Repeat > 1 {
					repeat = fmt.Sprintf("#%d ", r.Repeat)
				}
				fmt.Fprintf(&b, "    %s%s\n", repeat, terminal.IndentRest(terminal.OneLine(f.String())))
			}
		}
	}
	changed := b.Len()
	for i := range report.Changes {
		b.WriteString(changeOfCase(&report.Changes[i], report.Tolerance))
	}
	if report.Baseline != nil && b.Len() == changed {
		compared := len(slices.DeleteFunc(slices.Clone(report.Changes), func(c evals.Change) bool { return c.Case == "" }))
		fmt.Fprintf(&b, "  no change  %d of %s compared with the baseline\n", compared, terminal.Count(len(rows), "case is", "cases are"))
	}
	for _, u := range report.Uncompared {
		fmt.Fprintf(&b, "  not compared  %s: %s\n", terminal.OneLine(u.Case), terminal.OneLine(u.Reason))
	}
	for _, id := range report.Removed {
		fmt.Fprintf(&b, "  removed    %s\n", terminal.OneLine(id))
	}
	s := report.Summary
	fmt.Fprintf(&b, "\n%s passed, %d failed", terminal.Count(s.Passed, "run", "runs"), s.Failed)
	if s.Errored > 0 {
		fmt.Fprintf(&b, ", %s", terminal.Count(s.Errored, "error", "errors"))
	}
	if s.Skipped > 0 {
		fmt.Fprintf(&b, ", %d skipped", s.Skipped)
	}
	fmt.Fprintf(&b, " · %s · %s", s.DescribeRate(), terminal.Count(s.Usage.Total(), "token", "tokens"))
	if s.Cost != nil {
		fmt.Fprintf(&b, " · %s", s.Cost)
	}
	if !allReplayed(report.Results) {
		fmt.Fprintf(&b, " · p50 %s, p95 %s", shortDuration(s.P50), shortDuration(s.P95))
	}
	b.WriteByte('\n')
	if n := len(report.Regressions()); n > 0 {
		fmt.Fprintf(&b, "%s\n", terminal.Count(n, "regression", "regressions"))
	}
	return b.String()
}

// allReplayed reports whether no model was called, so that durations mean nothing.
func allReplayed(results []*evals.Result) bool {
	return !slices.ContainsFunc(results, func(r *evals.Result) bool { return !r.Deterministic })
}

func shortDuration(d time.Duration) string { return d.Round(time.Millisecond).String() }

// changeOfCase describes how a case differs from the baseline; empty if it does not.
func changeOfCase(c *evals.Change, tolerance float64) string {
	name := terminal.OneLine((&evals.Result{Case: cmp.Or(c.Case, "all cases"), Variant: c.Variant}).Name())
	rates := evals.Percent(c.Before.Rate) + " → " + evals.Percent(c.After.Rate)
	switch {
	case c.Regressed(tolerance):
		return fmt.Sprintf("  regressed  %s: %s (%s)\n", name, rates, c.DescribeP())
	case c.Significant && c.Difference > 0:
		return fmt.Sprintf("  improved   %s: %s (%s)\n", name, rates, c.DescribeP())
	case c.Difference != 0:
		return fmt.Sprintf("  no clear change  %s: %s (%s)\n", name, rates, c.DescribeP())
	default:
		return ""
	}
}
