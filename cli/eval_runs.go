package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/runtime"
	"go.uber.org/zap"
)

// evalRuns has a runner for each variant of the configuration, and one for the baseline.
type evalRuns struct {
	*program
	suite    *evals.Suite
	options  *evalOptions
	runners  []*evals.Runner
	baseline *evals.Runner
	// before are the baseline's results; nil if absent.
	before []*evals.Result
}

// baselineVariant marks the runs of a baseline configuration in the file of --results.
const baselineVariant = "baseline"

// prepareRunners builds the runtimes, checks the cases with each variant, and reads the baseline.
// found are the diagnostics of the files of cases.
func (r *evalRuns) prepareRunners(ctx context.Context, names []string, variants []variant, found diag.List) error {
	for _, v := range variants {
		runner, err := r.newRunner(ctx, names, r.options, v)
		if err != nil {
			return errors.Join(r.showFindings(r.suite, found), err)
		}
		r.runners = append(r.runners, runner)
		found = append(found, runner.Check(ctx)...)
	}
	found = found.Dedup()
	found.Sort(nil)
	if err := r.showFindings(r.suite, found); err != nil {
		return err
	}
	o := r.options
	if o.baseline == "" {
		return nil
	}
	if ext := filepath.Ext(o.baseline); ext == ".json" || ext == ".jsonl" {
		var err error
		r.before, err = readResults(o.baseline)
		r.before = slices.DeleteFunc(r.before, func(one *evals.Result) bool { return one.Variant == baselineVariant })
		if err == nil && len(r.before) == 0 {
			err = fmt.Errorf("--baseline %s: the file has no results", o.baseline)
		}
		return err
	}
	before := *o
	before.record = false // the recordings belong to the new configuration
	before.live = o.record || o.live
	var err error
	r.baseline, err = r.newRunner(ctx, []string{o.baseline}, &before, variant{name: baselineVariant, edit: o.replaceModels})
	return err
}

// newRunner returns a runner of the cases with a configuration.
func (r *evalRuns) newRunner(ctx context.Context, names []string, o *evalOptions, v variant) (*evals.Runner, error) {
	rt, l, err := r.buildForEval(ctx, names, r.suite, o, v)
	if err != nil {
		return nil, err
	}
	runner := o.runner
	runner.Runtime, runner.Suite, runner.Variant, runner.Redact, runner.Mode = rt, r.suite, v.name, l.file.Redact, o.mode()
	runner.Config, runner.EditOverlay = l.file, v.editAgents
	for i := range l.found {
		if d := &l.found[i]; d.Code == diag.UnsetVariable && !within(d.Path, "providers") {
			runner.Unset = append(runner.Unset, d.Path+": "+d.Message)
		}
	}
	return &runner, nil
}

// runCases runs the cases with each variant. The results include canceled runs.
func (r *evalRuns) runCases(ctx context.Context, done []*evals.Result, report func(*evals.Result)) (results []*evals.Result, err error) {
	for _, runner := range r.runners {
		runner.Done, runner.OnResult, runner.Spent = done, report, evals.CostOf(results)
		more, err := runner.Run(ctx)
		results = append(results, more...)
		if err != nil && ctx.Err() == nil {
			return results, err
		}
	}
	return results, nil
}

// compareWith returns the baseline's results for a comparison with results; nil if absent. Baseline
// runs in done are not repeated, and keep receives the others.
func (r *evalRuns) compareWith(ctx context.Context, results, done []*evals.Result, keep func(*evals.Result)) ([]*evals.Result, error) {
	if r.baseline == nil || ctx.Err() != nil {
		return r.before, nil
	}
	r.baseline.Spent, r.baseline.Done, r.baseline.OnResult = evals.CostOf(results), done, keep
	before, err := r.baseline.Run(ctx)
	if ctx.Err() != nil {
		return before, nil // the report shows skipped cases
	}
	return before, err
}

func (r *evalRuns) close() {
	for _, runner := range append(r.runners, r.baseline) {
		if runner != nil {
			_ = runner.Runtime.Close() // nothing runs any more
		}
	}
}

// buildForEval returns the runtime of a configuration. Its variables are required only if models
// are called. A server whose tools are stubbed by all cases is not started.
func (p *program) buildForEval(ctx context.Context, names []string, suite *evals.Suite, o *evalOptions, v variant) (*runtime.AgentRuntime, *loaded, error) {
	l, err := p.loadEdited(names, o.mode() != evals.ModeReplay, zap.NewNop(), v.edit)
	if err != nil {
		return nil, nil, err
	}
	for id, prefix := range l.builder.UnknownTools() {
		if suite.StubsAll(prefix) {
			l.close()
			return nil, nil, fmt.Errorf("the tools of %q are not known, and its server is not started because all cases stub its tools: run %s validate --online once and keep the catalog that it writes", id, p.Command())
		}
	}
	l.toolTime = app.DiscoveryTime
	if err := l.listToolsFor(o.tenant); err != nil {
		l.close()
		return nil, nil, err
	}
	rt, err := l.build(ctx, p)
	if err != nil {
		l.close()
		if _, shown := errors.AsType[command.Exit](err); shown {
			err = command.Exit(command.Usage)
		}
		return nil, nil, err
	}
	return rt, l, nil
}
