//go:build unix

package sessions

import (
	_ "embed"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	hosts "github.com/agentruntime/agentruntime/backend/provider"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/testkit/pyenv"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

//go:embed testdata/gestalt_sdk.txt
var gestaltSDK []byte

// TestAProviderOfGestaltsPythonSDK hosts a provider that is written with the SDK.
func TestAProviderOfGestaltsPythonSDK(t *testing.T) {
	t.Parallel()
	interpreter := pyenv.Interpreter(t, gestaltSDK)
	script, err := filepath.Abs("testdata/gestalt_provider.py")
	if err != nil {
		t.Fatal(err)
	}
	kinds, set := hosts.KindsWithManager()
	k := kinds[0]
	config := k.NewConfig()
	data, err := json.Marshal(map[string]any{"command": []string{interpreter, script}, "drain_timeout": "1s"})
	if err == nil {
		err = json.Unmarshal(data, config)
	}
	if err != nil {
		t.Fatal(err)
	}
	hosted, err := k.Create(backend.AgentProviderSettings{ID: "sdk", Dir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}, config)
	if err != nil {
		t.Fatal(err)
	}
	rt, err := builder.New().WithAgentProvider("sdk", hosted).WithTool("read", deed(tools.Read)).
		WithAgentSpec(spec.Agent{ID: "sdk", Endpoint: &spec.Endpoint{Backend: spec.HostedBackend, Target: "sdk"}}).Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	w := serving(t, map[string]settings.SessionProvider{"sdk": {Agent: "sdk", Default: true}}, func(s *service.Settings) { s.Runtime = rt })
	set(w.surface)
	for text, want := range map[string]string{
		"hello": "said hello", "tool": `['read'] 200 {\"done\":true}`, "manage": "roadmap-risk: said inner",
	} {
		if got := w.sayAs("alice", text); got != want {
			t.Errorf("%s is answered with %s, want %s", text, got, want)
		}
	}
}
