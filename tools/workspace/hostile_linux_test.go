package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAProgramThatHidesEndsWithTheCall has a program without a network leave its process
// group, its environment and its parent.
func TestAProgramThatHidesEndsWithTheCall(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	c := Config{Root: root, Programs: []string{"sh"}}
	hide := `(env -i setsid sh -c '(env -i setsid sh -c "sleep 1; echo late >late" &)' &) ; sleep 0.2`
	text, failed := call(t.Context(), t, c, "run_command", fmt.Sprintf(`{"program":"sh","args":["-c",%q]}`, hide))
	if failed && text == errNetwork.Error() {
		t.Skip(text)
	}
	if failed {
		t.Fatal(text)
	}
	text, failed = call(t.Context(), t, c, "run_command", fmt.Sprintf(`{"program":"sh","args":["-c","kill -0 %d"]}`, os.Getpid()))
	if !failed || !strings.Contains(text, "No such process") {
		t.Errorf("signaling the test gives %q", text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if text, _ := call(ctx, t, c, "run_command", fmt.Sprintf(`{"program":"sh","args":["-c",%q]}`, hide+"; sleep 100")); text != context.DeadlineExceeded.Error() {
		t.Errorf("the call ended with %q", text)
	}
	time.Sleep(1500 * time.Millisecond)
	if _, err := os.Stat(filepath.Join(root, "late")); err == nil {
		t.Error("a program outlived its call")
	}
}

// TestAProgramWithoutANetworkSeesItsOwnProcesses lists /proc and reads the environment of
// processes outside.
func TestAProgramWithoutANetworkSeesItsOwnProcesses(t *testing.T) {
	t.Parallel()
	c := Config{Root: t.TempDir(), Programs: []string{"sh"}, Env: map[string]string{"OWN": "yes"}}
	script := fmt.Sprintf(`cd /proc; echo [0-9]*; grep -c OWN=yes self/environ; cat %d/environ; cat $PPID/environ; cd /; umount -l /proc; cat /proc/%[1]d/environ; true`, os.Getpid())
	text, failed := call(t.Context(), t, c, "run_command", `{"program":"sh","args":["-c","`+script+`"]}`)
	if failed && text == errNetwork.Error() {
		t.Skip(text)
	}
	if processes, rest, _ := strings.Cut(text, "\n"); !strings.HasPrefix(processes, "1") || len(strings.Fields(processes)) > 3 || !strings.HasPrefix(rest, "1\n") {
		t.Errorf("the program sees %s", text)
	}
	if strings.Contains(text, "HOME=") || strings.Contains(text, "GOCACHE") {
		t.Errorf("the program reads an environment: %s", text)
	}
}

// TestWhatIsNoRegularFile reads and writes pipes, also through links, with a reader at the
// other end.
func TestWhatIsNoRegularFile(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"link": "->pipe", "null": "->/dev/null", "a.txt": "x"})
	pipe := filepath.Join(root, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	c := Config{Root: root}
	for _, tt := range []struct{ tool, arguments, want string }{
		{"read_file", `{"path":"pipe"}`, "pipe: is not a regular file"},
		{"read_file", `{"path":"link"}`, "link: is not a regular file"},
		{"write_file", `{"path":"pipe","content":"x"}`, `path "pipe" is not a regular file`},
		{"write_file", `{"path":"link","content":"x"}`, "link: is not a regular file"},
		{"edit_file", `{"path":"link","old":"x","new":"y"}`, "link: is not a regular file"},
		{"read_file", `{"path":"null"}`, "null: path escapes from parent"},
		{"write_file", `{"path":"null","content":"x"}`, "null: path escapes from parent"},
		{"grep", `{"expression":"x"}`, "a.txt:1:x\n"},
	} {
		if got, _ := call(t.Context(), t, c, tt.tool, tt.arguments); got != tt.want {
			t.Errorf("%s %s is %q, want %q", tt.tool, tt.arguments, got, tt.want)
		}
	}
	if n, _ := reader.Read(make([]byte, 8)); n > 0 {
		t.Error("something was written to the pipe")
	}
}

// TestNamesAreShownOnOneLine has names that look like several, or like output.
func TestNamesAreShownOnOneLine(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a\nfake.txt:1:found": "found", "b\x1b[2J": "found", "ü": "found", "\xff": "found"})
	for tool, want := range map[string]string{
		"list_files": "\"a\\nfake.txt:1:found\"\n\"b\\x1b[2J\"\nü\n\"\\xff\"\n",
		"grep":       "\"a\\nfake.txt:1:found\":1:found\n\"b\\x1b[2J\":1:found\nü:1:found\n\"\\xff\":1:found\n",
	} {
		if got, failed := call(t.Context(), t, Config{Root: root}, tool, `{"expression":"found"}`); failed || got != want {
			if got, failed = call(t.Context(), t, Config{Root: root}, tool, `{}`); failed || got != want {
				t.Errorf("%s gives %q, want %q", tool, got, want)
			}
		}
	}
}

// TestReadingAHugeFileEndsWithTheCall has a file of a terabyte without a second line.
func TestReadingAHugeFileEndsWithTheCall(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"huge": strings.Repeat("x", sniffed)})
	if err := os.Truncate(filepath.Join(root, "huge"), 1<<40); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	text, failed := call(ctx, t, Config{Root: root}, "read_file", `{"path":"huge","offset":2}`)
	if !failed || !strings.Contains(text, context.DeadlineExceeded.Error()) || time.Since(began) > 20*time.Second {
		t.Errorf("after %s it is %q", time.Since(began), text)
	}
}

// TestPatternsThatTakeLong has a pattern that a backtracking matcher tries for ever.
func TestPatternsThatTakeLong(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("a", 200)
	root := tree(t, map[string]string{deep: "x"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	for _, pattern := range []string{strings.Repeat("*a", 60) + "b", strings.Repeat("**a", 60) + "b", strings.Repeat("{a,aa,*}", 14) + "b"} {
		_, _ = call(ctx, t, Config{Root: root}, "list_files", fmt.Sprintf(`{"pattern":%q}`, pattern))
		if took := time.Since(began); took > 30*time.Second {
			t.Fatalf("%s took %s", pattern, took)
		}
	}
}
