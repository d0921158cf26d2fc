package evals

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event"
)

// confidence is the quantile of the standard normal distribution for an interval of 99 %.
const confidence = 2.5758293035489004

// significance is the probability of mistaking noise for a difference. When several cases are
// compared, the variants as wholes share half of it and the cases the other half, so that a suite
// of a hundred cases raises no more false alarms than one of two.
const significance = 0.05

// Rate is a pass rate with its interval.
type Rate struct {
	Passed int     `json:"passed"`
	Runs   int     `json:"runs"`
	Rate   float64 `json:"rate"`
	// Low and High bound the interval that holds the true rate with a confidence of 99 %:
	// the score interval of E. B. Wilson, 1927.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// newRate returns the rate of runs that passed.
func newRate(passed, runs int) Rate {
	r := Rate{Passed: passed, Runs: runs, High: 1}
	if runs == 0 {
		return r
	}
	n, z2 := float64(runs), confidence*confidence
	r.Rate = float64(passed) / n
	center := (r.Rate + z2/(2*n)) / (1 + z2/n)
	half := confidence / (1 + z2/n) * math.Sqrt(r.Rate*(1-r.Rate)/n+z2/(4*n*n))
	r.Low, r.High = max(0, center-half), min(1, center+half)
	return r
}

// pair holds the pass rates of one case before and after a change.
type pair struct{ before, after Rate }

// improvementOf tests whether runs of several cases passed more often after a change, or less
// often. p is the probability that equal rates differ as much by chance: the one-sided test of
// Cochran, Mantel and Haenszel without a correction, which for one case is the score test of two
// proportions.
func improvementOf(pairs []pair) (difference, p float64) {
	var sum, variance, weights float64
	for _, one := range pairs {
		a, b := float64(one.after.Runs), float64(one.before.Runs)
		n := a + b
		if a == 0 || b == 0 {
			continue
		}
		passed := float64(one.after.Passed + one.before.Passed)
		sum += float64(one.after.Passed) - a*passed/n
		variance += a * b * passed * (n - passed) / (n * n * n)
		difference += (one.after.Rate - one.before.Rate) * a * b / n
		weights += a * b / n
	}
	if weights > 0 {
		difference /= weights
	}
	if variance == 0 {
		return difference, 1
	}
	return difference, math.Erfc(math.Abs(sum)/math.Sqrt(variance)/math.Sqrt2) / 2
}

// Summary sums up the results of a run.
type Summary struct {
	Rate
	Failed  int `json:"failed"`
	Errored int `json:"errors"`
	Skipped int `json:"skipped"`
	// Usage and Cost cover agents and judges.
	Usage event.Usage   `json:"usage,omitzero"`
	Cost  *event.Cost   `json:"cost,omitempty"`
	P50   time.Duration `json:"p50_ns"`
	P95   time.Duration `json:"p95_ns"`
}

// summarizeResults returns the summary of results. Errored and skipped runs do not count for the rate.
func summarizeResults(results []*Result) Summary {
	var s Summary
	var durations []time.Duration
	passed := 0
	for _, r := range results {
		s.Usage.Add(r.Usage) // a canceled run costs something too
		s.Cost = addCost(s.Cost, r.Cost)
		switch r.Status {
		case Passed:
			passed++
		case Failed:
			s.Failed++
		case Errored:
			s.Errored++
		case Skipped:
			s.Skipped++
			continue
		}
		durations = append(durations, r.Duration)
	}
	s.Rate = newRate(passed, passed+s.Failed)
	slices.Sort(durations)
	s.P50, s.P95 = percentile(durations, 50), percentile(durations, 95)
	return s
}

// Total returns the number of runs, including errored and skipped ones.
func (s *Summary) Total() int { return s.Runs + s.Errored + s.Skipped }

// DescribeRate returns the pass rate with its interval and the number of runs.
func (s *Summary) DescribeRate() string {
	if s.Runs == 0 {
		return "no pass rate"
	}
	of := ""
	if s.Total() > s.Runs {
		of = fmt.Sprintf("of %d of %d runs, the others have no outcome; ", s.Runs, s.Total())
	}
	return fmt.Sprintf("pass rate %s (%s99 %% interval %.0f–%.0f %%)", Percent(s.Rate.Rate), of, 100*s.Low, 100*s.High)
}

// Percent returns a rate in percent. Only a rate of 1 is 100 %, and only 0 is 0 %.
func Percent(rate float64) string {
	if shown := 100 * math.Abs(rate); shown > 0 && shown < 0.5 || shown >= 99.5 && shown < 100 {
		return fmt.Sprintf("%.1f %%", math.Copysign(min(max(shown, 0.1), 99.9), rate))
	}
	return fmt.Sprintf("%.0f %%", 100*rate)
}

// Status returns the worst outcome among the results: Errored, Failed, Skipped or Passed.
func (s *Summary) Status() Status {
	switch {
	case s.Errored > 0:
		return Errored
	case s.Failed > 0:
		return Failed
	case s.Skipped > 0:
		return Skipped
	default:
		return Passed
	}
}

// percentile returns the smallest duration that at least p percent do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max((len(sorted)*p+99)/100-1, 0)]
}

// Change compares the runs of a case or suite with a baseline.
type Change struct {
	// Case is empty for the suite as a whole.
	Case string `json:"case,omitempty"`
	// Variant names the values of a matrix used by the runs; empty for none.
	Variant string `json:"variant,omitempty"`
	Before  Rate   `json:"before"`
	After   Rate   `json:"after"`
	// Difference is the difference of the rates; for a suite it is weighted by the runs of each
	// case.
	Difference float64 `json:"difference"`
	// P is the probability that equal rates differ as much by chance; 0 for deterministic runs.
	P           float64 `json:"p"`
	Significant bool    `json:"significant"`
}

// DescribeP returns P in words.
func (c *Change) DescribeP() string {
	switch {
	case c.P == 0:
		return "not chance: the outcomes do not vary"
	case c.P < 0.001:
		return "p < 0.001"
	default:
		return fmt.Sprintf("p = %.3f", c.P)
	}
}

// Regressed reports whether the rate fell by more than tolerance, and not by chance.
func (c *Change) Regressed(tolerance float64) bool {
	return c.Significant && c.Difference < -tolerance
}

// compare compares results with a baseline: case by case, then each variant as a whole if its runs
// vary. It omits cases that only one side has. A variant missing from the baseline is compared with
// all of the baseline's runs of the case.
func compare(before, after []*Result) []Change {
	was, rows := ratesOf(before), groupRuns(before)
	var changes []Change
	pairs, variants, varying := make(map[string][]pair), []string(nil), make(map[string]bool)
	for _, row := range (&Report{Results: after}).Rows() {
		runs := rows[rowKey{row.Case, row.Variant}]
		p := pair{ratesOf(runs)[row.Case], row.Summary.Rate}
		if p.before.Runs == 0 {
			runs = slices.DeleteFunc(slices.Clone(before), func(r *Result) bool { return r.Case != row.Case })
			p.before = was[row.Case]
		}
		if p.before.Runs == 0 || p.after.Runs == 0 {
			continue
		}
		change := newChange(row.Case, row.Variant, []pair{p})
		if fixed := areDeterministic(runs) && areDeterministic(row.Runs); !fixed {
			varying[row.Variant] = true
		} else if change.Difference != 0 {
			change.P = 0
		}
		changes = append(changes, change)
		if pairs[row.Variant] == nil {
			variants = append(variants, row.Variant)
		}
		pairs[row.Variant] = append(pairs[row.Variant], p)
	}
	var wholes []Change
	for _, v := range variants {
		if len(pairs[v]) > 1 && varying[v] { // otherwise chance plays no part
			wholes = append(wholes, newChange("", v, pairs[v]))
		}
	}
	limit := significance
	if len(wholes) > 0 {
		limit /= 2
	}
	markSignificant(changes, limit)
	markSignificant(wholes, limit)
	return append(changes, wholes...)
}

// markSignificant marks the changes that are unlikely to be chance. limit is the probability of a
// false alarm for all of them together.
func markSignificant(changes []Change, limit float64) {
	for i := range changes {
		changes[i].Significant = changes[i].P < limit/float64(len(changes))
	}
}

// newChange compares the runs of cases, each before and after.
func newChange(id, variant string, pairs []pair) Change {
	var before, after Rate
	for _, p := range pairs {
		before.Passed, before.Runs = before.Passed+p.before.Passed, before.Runs+p.before.Runs
		after.Passed, after.Runs = after.Passed+p.after.Passed, after.Runs+p.after.Runs
	}
	c := Change{Case: id, Variant: variant, Before: newRate(before.Passed, before.Runs), After: newRate(after.Passed, after.Runs)}
	c.Difference, c.P = improvementOf(pairs)
	return c
}

// areDeterministic reports whether runs always have the same outcome.
func areDeterministic(runs []*Result) bool {
	return !slices.ContainsFunc(runs, func(r *Result) bool { return !r.Deterministic })
}

// rowKey identifies the runs of a case with a variant.
type rowKey struct{ id, variant string }

func groupRuns(results []*Result) map[rowKey][]*Result {
	rows := make(map[rowKey][]*Result)
	for _, r := range results {
		key := rowKey{r.Case, r.Variant}
		rows[key] = append(rows[key], r)
	}
	return rows
}

// ratesOf returns the rates by case.
func ratesOf(results []*Result) map[string]Rate {
	byCase := make(map[string][]*Result)
	for _, r := range results {
		byCase[r.Case] = append(byCase[r.Case], r)
	}
	rates := make(map[string]Rate, len(byCase))
	for id, runs := range byCase {
		rates[id] = summarizeResults(runs).Rate
	}
	return rates
}
