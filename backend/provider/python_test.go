//go:build unix

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/provider"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/grpcpy"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
)

// newPythonRig returns a runtime whose agent runs at a Python provider in a pool of processes.
func newPythonRig(t *testing.T, processes int) (*rig, backend.AgentProvider) {
	t.Helper()
	interpreter := grpcpy.Interpreter(t)
	stubs := t.TempDir()
	grpcpy.Compile(t, interpreter, "--proto_path=../../internal/providerproto", "--python_out="+stubs, "--grpc_python_out="+stubs, "provider.proto")
	script, err := filepath.Abs("testdata/provider.py")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SECRET_OF_THE_RUNTIME", "s3cret")
	log := newJournal()
	hosted := openWith(t, provider.Kinds(), "process", map[string]any{
		"command": []string{interpreter, script}, "env": map[string]string{"STUBS": stubs}, "config": map[string]any{"style": "brief"},
		"pool": map[string]any{"min_ready": processes}, "drain_timeout": "5s",
	}, slog.New(log))
	rt, err := builder.New().WithAgentProvider("coder", hosted).WithTool("double", double(nil)).
		WithAgentSpec(spec.Agent{ID: "coder", Endpoint: &spec.Endpoint{Backend: "provider", Target: "coder"}}).Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	rt.StartProviders()
	log.await(processes, "provider ready", "process")
	return &rig{AgentRuntime: rt, sink: newSink()}, hosted
}

// ask runs a turn of a session.
func (r *rig) ask(ctx context.Context, session, prompt string) (*runtime.Result, error) {
	return r.Run(ctx, promptOf(session, prompt), r.sink)
}

// promptOf returns the request of a turn of a session.
func promptOf(session, prompt string) runtime.Request {
	return runtime.Request{AgentID: "coder", SessionID: session, Input: []model.Message{model.User(prompt)}}
}

func TestAProviderInPython(t *testing.T) {
	r, hosted := newPythonRig(t, 2)
	result, err := r.ask(t.Context(), "s", "What is twice 21?")
	if err != nil || result.Response != "it is 42 " && result.Response != "it is 42" {
		t.Fatalf("the turn came to %+v, %v", result, err)
	}
	if got := r.sink.text(); strings.TrimSpace(got) != "it is 42" {
		t.Errorf("it streamed %q", got)
	}

	seen := map[string]bool{}
	for i := range 8 { // sessions stay put, and both processes have some
		session := fmt.Sprintf("sticky-%d", i)
		var at string
		for range 2 {
			result, err := r.ask(t.Context(), session, "who")
			if err != nil || at != "" && result.Response != at {
				t.Fatalf("session %s was at process %s and came to %+v, %v", session, at, result, err)
			}
			at = result.Response
		}
		seen[at] = true
	}
	if len(seen) != 2 {
		t.Errorf("the sessions are at the processes %v", seen)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.sink = newSink()
	done := make(chan error, 1)
	go func() {
		_, err := r.ask(ctx, "s", "wait")
		done <- err
	}()
	r.sink.await(func(e *event.Event) bool { _, ok := e.Data.(*event.TextDelta); return ok })
	cancel()
	if err := <-done; err == nil {
		t.Error("a canceled turn succeeded")
	}

	_, err = r.ask(t.Context(), "s", "die")
	if failed, ok := errors.AsType[*runtime.TurnError](err); !ok || failed.Termination.Code != "provider_lost" {
		t.Errorf("the turn whose process died came to %v", err)
	}
	if result, err := r.ask(t.Context(), "s", "What is twice 21?"); err != nil || strings.TrimSpace(result.Response) != "it is 42" {
		t.Errorf("the process that took its place came to %+v, %v", result, err)
	}

	turn := r.hold(t, "s")
	closed := make(chan error, 1)
	go func() { closed <- hosted.(io.Closer).Close() }()
	if got := turn.release(t); got != "holding on" {
		t.Errorf("the turn under way while the provider was shut down came to %q", got)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
