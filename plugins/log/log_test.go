package log_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/log"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

type secretIn struct {
	Password string `json:"password"`
}

// runLogged runs a turn that calls a tool which works and one which fails.
func runLogged(t *testing.T, level string, enabled zapcore.Level) *observer.ObservedLogs {
	t.Helper()
	core, logs := observer.New(enabled)
	plugin, err := log.New(plugins.Settings{ID: "audit", Logger: slog.New(zapslog.NewHandler(core))}, &log.Config{Level: level})
	if err != nil {
		t.Fatal(err)
	}
	exec, err := scripted.New(scripted.Script{Replies: []scripted.Reply{
		{ToolCalls: []model.ToolCall{
			{ID: "c1", Name: "works", Arguments: []byte(`{"password":"hunter2"}`)},
			{ID: "c2", Name: "fails", Arguments: []byte(`{"password":"hunter2"}`)},
		}},
		{Text: "the answer is hunter2"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	tool := func(err error) tools.Tool {
		return &tools.Func[secretIn, string]{Run: func(context.Context, secretIn) (string, error) { return "hunter2", err }}
	}
	rt, err := builder.New().
		WithProvider("demo", exec).
		WithModel(spec.Model{ID: "m", ProviderID: "demo", UpstreamModel: "demo"}).
		WithTool("works", tool(nil)).
		WithTool("fails", tool(errors.New("hunter2 was refused"))).
		WithPlugin("audit", plugin).
		WithAgentSpec(spec.Agent{ID: "a", ModelID: "m", PluginIDs: []string{"audit"}}).
		Build()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Run(t.Context(), runtime.Prompt("a", "my password is hunter2"), nil); err != nil {
		t.Fatal(err)
	}
	return logs
}

func TestATurnIsLoggedStepByStep(t *testing.T) {
	t.Parallel()
	var got []string
	for _, entry := range runLogged(t, "", zap.InfoLevel).All() {
		line := entry.Message
		fields := entry.ContextMap()
		for _, key := range []string{"tool", "outcome", "termination"} {
			if v, ok := fields[key]; ok {
				line += " " + v.(string)
			}
		}
		got = append(got, line)
		if fields["agent"] != "a" || fields["turn_id"] == "" || fields["session_id"] == "" {
			t.Errorf("%q does not say whose turn it is: %v", line, fields)
		}
	}
	want := []string{
		"turn started",
		"step started", "model answered", "tool called works succeeded", "tool called fails failed",
		"step started", "model answered",
		"turn ended natural_end",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestContentIsNeverLogged(t *testing.T) {
	t.Parallel()
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "m"})
	for _, entry := range runLogged(t, "debug", zap.DebugLevel).All() {
		line, err := encoder.EncodeEntry(entry.Entry, entry.Context)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line.String(), "hunter2") {
			t.Errorf("content in the log: %s", line)
		}
	}
}

func TestALevelThatIsOffCostsNoHooks(t *testing.T) {
	t.Parallel()
	if n := runLogged(t, "debug", zap.InfoLevel).Len(); n != 0 {
		t.Errorf("%d entries below the logger's level", n)
	}
}

func TestAnUnknownLevelIsRefused(t *testing.T) {
	t.Parallel()
	c := &log.Config{Level: "loud"}
	if list := c.Validate(); !list.HasErrors() || list[0].Path != "level" {
		t.Errorf("Validate: got %v, want an error at level", list)
	}
	if _, err := log.New(plugins.Settings{}, c); err == nil {
		t.Error("New took an unknown level")
	}
}
