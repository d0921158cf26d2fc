//go:build unix

package sessionstart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
)

// hookKept is set for a process that runs a hook and is to be killed; its value is the
// program of a shell.
const hookKept = "SESSIONSTART_TEST_HOOK"

func TestMain(m *testing.M) {
	script := os.Getenv(hookKept)
	if script == "" {
		os.Exit(m.Run())
	}
	_, _ = Run(context.Background(), []spec.SessionHook{shellHook(time.Minute, script)}, "")
}

func shellHook(limit time.Duration, script string) spec.SessionHook {
	timeout := spec.Duration(limit)
	return spec.SessionHook{ID: "h", Command: []string{"/bin/sh", "-c", script}, Timeout: &timeout, Output: spec.HookOutput{AdditionalContext: true, Metadata: true}}
}

// TestATimeOutKillsWhatAHookStarted has grandchildren in the group of the hook, and in
// sessions of their own, of which one ignores SIGTERM.
func TestATimeOutKillsWhatAHookStarted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux finds what has left the group")
	}
	dir := t.TempDir()
	script := fmt.Sprintf(`cd '%s'
for i in 1 2; do (sleep 2; echo late >late$i) & done
setsid sh -c 'trap "" TERM HUP; (setsid sh -c "sleep 2; echo late >late3" &); sleep 2; echo late >late4' &
echo $$ >began; wait`, dir)
	_, err := Run(t.Context(), []spec.SessionHook{shellHook(500*time.Millisecond, script)}, "")
	if failed, ok := errors.AsType[*Error](err); !ok || failed.Problem != "it did not end within 500ms" {
		t.Fatalf("it ends with %v", err)
	}
	_, err = Run(t.Context(), []spec.SessionHook{shellHook(time.Minute, strings.Replace(script, "; wait", "", 1))}, "")
	if err != nil {
		t.Errorf("a hook that leaves something running ends with %v", err)
	}
	checkNothingLate(t, dir)
}

// TestAHookEndsWithTheRuntime kills the process that runs a hook.
func TestAHookEndsWithTheRuntime(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties programs to the runtime")
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), hookKept+"="+fmt.Sprintf(`cd '%s'; echo $$ >began; sleep 2; echo late >late1`, dir))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "began")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the hook does not begin")
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	checkNothingLate(t, dir)
}

func checkNothingLate(t *testing.T, dir string) {
	t.Helper()
	time.Sleep(2500 * time.Millisecond)
	late, err := filepath.Glob(filepath.Join(dir, "late*"))
	if err != nil || len(late) > 0 {
		t.Errorf("it went on: %q %v", late, err)
	}
}

// TestWhatHooksWriteIsHarmless has output without end, that is not JSON, and with a secret.
func TestWhatHooksWriteIsHarmless(t *testing.T) {
	t.Setenv("MODEL_API_KEY", "never-to-be-seen")
	const secret = `s3"cr\et-val` + "\n" + `ue`
	for name, tt := range map[string]struct {
		script, want, err string
	}{
		"endless":        {`yes`, "", "it did not end within 1s"},
		"large":          {`head -c 1000000 /dev/zero | tr '\0' x`, "", "it wrote more than 131072 bytes, of which nothing can be kept"},
		"large errors":   {`head -c 1000000 /dev/zero | tr '\0' x >&2; exit 7`, "", strings.Repeat("x", 100)},
		"cut JSON":       {`printf '{"additionalContext":"a"'`, `{"additionalContext":"a"`, ""},
		"wrong JSON":     {`printf '{"additionalContext":1}'`, `{"additionalContext":1}`, ""},
		"two objects":    {`printf '{"additionalContext":"a"}{}'`, `{"additionalContext":"a"}{}`, ""},
		"not an object":  {`printf '[1]'`, `[1]`, ""},
		"bytes":          {`printf 'a\377\000b'`, "a\uFFFD\uFFFDb", ""},
		"nothing":        {`:`, "", ""},
		"environment":    {`echo "[$MODEL_API_KEY]"`, "[]", ""},
		"secret":         {`printf %s "$TOKEN"`, redact.Placeholder, ""},
		"secret as JSON": {`printf '{"additionalContext":"a s3\\"cr\\\\et-val\\nue b"}'`, "a " + redact.Placeholder + " b", ""},
		"secret, failed": {`printf %s "$TOKEN" >&2; exit 1`, "", redact.Placeholder},
		"input":          {`cat`, "", ""},
		"killed":         {`kill -9 $$`, "", "it was ended: signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			h := shellHook(time.Minute, tt.script)
			if name == "endless" {
				h = shellHook(time.Second, tt.script)
			}
			h.Env = map[string]string{"TOKEN": secret}
			kept, err := Run(t.Context(), []spec.SessionHook{h}, "")
			failed, isHook := errors.AsType[*Error](err)
			if (err != nil) != (tt.err != "") || err != nil && (!isHook || !strings.Contains(failed.Problem, tt.err) || len(failed.Problem) > maxProblem+64) {
				t.Fatalf("it ends with %v", err)
			}
			got := ""
			if m, ok := ContextOf(kept); ok {
				got = strings.TrimPrefix(m.Text(), contextHeading)
			}
			if err == nil && got != tt.want {
				t.Errorf("its context is %q, want %q", got, tt.want)
			}
			for _, hidden := range []string{"never-to-be-seen", "et-val"} {
				if strings.Contains(fmt.Sprintf("%s %v", kept, err), hidden) {
					t.Errorf("it shows %s: %s %v", hidden, kept, err)
				}
			}
		})
	}
}
