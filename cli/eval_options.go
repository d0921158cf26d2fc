package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/cli/internal/command"
)

// evalOptions are the flags of eval.
type evalOptions struct {
	files  *fileArguments
	format *command.Choice
	agents []string
	tags   []string
	tenant map[string]string
	// overlay is the file with a tenant's overlay, and tenantName that tenant.
	overlay, tenantName string
	models              []string
	matrix              []string
	baseline            string
	record              bool
	live                bool
	runner              evals.Runner
	resume              bool
	results             string
	junit               string
	html                string
	// tolerance is the permitted decrease of a pass rate.
	tolerance float64
}

// checkRecord rejects --record with a flag that changes the cases, because it would overwrite the
// recordings of the original cases.
func (o *evalOptions) checkRecord() error {
	for _, other := range []struct {
		flag, advice string
		given        bool
	}{
		{"--matrix", "compare with --live", len(o.matrix) > 0},
		{"--overlay", "write the overlay in the cases, or compare with --live", o.overlay != ""},
		{"--model", "change the model in the configuration, or compare with --live", len(o.models) > 0},
	} {
		if o.record && other.given {
			return fmt.Errorf("--record and %s exclude each other, because a case has one recording: %s", other.flag, other.advice)
		}
	}
	return nil
}

// check checks the numbers, and that no report replaces an input file or another report.
func (o *evalOptions) check(args []string) error {
	const maxRepeat, maxParallel = 10_000, 1_000
	r := &o.runner
	switch {
	case r.Repeat < 1 || r.Repeat > maxRepeat:
		return fmt.Errorf("--repeat must be 1 to %d", maxRepeat)
	case r.Parallel < 1 || r.Parallel > maxParallel:
		return fmt.Errorf("--parallel must be 1 to %d", maxParallel)
	case r.PerMinute < 0:
		return errors.New("--per-minute must not be negative")
	case !(r.MaxCost >= 0): // NaN is neither
		return errors.New("--max-cost must not be negative")
	case !(o.tolerance >= 0 && o.tolerance <= 1):
		return errors.New("--tolerance must be 0 to 1")
	}
	return o.checkOutputs(append(append([]string{o.overlay}, args...), o.files.files...))
}

// checkOutputs checks that no output replaces an input file or another output.
func (o *evalOptions) checkOutputs(read []string) error {
	clean := func(name string) string {
		if path, err := filepath.Abs(name); err == nil {
			return path
		}
		return name
	}
	taken := map[string]string{}
	for _, name := range read {
		if name != "" {
			taken[clean(name)] = "is read"
		}
	}
	if o.baseline != "" {
		taken[clean(o.baseline)] = "is the baseline"
	}
	for _, out := range []struct{ flag, name string }{{"--results", o.results}, {"--junit", o.junit}, {"--html", o.html}} {
		if out.name == "" {
			continue
		}
		if use := taken[clean(out.name)]; use != "" {
			return fmt.Errorf("%s %s: the file %s; write to another one", out.flag, out.name, use)
		}
		taken[clean(out.name)] = "is already used by " + out.flag
	}
	return nil
}

// mode returns how model requests are answered.
func (o *evalOptions) mode() evals.Mode {
	switch {
	case o.record:
		return evals.ModeRecord
	case o.live:
		return evals.ModeLive
	default:
		return evals.ModeReplay
	}
}
