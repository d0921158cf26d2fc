package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestWhatIsLoggedOfATurn(t *testing.T) {
	for _, tt := range []struct {
		name  string
		model model.Executor
		level zapcore.Level
		text  string // of the error
		stack bool
	}{
		{"success", turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "secret"}}}), zap.DebugLevel, "", false},
		{"failure", turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Err: &model.Error{Class: model.Provider, Message: "down"}}}}), zap.WarnLevel, "provider: down", false},
		{"panic", &turntest.Answerer{Answer: func(context.Context, string, int) turntest.Answer { panic("oops") }}, zap.WarnLevel, "panic: oops", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sees, log := observer.New(zap.DebugLevel)
			rt := turntest.Build(t, turntest.WithAgents(tt.model, spec.Agent{ID: "clerk"}).WithLogger(zap.New(sees)))
			got, err := rt.Run(t.Context(), runtime.Prompt("clerk", "secret"), nil)
			if tt.text != "" && (err == nil || err.Error() != "turn of agent clerk: "+tt.text) {
				t.Errorf("the error is %v", err)
			}
			entries := log.FilterMessage("turn ended").All()
			if len(entries) != 1 || entries[0].Level != tt.level {
				t.Fatalf("the log is %v", entries)
			}
			fields := entries[0].ContextMap()
			if fields["turn_id"] != got.TurnID || fields["agent"] != "clerk" || fields["status"] != string(got.Status) {
				t.Errorf("the fields are %v", fields)
			}
			if text, _ := fields["error"].(string); text != tt.text {
				t.Errorf("the error is logged as %q", text)
			}
			stack, has := fields["stack"].(string)
			if has != tt.stack || has && !strings.Contains(stack, "log_test.go") {
				t.Errorf("the stack is %q", stack)
			}
			for _, v := range fields {
				if text, ok := v.(string); ok && strings.Contains(text, "secret") {
					t.Errorf("the conversation is logged: %q", text)
				}
			}
		})
	}
}

// What a plugin did not do, although the turn went on, is told to those who run
// the runtime.
func TestDeadLettersAreLogged(t *testing.T) {
	sees, log := observer.New(zap.WarnLevel)
	careless := turntest.Plugin(func(r *plugins.Registrar) {
		r.EffectHandler("tell", func(context.Context, any) error { return errors.New("nobody listens") })
		r.Hook(plugins.RunStart, func(_ context.Context, p *plugins.PhaseContext) error {
			p.Effect("tell", "secret")
			return nil
		})
	})
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "hi"}}}), spec.Agent{ID: "clerk", PluginIDs: []string{"careless"}}).
		WithPlugin("careless", careless).WithLogger(zap.New(sees)))
	got, err := rt.Run(t.Context(), runtime.Prompt("clerk", "hello"), nil)
	if err != nil || len(got.DeadLetters) != 1 {
		t.Fatalf("the turn came to %+v, %v", got, err)
	}
	entries := log.All()
	if len(entries) != 1 {
		t.Fatalf("the log is %v", entries)
	}
	want := map[string]any{"turn_id": got.TurnID, "agent": "clerk", "plugin": "careless", "action": "tell", "error": "nobody listens"}
	if diff := cmp.Diff(want, entries[0].ContextMap()); diff != "" {
		t.Error(diff)
	}
}
