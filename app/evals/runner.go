package evals

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/model/recorded"
	"github.com/agentruntime/agentruntime/runtime"
	"golang.org/x/time/rate"
)

// Mode selects the source of model answers in cases that replay a recording.
type Mode string

// The modes.
const (
	// ModeReplay answers from recordings. It is the default.
	ModeReplay Mode = "replay"
	// ModeRecord calls the models, and writes the recordings of cases that pass or fail.
	ModeRecord Mode = "record"
	// ModeLive calls the models and records nothing.
	ModeLive Mode = "live"
)

// Runner runs the cases of a suite. Set the fields before Run.
type Runner struct {
	// Runtime resolves and runs the agents.
	Runtime *runtime.AgentRuntime
	Suite   *Suite
	Mode    Mode
	// Config is the configuration of Runtime. Cases with an overlay require it.
	Config *config.File
	// EditOverlay applies the caller's changes of Config to the agents of overlays; nil changes
	// nothing.
	EditOverlay func(*config.File) error
	// Repeat is the number of runs of each case; it defaults to 1.
	Repeat int
	// Parallel is the number of concurrent runs; it defaults to 1.
	Parallel int
	// PerMinute limits the runs started per minute; 0 for no limit.
	PerMinute int
	// MaxCost is the cost, in the currency of the models, after which no run is started; 0 for no
	// limit. Runs answered only from recordings and scripts cost nothing.
	MaxCost float64
	// Spent is the cost of other runners that counts toward MaxCost.
	Spent float64
	// Variant names the matrix values of the runtime, for the results.
	Variant string
	// Graders are custom graders, by name; they grade every turn.
	Graders map[string]Grader
	// Redact removes secrets from recordings and results; nil removes nothing.
	Redact func(string) string
	// Unset describes the configuration's variables without a value. They are named when a
	// recording lacks a request.
	Unset []string
	// Done holds results of an earlier, interrupted run. Runs that passed or failed with the same
	// case and configuration are not repeated.
	Done []*Result
	// OnResult is called with each result as it arrives, never concurrently.
	OnResult func(*Result)
}

// job is a pending run.
type job struct {
	c      *Case
	repeat int
}

// Run runs all cases and returns their results in order. A failed case is not an error. The error
// is ctx's, or the reason why no case can run; the results so far are returned with it.
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
	if r.MaxCost > 0 {
		for _, d := range r.Check(ctx).Errors() {
			if d.Code == diag.NoEffect {
				return nil, d
			}
		}
	}
	overlays := r.openOverlays(ctx, rev)
	defer overlays.close()
	done := make(map[string]*Result, len(r.Done))
	for _, one := range r.Done {
		if one.Status != Skipped && one.Status != Errored {
			done[one.key()] = one
		}
	}
	b := &batch{Runner: r, results: make([]*Result, len(jobs)), overlays: overlays, digests: make(map[string]string), cost: r.Spent}
	for _, c := range r.Suite.Cases {
		b.digestOf(c)
	}
	for i, j := range jobs {
		known := (&Result{Case: j.c.ID, Variant: r.Variant, Repeat: j.repeat}).key()
		if one := done[known]; one != nil && one.Digest == b.digestOf(j.c) {
			b.results[i] = one
			b.addCost(one)
		}
	}
	pace := rate.NewLimiter(rate.Inf, 1)
	if r.PerMinute > 0 {
		pace.SetLimit(rate.Every(time.Minute / time.Duration(r.PerMinute)))
	}
	slots := make(chan struct{}, max(r.Parallel, 1))
	var running sync.WaitGroup
	for i, j := range jobs {
		if b.results[i] != nil {
			continue
		}
		slots <- struct{}{} // a run ends soon after ctx does
		if ctx.Err() == nil && !b.isSpent() {
			select {
			case <-time.After(pace.Reserve().Delay()):
			case <-ctx.Done():
			}
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
	results  []*Result
	overlays *overlays
	// digests are the digests of the cases by ID, computed before the first run.
	digests map[string]string
	// configSum is the result of configDigest once it is known.
	configSum []byte

	mu   sync.Mutex
	cost float64
}

func (b *batch) isSpent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.MaxCost > 0 && b.cost >= b.MaxCost
}

func (b *batch) addCost(r *Result) { b.cost += r.paidCost() }

// paidCost returns the cost of a run: 0 without live models.
func (r *Result) paidCost() float64 {
	if r.Cost == nil || r.Deterministic {
		return 0
	}
	return r.Cost.Amount
}

// CostOf returns the cost of runs, for Runner.Spent.
func CostOf(results []*Result) (sum float64) {
	for _, r := range results {
		sum += r.paidCost()
	}
	return sum
}

// keep stores a result and reports it.
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

// digestOf identifies everything that determines a case's result: the case, the configuration, the
// source of answers, and the files that the case reads.
func (b *batch) digestOf(c *Case) string {
	if known := b.digests[c.ID]; known != "" {
		return known
	}
	sum := sha256.New()
	data, _ := json.Marshal(c) // texts, numbers and JSON
	revision := ""
	if rev, err := b.overlays.revisionOf(c); err == nil {
		revision = rev.Hash()
	}
	_, _ = fmt.Fprintf(sum, "%s\x00%s\x00%s\x00%q\x00", data, revision, cmp.Or(b.Mode, ModeReplay), slices.Sorted(maps.Keys(b.Graders)))
	hashFiles(sum, b.filesOf(c))
	_, _ = sum.Write(b.configDigest())
	digest := hex.EncodeToString(sum.Sum(nil)[:8])
	b.digests[c.ID] = digest
	return digest
}

// configDigest identifies the files that the configuration refers to, such as scripts of models, and
// those that the commands of its components name. The files of the configuration itself are part of
// its revision.
func (b *batch) configDigest() []byte {
	if b.configSum == nil && b.Config != nil {
		var names []string
		for _, name := range b.Config.Files() {
			if b.Config.Source(name) == nil {
				names = append(names, name)
			}
		}
		names = append(names, commandFiles(b.Config)...)
		sum := sha256.New()
		hashFiles(sum, names)
		b.configSum = sum.Sum(nil)
	}
	return b.configSum
}

// hashFiles hashes the names and contents of files, without those that do not exist.
func hashFiles(sum io.Writer, names []string) {
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		content, err := readFile(name, maxDataSize)
		_, _ = fmt.Fprintf(sum, "%s\x00%t\x00%d\x00%s", filepath.Base(name), err == nil, len(content), content)
	}
}

// filesOf returns the files that a case may read: recordings, tool results, attachments and judge
// programs.
func (b *batch) filesOf(c *Case) []string {
	dir := b.Suite.Dir(c.ID)
	names := []string{toolRepliesPath(dir, c.ID)}
	if b.Mode != ModeRecord && b.Mode != ModeLive {
		names = append(names, recordingPath(dir, c.ID), judgesPath(dir, c.ID))
	}
	judges := slices.Clone(c.Expect.Judges)
	for i := range c.Turns {
		for _, a := range c.Turns[i].Attachments {
			names = append(names, a.Path)
		}
		judges = append(judges, c.Turns[i].Expect.Judges...)
	}
	for _, j := range judges {
		for _, word := range j.Command {
			if !filepath.IsAbs(word) {
				word = filepath.Join(dir, word)
			}
			names = append(names, word)
		}
	}
	return names
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
	rev, err := b.overlays.revisionOf(j.c)
	if err != nil {
		result.Status, result.Failures = Errored, []Failure{{Message: b.redact(err.Error())}}
		return result
	}
	compiled, _ := j.c.compile()
	dir := b.Suite.Dir(j.c.ID)
	models, judges := b.sourceOf(j, recordingPath(dir, j.c.ID)), b.sourceOf(j, judgesPath(dir, j.c.ID))
	one := &run{
		compiled: compiled, c: j.c, dir: dir, runtime: b.Runtime, graders: b.Graders, result: result, rev: rev,
	}
	if j.c.Models == Scripted && compiled.scripts["script"] != nil {
		models = scriptedModels(compiled, &one.turn)
	}
	result.Deterministic = models.fixed && judges.fixed
	err = one.runTurns(ctx, models.intercept, judges.intercept)
	interrupted := ctx.Err() != nil
	err = closeSources(errors.Join(err, ctx.Err()), models, judges)
	result.Duration = time.Since(begun)
	result.summarize()
	switch {
	case interrupted:
		result.Status, result.Failures = Skipped, []Failure{{Message: "the run was canceled"}}
	case err != nil:
		result.Status = Errored
		result.Failures = []Failure{{Turn: len(result.Turns), Message: b.describeError(err)}} // the others are consequences
	case len(result.Failures) > 0:
		result.Status = Failed
	default:
		result.Status = Passed
	}
	b.redactResult(result)
	return result
}

// describeError describes the error of a run.
func (b *batch) describeError(err error) string {
	stale, ok := errors.AsType[*staleError](err)
	switch {
	case !ok:
		return err.Error()
	case !errors.Is(stale, fs.ErrNotExist) && len(b.Unset) > 0:
		return fmt.Sprintf("%v; %s", stale, strings.Join(b.Unset, "; "))
	default:
		return stale.Error() // other errors are consequences
	}
}

// sourceOf returns the source of model answers for a recording path: the agents', or the judges'
// and simulated user's.
func (b *batch) sourceOf(j job, path string) modelSource {
	switch {
	case j.c.Models == Live, b.Mode == ModeLive:
		return liveModels()
	case b.Mode == ModeRecord && j.repeat == 1:
		return recordModels(path, recorded.Redact(b.redact))
	case b.Mode == ModeRecord:
		return liveModels()
	default:
		return replayModels(path, b.Variant, recorded.Redact(b.redact))
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

// redactResult removes secrets from a result.
func (b *batch) redactResult(r *Result) {
	for i := range r.Failures {
		r.Failures[i].Message = b.redact(r.Failures[i].Message)
	}
	for _, t := range r.Turns {
		t.Prompt, t.Response, t.Termination.Detail = b.redact(t.Prompt), b.redact(t.Response), b.redact(t.Termination.Detail)
		if len(t.State) > 0 {
			t.State = redact.JSON(t.State, b.redact)
		}
		for _, c := range t.Calls {
			c.Arguments, c.Result = redact.JSON(c.Arguments, b.redact), b.redact(c.Result)
		}
		for i := range t.Verdicts {
			t.Verdicts[i].Comment, t.Verdicts[i].Prompt = b.redact(t.Verdicts[i].Comment), b.redact(t.Verdicts[i].Prompt)
		}
	}
}
