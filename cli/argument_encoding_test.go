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

// TestTextsThatAreNotUTF8AreRejected passes invalid UTF-8 in arguments, flags and standard input. An
// existing file may have any name.
func TestTextsThatAreNotUTF8AreRejected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, odd := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "\xff.yaml")
	run := func(in string, args ...string) (int, string) {
		var errs bytes.Buffer
		code := Run(t.Context(), Settings{Components: shipped.Components()}, args, strings.NewReader(in), new(bytes.Buffer), &errs)
		return code, errs.String()
	}
	if code, text := run("", "init", file); code != command.OK {
		t.Fatal(text)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(odd, text, 0o600); err != nil {
		t.Skip(err) // a file system of Unicode names
	}
	for _, tt := range []struct {
		args []string
		in   string
		code int
		want string
	}{
		{[]string{"run", file, "assistant", "bad \xff"}, "", command.Usage, `argument 4 is not valid UTF-8: "bad \xff"`},
		{[]string{"run", file, "assistant", "-"}, "bad \xff", command.Usage, "the prompt is not valid UTF-8"},
		{[]string{"run", file, "assistant", "hi", "--var", "x=\xff"}, "", command.Usage, "argument 6 is not valid UTF-8"},
		{[]string{"run", file, "assistant", "hi", "--session=\xff"}, "", command.Usage, "argument 5 is not valid UTF-8"},
		{[]string{"turns", "create", file, "assistant", "\xff"}, "", command.Usage, "argument 5 is not valid UTF-8"},
		{[]string{"explain", file, "assistant", "--tool", "\xff"}, "", command.Usage, "argument 5 is not valid UTF-8"},
		{[]string{"tenants", "variables", "set", "acme", "name", "--server", "http://127.0.0.1:1"}, "\xff", command.Usage, "the value is not valid UTF-8"},
		{[]string{"validate", filepath.Join(dir, "\xfe.yaml")}, "", command.Usage, "argument 2 is not valid UTF-8"},
		{[]string{"validate", odd}, "", command.OK, ""},
		{[]string{"run", "--file=" + odd, "assistant", "hi"}, "", command.OK, ""},
	} {
		if code, text := run(tt.in, tt.args...); code != tt.code || !strings.Contains(text, tt.want) {
			t.Errorf("%q: exit code %d, want %d; %s", tt.args, code, tt.code, text)
		}
	}
}
