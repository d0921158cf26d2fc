package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/spf13/cobra"
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
chance (one-sided p < 0.05 for the whole suite), or if models answered from recordings.
Then only regressions fail the command.

--results FILE keeps each result in a new file as it comes. After an interruption,
--resume continues from it: runs that passed or failed are not repeated.

Exit codes: 0 done, 1 a case failed, is an error, or regressed, 2 usage, or a file is
invalid or cannot be read, 130 canceled.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.resume && o.results == "" {
				return command.Usagef(cmd, "--resume needs --results")
			}
			if o.tenantName != "" && o.overlay == "" {
				return command.Usagef(cmd, "--tenant needs --overlay: the file with the tenant's overlay")
			}
			if o.baseline == "" && cmd.Flags().Changed("tolerance") {
				return command.Usagef(cmd, "--tolerance needs --baseline")
			}
			for _, err := range []error{o.checkRecord(), o.check(args)} {
				if err != nil {
					return command.Usagef(cmd, "%w", err)
				}
			}
			if len(o.files.files) > 0 {
				return nil
			}
			return command.Arguments(1, command.Unlimited)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			names, cases := o.files.split(args, 1)
			return p.eval(cmd.Context(), names, cases, &o)
		},
	}
	o.files = filesFlag(cmd)
	o.format = command.AddFormatFlag(cmd, "text", "json", "junit", "github", "html")
	f := cmd.Flags()
	f.StringArrayVar(&o.agents, "agent", nil, "run only the cases of this agent `ID`; can be repeated")
	f.StringArrayVar(&o.tags, "tag", nil, "run only cases with this `TAG`; can be repeated")
	f.Var(&command.Assignments[string]{To: &o.tenant, Form: command.TextForm, Variable: true}, "tenant-variable", "set a variable of the tenant of all cases: `NAME=VALUE`; can be repeated")
	f.StringVar(&o.overlay, "overlay", "", "run all cases in the tenant's overlay in this `FILE`")
	f.StringVar(&o.tenantName, "tenant", "", "with --overlay, the `NAME` of the tenant")
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
	f.StringVar(&o.results, "results", "", "write each result to the new `FILE` as JSON lines")
	f.BoolVar(&o.resume, "resume", false, "continue from the results in --results")
	f.StringVar(&o.junit, "junit", "", "write JUnit XML to `FILE`")
	f.StringVar(&o.html, "html", "", "write an HTML report to `FILE`")
	command.ExcludeFlags(cmd, "record", "live")
	cmd.AddCommand(newEvalAdd(p), newEvalSchema(p))
	return cmd
}

// checkRecord rejects --record with a flag that changes the cases, because the recordings would
// replace those of the unchanged cases.
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

// newEvalSchema returns the command that prints the schema of files of cases.
func newEvalSchema(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of files of cases",
		Args:  command.Arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := p.Out.Write(evals.Schema())
			return err
		},
	}
}

// eval runs the cases and reports the results. All possible checks precede the first case.
func (p *program) eval(ctx context.Context, names, cases []string, o *evalOptions) error {
	suite, found, err := p.loadCases(names, cases, o)
	if err != nil {
		return err
	}
	variants, err := o.variants(suite)
	if err != nil {
		return err
	}
	runs := &evalRuns{program: p, suite: suite, options: o}
	defer runs.close()
	if err := runs.prepareRunners(ctx, names, variants, found); err != nil {
		return err
	}
	files := &reportFiles{open: make(map[string]*os.File)}
	defer files.close()
	if err := files.openAll(o.junit, o.html); err != nil {
		return err
	}
	sink, done, err := o.openResults()
	if err != nil {
		return err
	}
	defer sink.close()
	show := newEvalShow(p, len(suite.Cases)*max(o.runner.Repeat, 1)*len(variants))
	results, err := runs.runCases(ctx, done, func(r *evals.Result) {
		sink.write(r)
		show.advance()
	})
	show.erase()
	if err != nil {
		return err
	}
	baseline, err := runs.compareWith(ctx, results, done, sink.write)
	if err != nil {
		return err
	}
	report := evals.NewReport(results, baseline, o.tolerance)
	report.Removed = suite.Removed(baseline)
	if err := errors.Join(sink.check(), p.writeReports(suite, report, files, o)); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !report.Passed():
		return command.Exit(command.Failed)
	}
	return nil
}

// loadCases reads the cases that the flags select, with the diagnostics of their files.
func (p *program) loadCases(names, cases []string, o *evalOptions) (*evals.Suite, diag.List, error) {
	if len(cases) == 0 {
		dir := names[0]
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("read configuration: there is no file or directory %s", dir)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read configuration: %w", err)
		}
		if !info.IsDir() {
			dir = filepath.Dir(dir)
		}
		cases = []string{filepath.Join(dir, "evals")}
		if _, err := os.Stat(cases[0]); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("read cases: there is no directory %s: write cases there, or name their files after FILE", cases[0])
		}
	}
	files, err := expandCases(cases)
	if err != nil {
		return nil, nil, err
	}
	if err := o.checkOutputs(files); err != nil {
		return nil, nil, err
	}
	suite, found, err := evals.Load(files)
	if err != nil {
		return nil, nil, err
	}
	if err := o.selectCases(suite, files); err != nil {
		return nil, nil, errors.Join(p.showFindings(suite, found), err)
	}
	for _, c := range suite.Cases {
		if o.overlay != "" {
			c.Overlay, c.Tenant = o.overlay, cmp.Or(o.tenantName, c.Tenant)
		}
		for name, value := range o.tenant {
			if c.TenantVariables == nil {
				c.TenantVariables = make(map[string]string)
			}
			c.TenantVariables[name] = value
		}
	}
	return suite, found, nil
}

// selectCases keeps the cases that --agent and --tag select.
func (o *evalOptions) selectCases(suite *evals.Suite, files []string) error {
	if len(suite.Cases) == 0 {
		return fmt.Errorf("%s: there are no cases", strings.Join(files, ", "))
	}
	var agents, tags []string
	for _, c := range suite.Cases {
		agents, tags = append(agents, c.Agent), append(tags, c.Tags...)
	}
	for _, of := range []struct {
		flag         string
		asked, known []string
	}{{"agent", o.agents, agents}, {"tag", o.tags, tags}} {
		slices.Sort(of.known)
		for _, value := range of.asked {
			if !slices.Contains(of.known, value) {
				known := cmp.Or(strings.Join(slices.Compact(of.known), ", "), "none")
				return fmt.Errorf("--%s %s: no case has this %[1]s; the cases have: %[3]s", of.flag, value, known)
			}
		}
	}
	suite.Select(func(c *evals.Case) bool {
		tagged := len(o.tags) == 0 || slices.ContainsFunc(o.tags, func(tag string) bool { return slices.Contains(c.Tags, tag) })
		return tagged && (len(o.agents) == 0 || slices.Contains(o.agents, c.Agent))
	})
	if len(suite.Cases) == 0 {
		return errors.New("no case has both an agent of --agent and a tag of --tag")
	}
	return nil
}

// expandCases returns the case files among files and directories.
func expandCases(names []string) (files []string, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read cases: there is no file or directory %s", name)
		}
		if err != nil {
			return nil, fmt.Errorf("read cases: %w", err)
		}
		if !info.IsDir() {
			files = append(files, name)
			continue
		}
		found, err := yamlFiles(name)
		if err != nil {
			return nil, fmt.Errorf("read cases: %w", err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("read cases: %s has no YAML files", name)
		}
		files = append(files, found...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(files, func(name string) bool {
		path, err := filepath.Abs(name)
		if target, linkErr := filepath.EvalSymlinks(path); linkErr == nil {
			path = target
		}
		twice := err == nil && seen[path]
		seen[path] = true
		return twice
	}), nil
}

// yamlFiles returns the YAML files in a directory.
func yamlFiles(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) {
			files = append(files, path)
		}
		return err
	})
	return files, err
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
