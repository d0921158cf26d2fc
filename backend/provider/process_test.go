//go:build unix

package provider_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/provider"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
)

// journal keeps the records of a log.
type journal struct {
	mu      sync.Mutex
	records []slog.Record
	cond    sync.Cond
}

func newJournal() *journal {
	j := new(journal)
	j.cond.L = &j.mu
	return j
}

func (*journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler     { return j }
func (j *journal) WithGroup(string) slog.Handler          { return j }
func (j *journal) Handle(_ context.Context, r slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, r)
	j.cond.Broadcast()
	return nil
}

// await waits for n records with a message and returns their values of an attribute.
func (j *journal) await(n int, message, attr string) []slog.Value {
	j.mu.Lock()
	defer j.mu.Unlock()
	for {
		var found []slog.Value
		for _, r := range j.records {
			if r.Message != message {
				continue
			}
			r.Attrs(func(a slog.Attr) bool {
				if a.Key == attr {
					found = append(found, a.Value)
				}
				return true
			})
		}
		if len(found) >= n {
			return found
		}
		j.cond.Wait()
	}
}

// newProcessRig returns a runtime whose agent runs at processes of the test binary, their host, and
// their log.
func newProcessRig(t testing.TB, mode string, more map[string]any, change ...func(*builder.AgentRuntimeBuilder)) (*rig, backend.AgentProvider, *journal) {
	t.Helper()
	log := newJournal()
	hosted := openWith(t, provider.Kinds(), "process", providertest.Process(t, mode, more), slog.New(log))
	b := builder.New().WithAgentProvider("coder", hosted).WithTool("double", double(nil)).
		WithAgentSpec(spec.Agent{ID: "coder", Endpoint: &spec.Endpoint{Backend: "provider", Target: "coder"}})
	for _, c := range change {
		c(b)
	}
	rt, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return &rig{AgentRuntime: rt, sink: newSink()}, hosted, log
}

func TestProcessesAreReadyBeforeTheyAreUsed(t *testing.T) {
	r, _, log := newProcessRig(t, providertest.Steady, map[string]any{"pool": map[string]any{"min_ready": 2}})
	r.StartProviders()
	log.await(2, "provider ready", "process")
	if lines := log.await(2, "provider output", "line"); lines[0].String() != "started as steady with coder" {
		t.Errorf("the log of the processes is %v", lines)
	}

	later := newJournal() // a later revision starts its own process
	other := openWith(t, provider.Kinds(), "process", providertest.Process(t, providertest.Steady, map[string]any{"pool": map[string]any{"min_ready": 2}, "dir": t.TempDir()}), slog.New(later))
	if _, err := r.Publish(t.Context(), func(d *registry.Draft) error { return d.AgentProviders.Add("other", other) }); err != nil {
		t.Fatal(err)
	}
	later.await(2, "provider ready", "process")
}

func TestAnUnhealthyProcessIsReplaced(t *testing.T) {
	r, _, log := newProcessRig(t, providertest.Sick, map[string]any{"health_interval": "10ms"})
	r.StartProviders()
	if got := log.await(1, "provider ended; starting it again", "error")[0].String(); !strings.Contains(got, "unhealthy") || !strings.Contains(got, "it has a cold") {
		t.Errorf("the process ended because %s", got)
	}
	log.await(2, "provider ready", "process")
}

// TestOnlyTheOperatorLearnsWhatAProviderSaysOfItself covers turns and callers of every tenant.
func TestOnlyTheOperatorLearnsWhatAProviderSaysOfItself(t *testing.T) {
	r, hosted, log := newProcessRig(t, providertest.Sick, map[string]any{"health_interval": "10ms", "pool": map[string]any{"restart": "never"}})
	r.StartProviders()
	log.await(1, "provider ended", "error")
	_, ofTurn := r.ask(t.Context(), "s", "who")
	_, ofCaller := hosted.(backend.CapabilityReporter).Capabilities(t.Context())
	for what, err := range map[string]error{"a turn": ofTurn, "a caller": ofCaller} {
		if err == nil || strings.Contains(err.Error(), "cold") {
			t.Errorf("%s is told %v", what, err)
		}
	}
	if err := hosted.Probe(t.Context(), new(spec.Agent)); err == nil || !strings.Contains(err.Error(), "it has a cold") {
		t.Errorf("the operator is told %v", err)
	}
}

func TestAProcessThatKeepsEndingIsStartedEverLater(t *testing.T) {
	r, hosted, log := newProcessRig(t, providertest.Failing, map[string]any{"startup_timeout": "500ms"})
	r.StartProviders()
	var waits []time.Duration
	for _, v := range log.await(3, "provider ended; starting it again", "wait")[:3] {
		waits = append(waits, v.Duration())
	}
	if want := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}; !slices.Equal(waits, want) {
		t.Errorf("it waited %v, not %v", waits, want)
	}
	err := hosted.Probe(t.Context(), new(spec.Agent))
	if err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("an agent that needs it is told %v", err)
	}
}

// held is a running turn that waits for its release.
type held struct {
	pipe string
	done chan error
	got  *runtime.Result
}

// hold begins a session's turn and returns when the provider works on it.
func (r *rig) hold(t testing.TB, session string) *held {
	t.Helper()
	h := &held{pipe: filepath.Join(t.TempDir(), "pipe"), done: make(chan error, 1)}
	if err := syscall.Mkfifo(h.pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	r.sink = newSink()
	go func() {
		var err error
		h.got, err = r.ask(context.WithoutCancel(t.Context()), session, "hold "+h.pipe)
		h.done <- err
	}()
	r.sink.await(func(e *event.Event) bool { _, ok := e.Data.(*event.TextDelta); return ok })
	return h
}

// release lets the turn end, and returns its answer.
func (h *held) release(t testing.TB) string {
	t.Helper()
	if err := os.WriteFile(h.pipe, []byte("on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-h.done; err != nil {
		t.Fatal(err)
	}
	return h.got.Response
}

func TestATurnUnderWayEndsWhereItBegan(t *testing.T) {
	r, _, log := newProcessRig(t, providertest.Steady, map[string]any{"pool": map[string]any{"min_ready": 2}})
	turn := r.hold(t, "s")

	fresh := newJournal()
	other := openWith(t, provider.Kinds(), "process", providertest.Process(t, providertest.Steady, map[string]any{"dir": t.TempDir()}), slog.New(fresh))
	if _, err := builder.New().WithAgentProvider("coder", other).
		WithAgentSpec(spec.Agent{ID: "coder", Endpoint: &spec.Endpoint{Backend: "provider", Target: "coder"}}).Publish(t.Context(), r.AgentRuntime); err != nil {
		t.Fatal(err)
	}
	r.sink = newSink()
	if _, err := r.ask(t.Context(), "s", "who"); err != nil { // of the same session, at the new pool
		t.Fatal(err)
	}
	fresh.await(1, "provider ready", "process")
	if got := turn.release(t); got != "holding on" {
		t.Errorf("the turn under way came to %q", got)
	}
	log.await(2, "provider stopped", "slot") // the old pool is no longer used
}

func TestADrainWaitsForTurns(t *testing.T) {
	r, hosted, _ := newProcessRig(t, providertest.Steady, map[string]any{"pool": map[string]any{"min_ready": 2}})
	turn := r.hold(t, "s")
	closed := make(chan error, 1)
	go func() { closed <- hosted.(io.Closer).Close() }()
	for { // new turns are rejected once the drain begins
		_, err := r.ask(t.Context(), "other", "who")
		if failed, ok := errors.AsType[*runtime.TurnError](err); ok && failed.Termination.Code == "provider_unavailable" {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := turn.release(t); got != "holding on" {
		t.Errorf("the turn under way came to %q", got)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestADrainEndsTurnsThatTakeTooLong(t *testing.T) {
	r, hosted, log := newProcessRig(t, providertest.Steady, map[string]any{"drain_timeout": "20ms"})
	turn := r.hold(t, "s")
	if err := hosted.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	log.await(1, "drain timed out, ending the provider", "turns")
	err := <-turn.done
	if failed, ok := errors.AsType[*runtime.TurnError](err); !ok || failed.Termination.Code != "provider_drained" {
		t.Errorf("the turn came to %v", err)
	}
}

func TestACrashEndsTheTurnsOfItsProcessAlone(t *testing.T) {
	r, _, log := newProcessRig(t, providertest.Steady, map[string]any{"pool": map[string]any{"min_ready": 2}})
	r.StartProviders()
	log.await(2, "provider ready", "process")
	turn := r.hold(t, "stays")
	r.sink = newSink()
	_, err := r.ask(t.Context(), "dies", "die") // at the less busy process
	if failed, ok := errors.AsType[*runtime.TurnError](err); !ok || failed.Termination.Code != "provider_lost" {
		t.Errorf("the turn whose process died came to %v", err)
	}
	if got, err := r.ask(t.Context(), "dies", "call double"); err != nil || got.Response != "42" {
		t.Errorf("the process that took its place came to %+v, %v", got, err)
	}
	if got := turn.release(t); got != "holding on" {
		t.Errorf("the turn at the other process came to %q", got)
	}
}

// isGone reports whether a process has ended.
func isGone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// pidOf returns the process that a session belongs to.
func (r *rig) pidOf(t *testing.T, session string) int {
	t.Helper()
	got, err := r.ask(t.Context(), session, "who")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(got.Response)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// replace publishes a configuration with another provider, or without a provider.
func (r *rig) replace(t *testing.T, other backend.AgentProvider) {
	t.Helper()
	b := builder.New().WithProvider("m", echo{}).WithModel(spec.Model{ID: "m", ProviderID: "m", UpstreamModel: "m"})
	coder := spec.Agent{ID: "coder", ModelID: "m"}
	if other != nil {
		b.WithAgentProvider("coder", other)
		coder = spec.Agent{ID: "coder", Endpoint: &spec.Endpoint{Backend: "provider", Target: "coder"}}
	}
	if _, err := b.WithAgentSpec(coder).Publish(t.Context(), r.AgentRuntime); err != nil {
		t.Fatal(err)
	}
}

// echo is a model that answers nothing.
type echo struct{}

func (echo) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop}, nil)
	}
}

// TestAProviderThatWasReplacedEndsInTime changes or removes a provider in the configuration while
// the provider works on a turn that never ends by itself. The provider's process ignores requests
// to end.
func TestAProviderThatWasReplacedEndsInTime(t *testing.T) {
	another := func(t *testing.T) backend.AgentProvider {
		return open(t, provider.Kinds(), "process", providertest.Process(t, providertest.Steady, map[string]any{"dir": t.TempDir()}))
	}
	for name, tt := range map[string]struct {
		mode   string
		change func(*testing.T) backend.AgentProvider
	}{
		"changed":  {providertest.Steady, another},
		"removed":  {providertest.Steady, func(*testing.T) backend.AgentProvider { return nil }},
		"stubborn": {providertest.Stubborn, another},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _, log := newProcessRig(t, tt.mode, map[string]any{"drain_timeout": "300ms"})
			pid := r.pidOf(t, "s")
			turn := r.hold(t, "s")
			waits := r.AcquireRevision() // like a turn that waits for an answer
			r.replace(t, tt.change(t))
			if isGone(pid) {
				t.Error("the turn got no time to end")
			}
			err := <-turn.done
			if failed, ok := errors.AsType[*runtime.TurnError](err); !ok || failed.Termination.Code != "provider_drained" {
				t.Errorf("the turn came to %v", err)
			}
			log.await(1, "provider stopped", "slot")
			if !isGone(pid) {
				t.Error("the process is still there")
			}
			waits.Release()
		})
	}
}

// TestATurnOfAnEarlierConfigurationStartsItsProviderAnew continues a turn in a revision whose
// provider has ended. The new process also ends in time.
func TestATurnOfAnEarlierConfigurationStartsItsProviderAnew(t *testing.T) {
	t.Parallel()
	r, _, log := newProcessRig(t, providertest.Steady, map[string]any{"drain_timeout": "2s"})
	first := r.pidOf(t, "s")
	before := r.AcquireRevision()
	r.replace(t, nil)
	log.await(1, "provider stopped", "slot")
	req := runtime.Prompt("coder", "who")
	req.Revision = before
	got, err := r.Run(t.Context(), req, r.sink)
	if err != nil {
		t.Fatal(err)
	}
	second, err := strconv.Atoi(got.Response)
	if err != nil || second == first {
		t.Fatalf("the turn ran at %q, and the first process was %d", got.Response, first)
	}
	log.await(2, "provider stopped", "slot")
	if !isGone(first) || !isGone(second) {
		t.Error("a process is still there")
	}
	before.Release()
}

// TestAConfigurationThatComesBackKeepsTheProcesses changes a provider and reverts the change before
// the drain timeout of its turns.
func TestAConfigurationThatComesBackKeepsTheProcesses(t *testing.T) {
	t.Parallel()
	kinds, log, dir := provider.Kinds(), newJournal(), t.TempDir()
	config := providertest.Process(t, providertest.Steady, map[string]any{"drain_timeout": "1h", "dir": dir})
	anew := func() backend.AgentProvider { return openAt(t, kinds, "process", config, slog.New(log), dir) }
	rt, err := builder.New().WithAgentProvider("coder", anew()).
		WithAgentSpec(spec.Agent{ID: "coder", Endpoint: &spec.Endpoint{Backend: "provider", Target: "coder"}}).Build()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{AgentRuntime: rt, sink: newSink()}
	pid, turn := r.pidOf(t, "s"), r.hold(t, "s")
	r.replace(t, nil)
	r.replace(t, anew())
	if now := r.pidOf(t, "s"); now != pid {
		t.Errorf("the session is at process %d now, and was at %d", now, pid)
	}
	if got := turn.release(t); got != "holding on" {
		t.Errorf("the turn under way came to %q", got)
	}
	if err := rt.Close(); err != nil || !isGone(pid) {
		t.Errorf("the runtime ends with %v, and the process is gone: %t", err, isGone(pid))
	}
}
