//go:build unix

package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestProgramsRunInTheWorkspace(t *testing.T) {
	t.Parallel()
	c := Config{
		Root: tree(t, map[string]string{"dir/a.txt": "hello", "up": "->..", "in": "->dir"}), Network: networkHost,
		Programs: []string{"cat", "sh", "pwd", "no-such-program"}, Env: map[string]string{"COLOR": "red"},
	}
	top, err := filepath.EvalSymlinks(c.Root)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		arguments, want string
		failed          bool
	}{
		{`{"program":"cat","args":["dir/a.txt"]}`, "hello", false},
		{`{"program":"cat","input":"typed"}`, "typed", false},
		{`{"program":"pwd","path":"in"}`, filepath.Join(top, "dir") + "\n", false},
		{`{"program":"sh","args":["-c","echo $COLOR $HTTP_PROXY"]}`, "red\n", false},
		{`{"program":"sh","args":["-c","echo wrong >&2; exit 3"]}`, "sh failed with exit code 3\nwrong\n", true},
		{`{"program":"rm","args":["-r","."]}`, `program "rm" is not allowed; allowed are cat, sh, pwd, no-such-program`, true},
		{`{"program":"/bin/cat"}`, `program "/bin/cat" is not allowed; allowed are cat, sh, pwd, no-such-program`, true},
		{`{"program":"pwd","path":"up"}`, "up: path escapes from parent", true},
		{`{"program":"pwd","path":"dir/a.txt"}`, `path "dir/a.txt" is not a directory`, true},
		{`{"program":"cat","args":["a\u0000b"]}`, "tool_input_invalid: an argument has a NUL character", true},
	} {
		got, failed := call(t.Context(), t, c, "run_command", tt.arguments)
		if got != tt.want || failed != tt.failed {
			t.Errorf("%s is %q, %v, want %q", tt.arguments, got, failed, tt.want)
		}
	}
	if got, failed := call(t.Context(), t, c, "run_command", `{"program":"no-such-program"}`); !failed || !strings.Contains(got, "no-such-program") {
		t.Errorf("a program that is not installed gives %q", got)
	}
}

func TestAProgramHasNoNetworkUnlessItIsGivenOne(t *testing.T) {
	t.Parallel()
	c := Config{Root: t.TempDir(), Programs: []string{"cat"}}
	got, failed := call(t.Context(), t, c, "run_command", `{"program":"cat","args":["/proc/net/dev"]}`)
	switch {
	case runtime.GOOS != "linux", failed && got == errNetwork.Error():
		if !failed || got != errNetwork.Error() {
			t.Errorf("without network: host a program gives %q", got)
		}
	case failed || strings.Contains(got, "eth") || strings.Count(got, ":") > 1:
		t.Errorf("a program sees the devices %q", got)
	}
}

func TestAProgramAndItsChildrenEndWithTheCall(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	c := Config{Root: root, Programs: []string{"sh"}, Network: networkHost}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan string, 1)
	go func() {
		text, _ := call(ctx, t, c, "run_command", `{"program":"sh","args":["-c","sleep 1000 & echo $! >child.new; mv child.new child; wait"]}`)
		done <- text
	}()
	child := waitForFile(t, filepath.Join(root, "child"))
	cancel()
	if text := <-done; text != context.Canceled.Error() {
		t.Errorf("the call ended with %q", text)
	}
	waitForEnd(t, child)

	text, failed := call(t.Context(), t, c, "run_command", `{"program":"sh","args":["-c","sleep 1000 >/dev/null 2>&1 & echo $!"]}`)
	if failed {
		t.Fatal(text)
	}
	waitForEnd(t, strings.TrimSpace(text))
}

// waitForFile returns the text of a file, once there is one.
func waitForFile(t *testing.T, name string) string {
	t.Helper()
	for {
		text, err := os.ReadFile(name)
		if err == nil {
			return strings.TrimSpace(string(text))
		}
		if !errors.Is(err, os.ErrNotExist) || t.Context().Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// waitForEnd waits until a process has ended.
func waitForEnd(t *testing.T, pid string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		status, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		if err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
	}
	t.Errorf("process %s still runs", pid)
}
