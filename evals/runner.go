package evals

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/runtime"
)

// Mode selects what answers the requests to models in cases that replay a recording.
type Mode string

// The modes.
const (
	// ModeReplay answers from recordings. It is the default.
	ModeReplay Mode = "replay"
	// ModeRecord asks the models, and writes the recordings of the cases that pass or fail.
	ModeRecord Mode = "record"
	// ModeLive asks the models and records nothing.
	ModeLive Mode = "live"
)

// Runner runs the cases of a suite. The fields are set before Run.
type Runner struct {
	// Runtime resolves and runs the agents.
	Runtime *runtime.AgentRuntime
	Suite   *Suite
	Mode    Mode
	// Repeat is how often each case runs; it defaults to 1.
	Repeat int
	// Parallel is how many runs take place at once; it defaults to 1.
	Parallel int
	// PerMinute limits how many runs are started in a minute; 0 for no limit.
	PerMinute int
	// MaxCost is the cost, in the currency of the models, after which no run is started;
	// 0 for no limit.
	MaxCost float64
	// Variant names the values of a matrix that the runtime has, for the results.
	Variant string
	// Graders are a team's own, by name; they grade every turn.
	Graders map[string]Grader
	// Redact takes secrets out of recordings and results; nil takes nothing out.
	Redact func(string) string
	// Done are results of an earlier run that was interrupted. Runs that passed or failed with
	// the same case and configuration are not repeated.
	Done []*Result
	// OnResult is told of each result as it comes, one after the other.
	OnResult func(*Result)
}

// job is a run to be made.
type job struct {
	c      *Case
	repeat int
}

// Run runs all cases and returns their results in order. A case that fails is no error.
// The error is that of ctx, or the reason why no case can run; the results so far come
// with it.
func (r *Runner) Run(ctx context.Context) ([]*Result, error) {
	rev := r.Runtime.AcquireRevision()
	defer rev.Release()
	var jobs []job
	for _, c := range r.Suite.Cases {
		if _, found := c.compile(); found.HasErrors() {
			return nil, fmt.Errorf("case %s: %w", c.ID, found.Err())
		}
		for n := range max(r.Repeat, 1) {
			jobs = append(jobs, job{c, n + 1})
		}
	}
	done := make(map[string]*Result, len(r.Done))
	for _, one := range r.Done {
		if one.Status != Skipped && one.Status != Errored {
			done[one.key()] = one
		}
	}
	b := &batch{Runner: r, results: make([]*Result, len(jobs)), revision: rev.Hash()}
	for i, j := range jobs {
		known := (&Result{Case: j.c.ID, Variant: r.Variant, Repeat: j.repeat}).key()
		if one := done[known]; one != nil && one.Digest == b.digestOf(j.c) {
			b.results[i] = one
			b.addCost(one)
		}
	}
	pace := newPace(r.PerMinute)
	defer pace.stop()
	slots := make(chan struct{}, max(r.Parallel, 1))
	var running sync.WaitGroup
	for i, j := range jobs {
		if b.results[i] != nil {
			continue
		}
		slots <- struct{}{} // a run ends soon after ctx does
		if ctx.Err() == nil && !b.isSpent() {
			pace.wait(ctx)
		}
		if ctx.Err() != nil || b.isSpent() {
			<-slots
			b.keep(i, b.skipped(ctx, j))
			continue
		}
		running.Go(func() {
			defer func() { <-slots }()
			b.keep(i, b.runCase(ctx, j))
		})
	}
	running.Wait()
	return b.results, ctx.Err()
}

// key identifies a run.
func (r *Result) key() string { return fmt.Sprintf("%s\x00%s\x00%d", r.Case, r.Variant, r.Repeat) }

// batch is one call of Run.
type batch struct {
	*Runner
	results []*Result
	// revision is the hash of the revision that the cases run with.
	revision string

	mu   sync.Mutex
	cost float64
}

func (b *batch) isSpent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.MaxCost > 0 && b.cost >= b.MaxCost
}

func (b *batch) addCost(r *Result) {
	if r.Cost != nil {
		b.cost += r.Cost.Amount
	}
}

// keep keeps a result and reports it.
func (b *batch) keep(i int, r *Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.results[i] = r
	b.addCost(r)
	if b.OnResult != nil {
		b.OnResult(r)
	}
}

func (b *batch) newResult(j job) *Result {
	return &Result{Case: j.c.ID, Variant: b.Variant, Repeat: j.repeat, Agent: j.c.Agent, Digest: b.digestOf(j.c)}
}

// digestOf identifies a case and the configuration that it runs with.
func (b *batch) digestOf(c *Case) string {
	data, _ := json.Marshal(c) // texts, numbers and JSON
	sum := sha256.Sum256(append(data, b.revision...))
	return hex.EncodeToString(sum[:8])
}

func (b *batch) skipped(ctx context.Context, j job) *Result {
	r := b.newResult(j)
	r.Status = Skipped
	message := fmt.Sprintf("the ceiling of the cost, %v, is reached", b.MaxCost)
	if ctx.Err() != nil {
		message = "the run was canceled"
	}
	r.Failures = []Failure{{Message: message}}
	return r
}

// runCase makes one run of a case.
func (b *batch) runCase(ctx context.Context, j job) (result *Result) {
	result = b.newResult(j)
	begun := time.Now()
	defer panics.Handle(func(p *panics.Error) {
		result.Status = Errored
		result.Failures = append(result.Failures, Failure{Message: fmt.Sprintf("panic: %v\n%s", p.Value, debug.Stack())})
	})
	compiled, _ := j.c.compile()
	dir := b.Suite.Dir(j.c.ID)
	models, judges := b.sourceOf(j, RecordingPath(dir, j.c.ID)), b.sourceOf(j, judgesPath(dir, j.c.ID))
	if j.c.Models == Scripted && compiled.script != nil {
		models = answerWith(compiled.script)
	}
	one := &run{
		compiled: compiled, c: j.c, dir: dir, runtime: b.Runtime, graders: b.Graders, result: result,
		rev: b.Runtime.AcquireRevision(),
	}
	defer one.rev.Release()
	result.Deterministic = models.fixed && judges.fixed
	err := one.runTurns(ctx, models.intercept, judges.intercept)
	interrupted := ctx.Err() != nil
	for _, source := range []modelSource{models, judges} {
		err = errors.Join(err, source.close(err == nil && !interrupted))
	}
	result.Duration = time.Since(begun)
	result.summarize()
	switch {
	case interrupted:
		result.Status, result.Failures = Skipped, []Failure{{Message: "the run was canceled"}}
	case err != nil:
		result.Status = Errored
		result.Failures = []Failure{{Turn: len(result.Turns), Message: err.Error()}} // the others follow from it
	case len(result.Failures) > 0:
		result.Status = Failed
	default:
		result.Status = Passed
	}
	b.redactResult(result)
	return result
}

// sourceOf returns what answers the requests to models whose recording is at a path: those
// of the agents, or those of the judges and the simulated user.
func (b *batch) sourceOf(j job, path string) modelSource {
	switch {
	case j.c.Models == Live, b.Mode == ModeLive:
		return liveModels()
	case b.Mode == ModeRecord && j.repeat == 1:
		return recordModels(path, b.redact)
	case b.Mode == ModeRecord:
		return liveModels()
	default:
		return replayModels(path)
	}
}

func (b *batch) redact(text string) string {
	if b.Redact == nil {
		return text
	}
	return b.Redact(text)
}

// summarize adds up the turns.
func (r *Result) summarize() {
	var scores []float64
	for _, t := range r.Turns {
		r.Usage.Add(t.Usage)
		r.Cost = addCost(r.Cost, t.Cost)
		for i := range t.Verdicts {
			scores = append(scores, t.Verdicts[i].Score)
		}
	}
	if len(scores) > 0 {
		var sum float64
		for _, score := range scores {
			sum += score
		}
		mean := sum / float64(len(scores))
		r.Score = &mean
	}
}

// redactResult takes secrets out of a result.
func (b *batch) redactResult(r *Result) {
	for i := range r.Failures {
		r.Failures[i].Message = b.redact(r.Failures[i].Message)
	}
	for _, t := range r.Turns {
		t.Prompt, t.Response, t.Termination.Detail = b.redact(t.Prompt), b.redact(t.Response), b.redact(t.Termination.Detail)
		if len(t.State) > 0 {
			t.State = []byte(b.redact(string(t.State)))
		}
		for _, c := range t.Calls {
			c.Arguments, c.Result = []byte(b.redact(string(c.Arguments))), b.redact(c.Result)
		}
		for i := range t.Verdicts {
			t.Verdicts[i].Comment, t.Verdicts[i].Prompt = b.redact(t.Verdicts[i].Comment), b.redact(t.Verdicts[i].Prompt)
		}
	}
}

// pace limits how many runs are started in a minute.
type pace struct{ ticker *time.Ticker }

func newPace(perMinute int) pace {
	if perMinute <= 0 {
		return pace{}
	}
	return pace{time.NewTicker(time.Minute / time.Duration(perMinute))}
}

// wait returns when the next run may start, or ctx ends.
func (p pace) wait(ctx context.Context) {
	if p.ticker == nil {
		return
	}
	select {
	case <-p.ticker.C:
	case <-ctx.Done():
	}
}

func (p pace) stop() {
	if p.ticker != nil {
		p.ticker.Stop()
	}
}
