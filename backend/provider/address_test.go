//go:build unix

package provider_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend/provider"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
)

// addressRig is a runtime whose agent runs at a process that is not restarted.
type addressRig struct {
	*rig
	at  providertest.Addresses
	log *journal
}

func newAddressRig(t *testing.T, more map[string]any) *addressRig {
	t.Helper()
	dir := t.TempDir()
	a := &addressRig{at: providertest.Addresses{Provider: "unix:" + filepath.Join(dir, "p"), Host: "unix:" + filepath.Join(dir, "h")}, log: newJournal()}
	config := map[string]any{"address": a.at.Provider, "host_address": a.at.Host, "health_interval": "1h", "startup_timeout": "1s", "drain_timeout": "1s"}
	for name, value := range more {
		config[name] = value
	}
	rt, err := builder.New().WithAgentProvider("coder", openWith(t, provider.Kinds(), "address", config, slog.New(a.log))).WithTool("double", double(nil)).
		WithAgentSpec(spec.Agent{ID: "coder", Endpoint: &spec.Endpoint{Backend: "provider", Target: "coder"}}).Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	a.rig = &rig{AgentRuntime: rt, sink: newSink()}
	rt.StartProviders()
	return a
}

// code returns the error code of a failed turn.
func code(err error) string {
	if failed, ok := errors.AsType[*runtime.TurnError](err); ok {
		return failed.Termination.Code
	}
	return ""
}

// works checks that turns and their tools run.
func (a *addressRig) works(t *testing.T, session string) {
	t.Helper()
	if got, err := a.ask(t.Context(), session, "call double"); err != nil || got.Response != "42" {
		t.Errorf("a turn came to %+v, %v", got, err)
	}
}

func TestAProviderAtAnAddressThatIsKilledAndStartedAgain(t *testing.T) {
	t.Parallel()
	a := newAddressRig(t, map[string]any{"startup_timeout": "20s", "config": map[string]any{"greeting": "hello"}})
	first := providertest.StartAt(t, providertest.Steady, a.at)
	a.log.await(1, "provider ready", "process")
	turn := a.hold(t, "s")
	first.Kill()
	providertest.StartAt(t, providertest.Steady, a.at)
	if err := <-turn.done; code(err) != "provider_lost" {
		t.Errorf("the turn that was under way came to %v", err)
	}
	a.log.await(2, "provider ready", "process") // the new process is also identified and configured
	a.works(t, "s")
	a.works(t, "other")
}

func TestAProviderAtAnAddressThatIsKilledAndStaysAway(t *testing.T) {
	t.Parallel()
	a := newAddressRig(t, nil)
	first := providertest.StartAt(t, providertest.Steady, a.at)
	a.log.await(1, "provider ready", "process")
	turn := a.hold(t, "s")
	first.Kill()
	if err := <-turn.done; code(err) != "provider_unavailable" {
		t.Errorf("the turn that was under way came to %v", err)
	}
	if _, err := a.ask(t.Context(), "s", "who"); code(err) != "provider_unavailable" {
		t.Errorf("a turn while nobody is there came to %v", err)
	}
	providertest.StartAt(t, providertest.Steady, a.at)
	a.log.await(2, "provider ready", "process")
	a.works(t, "s")
}

func TestAProviderAtAnAddressThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	a := newAddressRig(t, nil)
	_, err := a.ask(t.Context(), "s", "who")
	if code(err) != "provider_unavailable" || !strings.Contains(err.Error(), "was not ready within 1s") && !strings.Contains(err.Error(), "no process was ready within 1s") {
		t.Errorf("a turn at the start came to %v", err)
	}
	providertest.StartAt(t, providertest.Steady, a.at)
	a.log.await(1, "provider ready", "process")
	a.works(t, "s")
}

// whyLost returns the first reason for losing the connection, ignoring attempts made before the
// process listened.
func (a *addressRig) whyLost() string {
	for n := 1; ; n++ {
		reasons := a.log.await(n, "provider lost; connecting again", "error")
		if reason := reasons[n-1].String(); !strings.Contains(reason, "was not ready within") {
			return reason
		}
	}
}

// TestAProviderAtAnAddressThatFallsSilent stops the process but keeps its connection: the turn
// continues if the process wakes up in time and ends otherwise.
func TestAProviderAtAnAddressThatFallsSilent(t *testing.T) {
	t.Parallel()
	a := newAddressRig(t, map[string]any{"health_interval": "200ms"})
	first := providertest.StartAt(t, providertest.Steady, a.at)
	a.log.await(1, "provider ready", "process")
	turn := a.hold(t, "s")
	first.Signal(t, syscall.SIGSTOP)
	first.Signal(t, syscall.SIGCONT)
	if got := turn.release(t); got != "holding on" {
		t.Errorf("a turn whose provider stopped for a moment came to %q", got)
	}
	turn = a.hold(t, "s")
	first.Signal(t, syscall.SIGSTOP)
	began := time.Now()
	if err := <-turn.done; code(err) != "provider_unavailable" || time.Since(began) > 20*time.Second {
		t.Errorf("a turn whose provider is silent came to %v after %s", err, time.Since(began))
	}
	if reason := a.whyLost(); !strings.Contains(reason, "unhealthy") {
		t.Errorf("the connection was given up because %s", reason)
	}
	first.Signal(t, syscall.SIGCONT)
	a.log.await(2, "provider ready", "process")
	a.works(t, "s")
}
