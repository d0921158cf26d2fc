package evals

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	"maragu.dev/gomponents/html"
)

//go:embed report.css
var reportCSS string

// maxTranscripts limits the transcripts in an HTML report, in bytes of text.
const maxTranscripts = 16 << 20

// WriteHTML writes the report as one HTML file that has no scripts and loads nothing. It shows the
// baseline's transcripts beside the run's. Beyond 16 MiB it omits transcripts, starting with passed
// runs.
func (r *Report) WriteHTML(w io.Writer) error {
	s, shown := r.Summary, r.selectTranscripts(maxTranscripts)
	return html.Doctype(html.HTML(html.Lang("en"),
		html.Head(
			html.Meta(html.Charset("utf-8")), html.Meta(html.Name("viewport"), html.Content("width=device-width, initial-scale=1")),
			html.Link(html.Rel("icon"), html.Href("data:,")),
			html.TitleEl(g.Textf("Evals: %d of %d passed", s.Passed, s.Total())),
			html.StyleEl(g.Raw(reportCSS)),
		),
		html.Body(
			html.H1(g.Text("Evals")),
			html.P(html.Strong(g.Textf("%d of %d runs passed", s.Passed, s.Total())), g.Text(s.details())),
			g.If(len(r.Changes) > 0, changesHTML(r.Changes)),
			g.If(len(r.Removed) > 0, html.P(g.Text("Removed since the baseline: "+strings.Join(r.Removed, ", ")))),
			g.Map(r.Uncompared, func(u Uncompared) g.Node { return html.P(g.Text("Not compared: " + u.Case + ": " + u.Reason)) }),
			html.H2(g.Text("Cases")),
			g.Map(r.Rows(), func(row *Row) g.Node { return r.rowHTML(row, shown) }),
		),
	)).Render(w)
}

// details describes the summary except for the passed runs.
func (s *Summary) details() string {
	text := ""
	if s.Errored > 0 {
		text += fmt.Sprintf(", errors: %d", s.Errored)
	}
	if s.Skipped > 0 {
		text += fmt.Sprintf(", skipped: %d", s.Skipped)
	}
	text += fmt.Sprintf(" · %s · %d tokens", s.DescribeRate(), s.Usage.Total())
	if s.Cost != nil {
		text += " · " + s.Cost.String()
	}
	return text + fmt.Sprintf(" · latency p50 %s, p95 %s", shortTime(s.P50), shortTime(s.P95))
}

func shortTime(d time.Duration) string { return d.Round(time.Millisecond).String() }

func changesHTML(changes []Change) g.Node {
	return html.Div(
		html.H2(g.Text("Compared with the baseline")),
		html.Table(
			html.THead(html.Tr(html.Th(g.Text("Case")), html.Th(g.Text("Before")), html.Th(g.Text("After")), html.Th(g.Text("Difference")), html.Th(g.Text("p")))),
			html.TBody(g.Map(changes, func(c Change) g.Node {
				class := "number"
				switch {
				case c.Significant && c.Difference < 0:
					class += " failed"
				case c.Significant:
					class += " passed"
				}
				return html.Tr(
					html.Td(g.Text(strings.TrimSpace(cmp.Or(c.Case, "all cases")+" "+c.Variant))), html.Td(html.Class("number"), g.Text(Percent(c.Before.Rate))), html.Td(html.Class("number"), g.Text(Percent(c.After.Rate))),
					html.Td(html.Class(class), g.Text(Percent(c.Difference))), html.Td(html.Class("number"), g.Text(c.DescribeP())),
				)
			})),
		),
	)
}

// selectTranscripts returns the results whose transcripts fit into room bytes, failed runs first.
func (r *Report) selectTranscripts(room int) map[*Result]bool {
	all := slices.SortedStableFunc(slices.Values(slices.Concat(r.Results, r.Baseline)), func(a, b *Result) int {
		switch passed := a.Status == Passed; {
		case passed == (b.Status == Passed):
			return 0
		case passed:
			return 1
		default:
			return -1
		}
	})
	shown := make(map[*Result]bool)
	for _, one := range all {
		if size := one.transcriptSize(); size <= room {
			room -= size
			shown[one] = true
		}
	}
	return shown
}

// transcriptSize returns the size of the texts of a transcript, in bytes.
func (r *Result) transcriptSize() (size int) {
	for _, t := range r.Turns {
		size += len(t.Prompt) + len(t.Response)
		for _, c := range t.Calls {
			size += len(c.Arguments) + len(c.Result)
		}
		for i := range t.Verdicts {
			size += len(t.Verdicts[i].Prompt) + len(t.Verdicts[i].Comment)
		}
	}
	return size
}

// rowHTML shows the runs of a case, expanded if something went wrong.
func (r *Report) rowHTML(row *Row, shown map[*Result]bool) g.Node {
	status := row.Summary.Status()
	return html.Details(
		g.If(status == Failed || status == Errored, g.Attr("open")),
		g.El("summary", html.Span(html.Class(string(status)), g.Textf("%d/%d", row.Summary.Passed, row.Summary.Total())), html.Strong(g.Text(" "+row.Case)), g.Text(" "+row.Variant)),
		g.Map(row.Runs, func(run *Result) g.Node {
			var before g.Node
			if i := slices.IndexFunc(r.Baseline, func(b *Result) bool { return b.Case == run.Case && b.Repeat == run.Repeat }); i >= 0 {
				before = resultHTML("Baseline", r.Baseline[i], shown)
			}
			return html.Div(html.Class("sides"), before, resultHTML(fmt.Sprintf("Run %d", run.Repeat), run, shown))
		}),
	)
}

// resultHTML shows a run with its failures, and its transcript if selected.
func resultHTML(title string, r *Result, shown map[*Result]bool) g.Node {
	transcript := html.P(g.Text("The transcript is left out, because the report is too large."))
	if shown[r] {
		transcript = g.Map(r.Turns, turnHTML)
	}
	return html.Section(
		html.H3(g.Text(title+": "), html.Span(html.Class(string(r.Status)), g.Text(string(r.Status)))),
		g.If(len(r.Failures) > 0, html.Ul(g.Map(r.Failures, func(f Failure) g.Node { return html.Li(html.Class("failed"), g.Text(f.String())) }))),
		transcript,
	)
}

func turnHTML(t *TurnResult) g.Node {
	status := fmt.Sprintf("%s · steps: %d · tokens: %d", t.Status, t.Steps, t.Usage.Total())
	if t.Cost != nil {
		status += " · " + t.Cost.String()
	}
	return html.Div(html.Class("turn"),
		html.P(html.Strong(g.Text("User: ")), g.Text(t.Prompt)),
		g.Map(t.Calls, func(c *CallResult) g.Node {
			return html.Details(
				g.El("summary", g.Text(strings.Repeat("↳ ", len(c.Path))), html.Code(g.Text(c.Tool)), g.Text(" "+string(c.Outcome))),
				html.Pre(g.Text(string(c.Arguments))), html.Pre(g.Text(c.Result)),
			)
		}),
		html.P(html.Strong(g.Text(t.Agent+": ")), g.Text(cmp.Or(t.Response, "–"))),
		html.P(g.Text(status+" · "+shortTime(t.Duration))),
		g.Map(t.Verdicts, func(v Verdict) g.Node {
			class := "failed"
			if v.Pass {
				class = "passed"
			}
			return html.Details(g.El("summary", html.Class(class), g.Textf("%s: %.2f %s", v.Judge, v.Score, v.Comment)), html.Pre(g.Text(v.Prompt)))
		}),
	)
}
