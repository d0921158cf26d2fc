package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/evals"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// evalOptions are the flags of eval.
type evalOptions struct {
	files    *fileArguments
	format   *choice
	agents   []string
	tags     []string
	tenant   tenantFlags
	models   []string
	matrix   []string
	baseline string
	record   bool
	live     bool
	runner   evals.Runner
	resume   bool
	results  string
	junit    string
	html     string
	// tolerance is by how much a pass rate may fall.
	tolerance float64
}

func newEval(p *program) *cobra.Command {
	var o evalOptions
	cmd := &cobra.Command{
		Use:   "eval (FILE | -f FILE…) [CASES…]",
		Short: "Test what agents do with cases",
		Long: `eval runs cases against the agents of a configuration and checks the tools they call,
what they answer, and what a turn costs. Agents are resolved as in production. CASES are
files or directories; the default is the directory evals next to FILE.

Models answer from the recordings next to the cases, so a run needs no keys. --record
asks the models and writes the recordings; --live asks them and writes nothing. Tools
with effect: read run; every other call needs a stub in the case, or the case is an
error and nothing is called.

With --baseline, which is a results file or the files of another configuration, eval
shows what improved and what regressed. A difference counts if it is unlikely to be
chance (one-sided p < 0.05), or if models answered from recordings. Then only
regressions fail the command.

--results FILE keeps each result as it comes. After an interruption, --resume continues
from it: runs that passed or failed are not repeated.

Exit codes: 0 done, 1 a case failed, is an error, or regressed, 2 usage, or a file is
invalid or cannot be read, 130 canceled.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.resume && o.results == "" {
				return usagef(cmd, "--resume needs --results")
			}
			if err := o.check(args); err != nil {
				return usagef(cmd, "%w", err)
			}
			if len(o.files.files) > 0 {
				return nil
			}
			return arguments(1, unlimited)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			names, cases := o.files.split(args, 1)
			return p.eval(cmd.Context(), names, cases, &o)
		},
	}
	o.files = filesFlag(cmd)
	o.format = formatFlag(cmd, "text", "json", "junit", "github", "html")
	f := cmd.Flags()
	f.StringArrayVar(&o.agents, "agent", nil, "run only the cases of this agent `ID`; can be repeated")
	f.StringArrayVar(&o.tags, "tag", nil, "run only cases with this `TAG`; can be repeated")
	f.Var(&o.tenant, "tenant", "set a variable of the tenant of all cases: `NAME=VALUE`; can be repeated")
	f.StringArrayVar(&o.models, "model", nil, "replace a model by another one of the configuration: `ID=OTHER`; can be repeated")
	f.StringArrayVar(&o.matrix, "matrix", nil, "run all cases with each value: `model=ID,ID` or prompt=FILE,FILE; can be repeated")
	f.StringVar(&o.baseline, "baseline", "", "compare with `FILE`: results, or another configuration")
	f.Float64Var(&o.tolerance, "tolerance", 0, "how far a pass rate may fall, from 0 to 1")
	f.BoolVar(&o.record, "record", false, "ask the models and record their answers")
	f.BoolVar(&o.live, "live", false, "ask the models without recording")
	f.IntVar(&o.runner.Repeat, "repeat", 1, "how often each case runs")
	f.IntVar(&o.runner.Parallel, "parallel", 4, "how many cases run at once")
	f.IntVar(&o.runner.PerMinute, "per-minute", 0, "how many cases start in a minute; 0 for no limit")
	f.Float64Var(&o.runner.MaxCost, "max-cost", 0, "start no case after this cost, in the currency of the models; 0 for no limit")
	f.StringVar(&o.results, "results", "", "write each result to `FILE` as JSON lines")
	f.BoolVar(&o.resume, "resume", false, "continue from the results in --results")
	f.StringVar(&o.junit, "junit", "", "write JUnit XML to `FILE`")
	f.StringVar(&o.html, "html", "", "write an HTML report to `FILE`")
	cmd.MarkFlagsMutuallyExclusive("record", "live")
	cmd.MarkFlagsMutuallyExclusive("record", "matrix")
	cmd.AddCommand(newEvalAdd(p), newEvalSchema(p))
	return cmd
}

// check checks the numbers, and that no report replaces a file that is read or another
// report.
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
	taken := map[string]string{}
	for _, name := range append(append([]string{o.baseline}, args...), o.files.files...) {
		taken[filepath.Clean(name)] = "is read"
	}
	for _, out := range []struct{ flag, name string }{{"--results", o.results}, {"--junit", o.junit}, {"--html", o.html}} {
		if out.name == "" {
			continue
		}
		if use := taken[filepath.Clean(out.name)]; use != "" {
			return fmt.Errorf("%s %s: the file %s", out.flag, out.name, use)
		}
		taken[filepath.Clean(out.name)] = "is that of " + out.flag
	}
	return nil
}

// newEvalSchema returns the command that prints the schema of files of cases.
func newEvalSchema(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of files of cases",
		Args:  arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := p.out.Write(evals.Schema())
			return err
		},
	}
}

// eval runs the cases and reports.
func (p *program) eval(ctx context.Context, names, cases []string, o *evalOptions) error {
	suite, err := p.loadCases(names, cases, o)
	if err != nil {
		return err
	}
	variants, err := o.variants(suite)
	if err != nil {
		return err
	}
	sink, done, err := o.openResults()
	if err != nil {
		return err
	}
	defer sink.close()
	show := newEvalShow(p, len(suite.Cases)*max(o.runner.Repeat, 1)*len(variants))
	var results []*evals.Result
	for _, v := range variants {
		more, err := p.runVariant(ctx, names, suite, o, v, done, func(r *evals.Result) {
			sink.write(r)
			show.advance()
		})
		results = append(results, more...)
		if err != nil {
			show.end()
			return err
		}
	}
	show.end()
	baseline, err := p.baselineOf(ctx, suite, o)
	if err != nil {
		return err
	}
	report := evals.NewReport(results, baseline, o.tolerance)
	if err := errors.Join(sink.err, p.writeReports(suite, report, o)); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !report.Passed():
		return exit{exitFailed}
	}
	return nil
}

// loadCases reads the cases that the flags select.
func (p *program) loadCases(names, cases []string, o *evalOptions) (*evals.Suite, error) {
	if len(cases) == 0 {
		dir := names[0]
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			dir = filepath.Dir(dir)
		}
		cases = []string{filepath.Join(dir, "evals")}
	}
	files, err := expandCases(cases)
	if err != nil {
		return nil, err
	}
	suite, found, err := evals.Load(files)
	if err != nil {
		return nil, err
	}
	if found.HasErrors() {
		report := (&loaded{version: p.version(), command: p.command()}).caseReport(found.Errors(), suite, p)
		if err := renderReport(report, p.err, "text"); err != nil {
			return nil, err
		}
		return nil, exit{exitUsage}
	}
	suite.Select(func(c *evals.Case) bool {
		tagged := len(o.tags) == 0 || slices.ContainsFunc(o.tags, func(tag string) bool { return slices.Contains(c.Tags, tag) })
		return tagged && (len(o.agents) == 0 || slices.Contains(o.agents, c.Agent))
	})
	if len(suite.Cases) == 0 {
		return nil, fmt.Errorf("no case is selected in %s", strings.Join(files, ", "))
	}
	for _, c := range suite.Cases {
		for name, value := range o.tenant.values {
			if c.TenantVariables == nil {
				c.TenantVariables = make(map[string]string)
			}
			c.TenantVariables[name] = value
		}
	}
	return suite, nil
}

// expandCases returns the files of cases in files and directories.
func expandCases(names []string) (files []string, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("read cases: %w", err)
		}
		if !info.IsDir() {
			files = append(files, name)
			continue
		}
		before := len(files)
		err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read cases: %w", err)
		}
		if len(files) == before {
			return nil, fmt.Errorf("read cases: %s has no YAML files", name)
		}
	}
	return files, nil
}

// runVariant runs the cases with one variant of the configuration.
func (p *program) runVariant(ctx context.Context, names []string, suite *evals.Suite, o *evalOptions, v variant, done []*evals.Result, report func(*evals.Result)) ([]*evals.Result, error) {
	rt, l, err := p.buildForEval(ctx, names, o, v)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rt.Close() }()
	runner := o.runner
	runner.Runtime, runner.Suite, runner.Variant, runner.Redact = rt, suite, v.name, l.file.Redact
	runner.Mode, runner.Done, runner.OnResult = o.mode(), done, report
	results, err := runner.Run(ctx)
	if ctx.Err() != nil {
		return results, nil // the report shows what was skipped
	}
	return results, err
}

// mode returns what answers the requests to models.
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

// buildForEval returns the runtime of a configuration. Its variables are required only if
// models are asked.
func (p *program) buildForEval(ctx context.Context, names []string, o *evalOptions, v variant) (*runtime.AgentRuntime, *loaded, error) {
	l, err := p.loadEdited(names, o.mode() != evals.ModeReplay, zap.NewNop(), v.edit)
	if err != nil {
		return nil, nil, err
	}
	l.toolTime = app.DiscoveryTime
	l.builder.ListToolsFor(o.tenant.values)
	rt, err := l.build(ctx, p)
	if err != nil {
		l.close()
		if _, shown := errors.AsType[exit](err); shown {
			err = exit{exitUsage}
		}
		return nil, nil, err
	}
	return rt, l, nil
}

// baselineOf returns the results that the run is compared with; nil for none.
func (p *program) baselineOf(ctx context.Context, suite *evals.Suite, o *evalOptions) ([]*evals.Result, error) {
	if o.baseline == "" || ctx.Err() != nil {
		return nil, nil
	}
	if ext := filepath.Ext(o.baseline); ext == ".json" || ext == ".jsonl" {
		results, err := readResults(o.baseline)
		if err == nil && len(results) == 0 {
			err = fmt.Errorf("--baseline %s: the file has no results", o.baseline)
		}
		return results, err
	}
	before := *o
	before.record = false // the recordings are those of the new configuration
	before.live = o.record || o.live
	return p.runVariant(ctx, []string{o.baseline}, suite, &before, variant{edit: o.replaceModels}, nil, nil)
}
