package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/store/driver"
)

// TestAStoreThatIsLeftOutIsNamed runs each command that opens a store, in a program with only one
// store.
func TestAStoreThatIsLeftOutIsNamed(t *testing.T) {
	t.Parallel()
	small := shipped.Components()
	small.Stores = nil
	for _, d := range shipped.Components().Stores {
		if d.Name == settings.StoreSQLite {
			small.Stores = []driver.Driver{d}
		}
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "version: 1\nproviders: {demo: {type: scripted}}\nmodels: {m: {provider_id: demo, upstream_model: x}}\nagents:\n  a: {model_id: m}\n" +
		"store: {driver: postgres, dsn: \"postgres://127.0.0.1:1/none\"}\nserver: {listen: \"127.0.0.1:0\"}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"validate", file},
		{"migrate", file},
		{"serve", file},
		{"run", file, "a", "Hello.", "--session", "s"},
		{"turns", file},
		{"turns", "create", file, "a", "Hello.", "--session", "s"},
		{"sessions", file},
	} {
		t.Run(strings.ReplaceAll(strings.Join(args, " "), file, "FILE"), func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			code := Run(t.Context(), Settings{Components: small, Version: "v1"}, args, strings.NewReader(""), &out, &errs)
			said := out.String() + errs.String()
			for _, part := range []string{`"postgres"`, "this program was built without", "it has sqlite"} {
				if code != command.Failed || !strings.Contains(said, part) {
					t.Errorf("exit %d without %s: %s", code, part, said)
				}
			}
		})
	}
}
