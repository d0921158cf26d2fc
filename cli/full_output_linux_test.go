package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/cli/internal/command"
)

// TestOutputThatCannotBeWrittenIsAFailure writes the output of commands to a full disk. Only the
// exit code of a wrong command line stays.
func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	settings := Settings{Components: shipped.Components()}
	if code := Run(t.Context(), settings, []string{"init", file}, strings.NewReader(""), new(bytes.Buffer), new(bytes.Buffer)); code != command.OK {
		t.Fatal(code)
	}
	for _, tt := range []struct {
		line string
		want int
	}{
		{"--help", command.Failed},
		{"--version", command.Failed},
		{"version", command.Failed},
		{"help run", command.Failed},
		{"run --help", command.Failed},
		{"turns create --help", command.Failed},
		{"workflows", command.Failed},
		{"init " + filepath.Join(dir, "other.yaml"), command.Failed},
		{"validate FILE", command.Failed},
		{"validate FILE --format json", command.Failed},
		{"validate FILE --format sarif", command.Failed},
		{"explain FILE assistant", command.Failed},
		{"explain FILE assistant --tool word_count", command.Failed},
		{"explain FILE assistant --format mermaid", command.Failed},
		{"diff FILE FILE", command.Failed},
		{"diff FILE FILE --format json", command.Failed},
		{"run FILE assistant hi", command.Failed},
		{"run FILE assistant hi --format json", command.Failed},
		{"run FILE assistant hi --format events", command.Failed},
		{"eval schema", command.Failed},
		{"keys new", command.Failed},
		{"migrate FILE", command.Failed},
		{"sessions FILE", command.Failed},
		{"turns FILE", command.Failed},
		{"turns FILE --format json", command.Failed},
		{"models", command.Failed},
		{"models --file FILE", command.Failed},
		{"models --format json", command.Failed},
		{"schema", command.Failed},
		{"completion bash", command.Failed},
		{"completion fish", command.Failed},
		{"__complete val", command.Failed},

		{"validate", command.Usage},
		{"validate missing.yaml", command.Usage},
		{"schema x", command.Usage},
		{"explain FILE nobody", command.Failed},
	} {
		var errs bytes.Buffer
		args := strings.Fields(strings.ReplaceAll(tt.line, "FILE", file))
		code := Run(t.Context(), settings, args, strings.NewReader(""), full, &errs)
		if code != tt.want || errs.Len() == 0 {
			t.Errorf("%s: exit code %d, want %d; %q", tt.line, code, tt.want, &errs)
		}
	}
}
