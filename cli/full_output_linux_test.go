package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
)

// TestOutputThatCannotBeWrittenIsAFailure writes the output of commands to a full disk. Only the
// exit code of a wrong command line stays.
func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	settings := Settings{Components: shipped.Components()}
	if code := Run(t.Context(), settings, []string{"init", file}, strings.NewReader(""), new(bytes.Buffer), new(bytes.Buffer)); code != exitOK {
		t.Fatal(code)
	}
	for _, tt := range []struct {
		line string
		want int
	}{
		{"--help", exitFailed},
		{"--version", exitFailed},
		{"version", exitFailed},
		{"help run", exitFailed},
		{"run --help", exitFailed},
		{"turns create --help", exitFailed},
		{"workflows", exitFailed},
		{"init " + filepath.Join(dir, "other.yaml"), exitFailed},
		{"validate FILE", exitFailed},
		{"validate FILE --format json", exitFailed},
		{"validate FILE --format sarif", exitFailed},
		{"explain FILE assistant", exitFailed},
		{"explain FILE assistant --tool word_count", exitFailed},
		{"explain FILE assistant --format mermaid", exitFailed},
		{"diff FILE FILE", exitFailed},
		{"diff FILE FILE --format json", exitFailed},
		{"run FILE assistant hi", exitFailed},
		{"run FILE assistant hi --format json", exitFailed},
		{"run FILE assistant hi --format events", exitFailed},
		{"eval schema", exitFailed},
		{"keys new", exitFailed},
		{"migrate FILE", exitFailed},
		{"sessions FILE", exitFailed},
		{"turns FILE", exitFailed},
		{"turns FILE --format json", exitFailed},
		{"models", exitFailed},
		{"models --file FILE", exitFailed},
		{"models --format json", exitFailed},
		{"schema", exitFailed},
		{"completion bash", exitFailed},
		{"completion fish", exitFailed},
		{"__complete val", exitFailed},

		{"validate", exitUsage},
		{"validate missing.yaml", exitUsage},
		{"schema x", exitUsage},
		{"explain FILE nobody", exitFailed},
	} {
		var errs bytes.Buffer
		args := strings.Fields(strings.ReplaceAll(tt.line, "FILE", file))
		code := Run(t.Context(), settings, args, strings.NewReader(""), full, &errs)
		if code != tt.want || errs.Len() == 0 {
			t.Errorf("%s: exit code %d, want %d; %q", tt.line, code, tt.want, &errs)
		}
	}
}
