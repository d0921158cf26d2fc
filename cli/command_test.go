package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/cli/internal/command"
)

// countAgents is a team's custom command.
func countAgents() Command {
	var loud bool
	return Command{
		Name: "count", Arguments: "FILE…", Summary: "Count the agents",
		Flags: func(f *flag.FlagSet) { f.BoolVar(&loud, "loud", false, "shout") },
		Run: func(ctx context.Context, in *Invocation) error {
			c, err := in.Load(ctx, in.Args...)
			if err != nil {
				return err
			}
			text := fmt.Sprintf("%d agents", len(c.Revision.Set().AgentIDs()))
			if loud {
				text = strings.ToUpper(text)
			}
			if len(c.Revision.Set().AgentIDs()) > 1 {
				return errors.New("too many agents")
			}
			_, err = fmt.Fprintln(in.Out, text)
			return err
		},
	}
}

// runOwn runs a command line of a custom-built command.
func runOwn(t *testing.T, commands []Command, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Run(t.Context(), Settings{Components: shipped.Components(), Commands: commands, Version: "v1.2.3"}, args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestAnOwnCommandRunsOnAProvedConfiguration(t *testing.T) {
	t.Parallel()
	const head = "version: 1\nproviders: {demo: {type: scripted, script: replies.yaml}}\nmodels: {m: {provider_id: demo, upstream_model: x}}\nagents:\n  a: {model_id: m}\n"
	write := func(text string) string {
		dir := t.TempDir()
		for name, text := range map[string]string{"config.yaml": text, "replies.yaml": "replies:\n  - text: Hello.\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return filepath.Join(dir, "config.yaml")
	}
	tests := []struct {
		name, file string
		flags      []string
		code       int
		out, errs  string
	}{
		{name: "it succeeds", file: write(head), code: command.OK, out: "1 agents\n"},
		{name: "it takes its flags", file: write(head), flags: []string{"--loud"}, code: command.OK, out: "1 AGENTS\n"},
		{name: "it fails", file: write(head + "  b: {model_id: m}\n"), code: command.Failed, errs: "runtime: too many agents\n"},
		{name: "the file is invalid", file: write(head + "  b: {model_id: n}\n"), code: command.Failed, errs: `model "n"`},
		{name: "a flag is unknown", file: write(head), flags: []string{"--quiet"}, code: command.Usage, errs: "unknown flag: --quiet"},
		{name: "a flag is misspelled", file: write(head), flags: []string{"--luod"}, code: command.Usage, errs: "unknown flag: --luod; did you mean --loud?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := runOwn(t, []Command{countAgents()}, append(append([]string{"count"}, tt.flags...), tt.file)...)
			if code != tt.code || out != tt.out || !strings.Contains(errs, tt.errs) || tt.errs == "" && errs != "" {
				t.Errorf("exit %d, output %q, errors:\n%s", code, out, errs)
			}
		})
	}
}

func TestAnOwnCommandIsPartOfTheHelp(t *testing.T) {
	t.Parallel()
	_, out, _ := runOwn(t, []Command{countAgents()}, "--help")
	if !strings.Contains(out, "More commands:\n  count       Count the agents") {
		t.Errorf("the help is\n%s", out)
	}
	_, out, _ = runOwn(t, []Command{countAgents()}, "__complete", "cou")
	if !strings.HasPrefix(out, "count\tCount the agents") {
		t.Errorf("the completion is\n%s", out)
	}
}

func TestAnOwnCommandNeedsANameOfItsOwn(t *testing.T) {
	t.Parallel()
	run := func(context.Context, *Invocation) error { return nil }
	for _, commands := range [][]Command{
		{{Name: "validate", Run: run}},
		{{Name: "help", Run: run}},
		{{Name: "count", Run: run}, {Name: "count", Run: run}},
		{{Name: "", Run: run}},
		{{Name: "count"}},
	} {
		if code, _, errs := runOwn(t, commands, "version"); code != command.Usage || !strings.HasPrefix(errs, "runtime: ") {
			t.Errorf("%q: exit %d, %q", commands[0].Name, code, errs)
		}
	}
}

func TestTheVersionIsShown(t *testing.T) {
	t.Parallel()
	if _, out, _ := runOwn(t, nil, "--version"); !strings.HasPrefix(out, "runtime v1.2.3 ") {
		t.Errorf("the version is %q", out)
	}
}
