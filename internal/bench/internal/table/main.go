// Command table reads the output of "go test -bench" and appends the tables of
// docs/guides/performance.md and of the README: medians over the repetitions (-count) with their
// spread. "make bench" runs it.
package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := printTables(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

// results are the benchmarks' values, by benchmark and unit.
type results struct {
	values map[string]map[string][]float64
	// cpu is the processor, as go test names it.
	cpu string
}

// row is a row of a table: a benchmark and its label.
type row struct{ benchmark, label string }

// compared are the benchmarks with a corresponding hand-written loop. The README has the first
// ones.
var compared = []row{
	{"Turn/deltas=1", "Turn, 1 text delta"},
	{"Turn/deltas=50", "Turn, 50 text deltas"},
	{"Turn/history=200", "Turn, 200 messages of history"},
	{"Turn/parallel", "Turns on both processors, each"},
	{"ConcurrentTurns/1000", "1,000 turns at once, of 2 × 20 ms"},
	{"HTTPTurn", "Turn over HTTP, 10 text deltas"},
	{"Turn/history=200/encoded", "Turn, 200 messages of history, encoded"},
	{"ConcurrentTurns/100", "100 turns at once, of 2 × 20 ms"},
	{"TurnGuarded", "Turn, permission rules and a JSON log"},
	{"TurnTraced", "Turn, OpenTelemetry spans and metrics"},
}

// inReadme is the number of compared rows in the README.
const inReadme = 6

// alone are the benchmarks of work that a hand-written loop does not do.
var alone = []row{
	{"Resolve/tools=10/plugins=2", "Resolve, 10 tools, 2 plugins"},
	{"Resolve/tools=500/patterns=20/plugins=5", "Resolve, 500 tools, 20 patterns, 5 plugins"},
	{"ResolveEphemeral", "Resolve, an agent that the request defines"},
	{"Delegate/local", "Delegation to an agent of the same runtime"},
	{"Delegate/peer", "Delegation to a peer on the same machine, by A2A"},
	{"A2AStream/chunks=4000", "Task of a peer, answered in 4,000 streamed chunks"},
	{"Publish/10", "Publish 1 changed agent of 10, 200 tools"},
	{"Publish/1000", "Publish 1 changed agent of 1,000"},
	{"Publish/10000", "Publish 1 changed agent of 10,000"},
	{"DurableTurn/sqlite", "Kept turn, 64 at a time, SQLite"},
	{"DurableTurn/postgres", "Kept turn, 64 at a time, PostgreSQL"},
}

// printTables copies the output of the benchmarks and appends their tables.
func printTables(in io.Reader, out io.Writer) error {
	r, err := readResults(in, out)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s on %s/%s, %s, %d processors.\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, r.cpu, runtime.NumCPU())
	fmt.Fprint(out, "\n| Benchmark | Turn | Loop | × loop | Spread | CPU of a turn | Of a loop | Memory | Allocations |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, c := range compared {
		if r.has(c) {
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", c.label, r.turn(c), r.loop(c), ratio(r.median(c, "x/loop")),
				ratio(r.median(c, "x/loop-spread")), duration(r.median(c, "cpu-µs/turn")*1e3), duration(r.median(c, "cpu-µs/loop")*1e3),
				r.memory(c), r.allocations(c))
		}
	}
	fmt.Fprint(out, "\n| Benchmark | Time | Spread | Memory | Allocations |\n|---|---:|---:|---:|---:|\n")
	for _, a := range alone {
		if r.has(a) {
			fmt.Fprintf(out, "| %s | %s | %.0f %% | %s | %s |\n", a.label, r.time(a), 100*r.spread(a, "ns/op")/r.median(a, "ns/op"), r.memory(a), r.allocations(a))
		}
	}
	fmt.Fprint(out, "\n| | Turn | Loop | × loop | Allocations |\n|---|---:|---:|---:|---:|\n")
	for _, c := range compared[:inReadme] {
		if r.has(c) {
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", c.label, r.turn(c), r.loop(c), ratio(r.median(c, "x/loop")), r.allocations(c))
		}
	}
	return nil
}

// readResults reads the output of go test, and copies it.
func readResults(in io.Reader, out io.Writer) (*results, error) {
	r := &results{values: make(map[string]map[string][]float64)}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		fmt.Fprintln(out, line)
		if cpu, ok := strings.CutPrefix(line, "cpu: "); ok {
			r.cpu = cpu
		}
		if strings.HasPrefix(line, "--- FAIL") || strings.HasPrefix(line, "FAIL") {
			return nil, fmt.Errorf("a benchmark failed: %s", line)
		}
		r.addLine(line)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(r.values) == 0 {
		return nil, fmt.Errorf("the input has no results of benchmarks: pipe the output of go test -bench into it")
	}
	return r, nil
}

// addLine adds a line's values if it is a benchmark result.
func (r *results) addLine(line string) {
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return
	}
	name := strings.TrimPrefix(fields[0], "Benchmark")
	if before, processors, ok := strings.Cut(name, "-"); ok {
		if _, err := strconv.Atoi(processors); err == nil {
			name = before
		}
	}
	if r.values[name] == nil {
		r.values[name] = make(map[string][]float64)
	}
	for i := 2; i+1 < len(fields); i += 2 {
		if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
			r.values[name][fields[i+1]] = append(r.values[name][fields[i+1]], v)
		}
	}
}

func (r *results) has(row row) bool { return r.values[row.benchmark] != nil }

// median returns the median of the repetitions; NaN if the benchmark does not report
// the unit.
func (r *results) median(row row, unit string) float64 { return r.quantile(row, unit, 0.5) }

// spread returns half the distance between the quartiles of the repetitions.
func (r *results) spread(row row, unit string) float64 {
	return (r.quantile(row, unit, 0.75) - r.quantile(row, unit, 0.25)) / 2
}

func (r *results) quantile(row row, unit string, q float64) float64 {
	values := slices.Sorted(slices.Values(r.values[row.benchmark][unit]))
	if len(values) == 0 {
		return math.NaN()
	}
	at := q * float64(len(values)-1)
	low := int(at)
	high := min(low+1, len(values)-1)
	return values[low] + (at-float64(low))*(values[high]-values[low])
}

// turn and loop return the time of one. Concurrent turns are measured from the start of the first
// to the end of the last.
func (r *results) turn(row row) string {
	if v := r.median(row, "ms/turns"); !math.IsNaN(v) {
		return duration(v * 1e6)
	}
	return duration(r.median(row, "µs/turn") * 1e3)
}

func (r *results) loop(row row) string {
	if v := r.median(row, "ms/loops"); !math.IsNaN(v) {
		return duration(v * 1e6)
	}
	return duration(r.median(row, "µs/loop") * 1e3)
}

// time returns the time of one, or the number per second if they run concurrently.
func (r *results) time(row row) string {
	if v := r.median(row, "turns/s"); !math.IsNaN(v) {
		return thousands(v) + "/s"
	}
	return duration(r.median(row, "ns/op"))
}

// memory and allocations describe one operation. They are empty for parallel operations, where the
// numbers are not exact.
func (r *results) memory(row row) string {
	if !math.IsNaN(r.median(row, "ms/turns")) {
		return ""
	}
	return thousands(r.median(row, "B/op")) + " B"
}

func (r *results) allocations(row row) string {
	if !math.IsNaN(r.median(row, "ms/turns")) {
		return ""
	}
	return thousands(r.median(row, "allocs/op"))
}

// duration returns a time with two digits, or as many as its unit needs.
func duration(ns float64) string {
	if math.IsNaN(ns) {
		return ""
	}
	for _, u := range []struct {
		name string
		ns   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if ns >= u.ns {
			return ratio(ns/u.ns) + " " + u.name
		}
	}
	return fmt.Sprintf("%.0f ns", ns)
}

// ratio returns a number with two digits, or as many as it has before the point.
func ratio(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case v < 9.95:
		return fmt.Sprintf("%.1f", v)
	default:
		return thousands(v)
	}
}

// thousands returns a whole number with commas.
func thousands(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	digits := strconv.FormatInt(int64(math.Round(v)), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
