package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/tools"
)

// TestACommandGoesByItsOwnName checks the output of a command with another name.
func TestACommandGoesByItsOwnName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.yaml")
	if err := os.WriteFile(broken, []byte("version: 1\nserver: {keys: [{id: ci}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config, manual := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "man")
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--help"}, command.OK, "agents validate config.yaml"},
		{[]string{"turns", "resolve", "--help"}, command.OK, `"agents turns"`},
		{[]string{"completion", "fish", "--help"}, command.OK, "agents.fish"},
		{[]string{"completion", "bash"}, command.OK, "__start_agents"},
		{[]string{"version"}, command.OK, "agents v1 ("},
		{[]string{"frobnicate"}, command.Usage, `agents: unknown command "frobnicate" for "agents"`},
		{[]string{"run"}, command.Usage, "usage: agents run"},
		{[]string{"init", config}, command.OK, "next: agents validate"},
		{[]string{"turns", config}, command.Failed, `"agents migrate", "agents serve"`},
		{[]string{"turns", "create", config, "assistant", "Hello.", "--wait"}, command.Usage, `or use "agents run"`},
		{[]string{"validate", broken}, command.Failed, `"agents keys new"`},
		{[]string{"validate", "--format", "json", broken}, command.Failed, `\"agents keys new\"`},
		{[]string{"man", manual}, command.OK, ""},
	} {
		t.Run(strings.ReplaceAll(strings.Join(tt.args, " "), dir+"/", ""), func(t *testing.T) {
			var out bytes.Buffer
			code := Run(t.Context(), Settings{Name: "agents", Components: shipped.Components(), Version: "v1"}, tt.args, strings.NewReader(""), &out, &out)
			if code != tt.code || !strings.Contains(out.String(), tt.want) {
				t.Errorf("exit %d without %s\n%s", code, tt.want, &out)
			}
			for _, other := range []string{"runtime:", "runtime " + tt.args[0], `"runtime `, "runtime v1"} {
				if strings.Contains(out.String(), other) {
					t.Errorf("%s is there\n%s", other, &out)
				}
			}
		})
	}
	page, err := os.ReadFile(filepath.Join(manual, "agents.1"))
	if err != nil || !bytes.Contains(page, []byte("agents v1")) || bytes.Contains(page, []byte("runtime ")) {
		t.Errorf("%s %v", page, err)
	}
	written, err := os.ReadFile(config)
	if err != nil || !bytes.HasPrefix(written, []byte("# yaml-language-server: $schema=agents.schema.json\n")) {
		t.Errorf("%s %v", written, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "agents.schema.json")); err != nil {
		t.Error(err)
	}
}

// TestInitWritesWhatAProgramHas writes and loads the configuration of programs that lack the usual
// components.
func TestInitWritesWhatAProgramHas(t *testing.T) {
	t.Parallel()
	all := shipped.Components()
	for _, kind := range all.Kinds.Providers {
		t.Run(kind.Type, func(t *testing.T) {
			t.Parallel()
			small := all
			small.Kinds.Providers, small.Kinds.Tools = all.Kinds.Providers[:0:0], []tools.Kind{}
			small.Kinds.Providers = append(small.Kinds.Providers, kind)
			file := filepath.Join(t.TempDir(), "config.yaml")
			var out bytes.Buffer
			if code := Run(t.Context(), Settings{Components: small}, []string{"init", file}, strings.NewReader(""), &out, &out); code != command.OK {
				t.Fatalf("exit %d: %s", code, &out)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, list := config.Parse([]config.Source{{Name: file, Data: text}}, config.Options{Kinds: small.ConfigKinds()}); list.HasErrors() || len(list) > 0 && list[0].Code != diag.UnsetVariable {
				t.Errorf("%v\n%s", list, text)
			}
			if code := Run(t.Context(), Settings{Components: small}, []string{"validate", file}, strings.NewReader(""), &out, &out); code != command.OK {
				t.Errorf("exit %d: %s\n%s", code, &out, text)
			}
		})
	}
	t.Run("no provider", func(t *testing.T) {
		t.Parallel()
		small := all
		small.Kinds.Providers = nil
		var out bytes.Buffer
		file := filepath.Join(t.TempDir(), "config.yaml")
		code := Run(t.Context(), Settings{Components: small}, []string{"init", file}, strings.NewReader(""), &out, &out)
		if _, err := os.Stat(file); code != command.Failed || err == nil || !strings.Contains(out.String(), "no provider kinds") {
			t.Errorf("exit %d: %s", code, &out)
		}
	})
}
