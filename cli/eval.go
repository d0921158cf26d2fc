package cli

import (
	"context"
	"errors"
	"os"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/spf13/cobra"
)

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
