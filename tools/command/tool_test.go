//go:build unix

package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sh returns a configuration that runs a shell script. Only tests do that.
func sh(script string) config {
	return config{Description: "A test.", Command: []string{"/bin/sh", "-c", script}}
}

func newTool(t *testing.T, c config) tools.Tool {
	t.Helper()
	made, err := Kind().Create(tools.Settings{ID: "test"}, &c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func invoke(ctx context.Context, t *testing.T, c config, arguments string) (tools.Result, error) {
	t.Helper()
	return newTool(t, c).Call(ctx, &tools.Call{ID: "call_1", Arguments: json.RawMessage(arguments)})
}

// text runs a tool that must succeed and returns what the model reads.
func text(t *testing.T, c config, arguments string) string {
	t.Helper()
	result, err := invoke(t.Context(), t, c, arguments)
	if err != nil || result.IsError {
		t.Fatalf("%q: %v %q", c.Command, err, model.PartsText(result.Content))
	}
	return model.PartsText(result.Content)
}

// failure runs a tool that must return an error result and returns its text.
func failure(t *testing.T, c config, arguments string) string {
	t.Helper()
	result, err := invoke(t.Context(), t, c, arguments)
	if err != nil || !result.IsError {
		t.Fatalf("%q: %v, no error result but %q", c.Command, err, model.PartsText(result.Content))
	}
	return model.PartsText(result.Content)
}

func TestArgumentsArriveAsOneLineOfJSON(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"text": "a b\nc", "n": 1}`: `{"text":"a b\nc","n":1}` + "\n",
		"{\n\"a\":\n1}":              `{"a":1}` + "\n",
		``:                           "{}\n",
		`{"x":"$(touch /tmp/x); ` + "`id`" + ` 'q'"}`: `{"x":"$(touch /tmp/x); ` + "`id`" + ` 'q'"}` + "\n",
	} {
		if got := text(t, config{Description: "d", Command: []string{"cat"}}, args); got != want {
			t.Errorf("%s arrives as %q, want %q", args, got, want)
		}
	}
	if got := failure(t, config{Description: "d", Command: []string{"cat"}}, `{`); !strings.Contains(got, "tool_input_invalid") {
		t.Errorf("result is %q", got)
	}
}

func TestCommandIsNoShell(t *testing.T) {
	t.Parallel()
	got := text(t, config{Description: "d", Command: []string{"echo", "$HOME", "*", ";", "a  b", ""}}, `{}`)
	if want := "$HOME * ; a  b \n"; got != want {
		t.Errorf("output is %q, want %q", got, want)
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		script     string
		text, data string
	}{
		{`printf 'hello\n'; echo noise >&2`, "hello\n", ""},
		{`printf ' {"a": [1]}\n'`, " {\"a\": [1]}\n", `{"a": [1]}`},
		{`printf '{"a":'`, `{"a":`, ""},
		{`printf '"\377"'`, "\"\uFFFD\"", ""},
		{`:`, "[no output]", ""},
		{`printf 'a\000b'`, "[3 bytes of output: only text is shown]", ""},
		{`exec 0<&-; echo done`, "done\n", ""},
	} {
		result, err := invoke(t.Context(), t, sh(tt.script), `{"a":1}`)
		if err != nil || result.IsError {
			t.Fatal(tt.script, err, result)
		}
		if got := model.PartsText(result.Content); got != tt.text || string(result.Data) != tt.data {
			t.Errorf("%s: result is %q with data %q, want %q with %q", tt.script, got, result.Data, tt.text, tt.data)
		}
	}
}

func TestAFailureHasTheExitCodeAndBothOutputs(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		`echo 'FAIL TestFoo'; echo ' old flag ' >&2; exit 3`: "command /bin/sh failed with exit code 3\nFAIL TestFoo\nold flag",
		`echo ' no such city ' >&2; exit 3`:                  "command /bin/sh failed with exit code 3\nno such city",
		`echo out; exit 1`:                                   "command /bin/sh failed with exit code 1\nout",
		`exit 255`:                                           "command /bin/sh failed with exit code 255",
		`echo out; echo err >&2; kill -TERM $$`:              "command /bin/sh was ended: signal: terminated\nout\nerr",
		`printf 'a\000b\377' >&2; exit 1`:                    "command /bin/sh failed with exit code 1\nab\uFFFD",
		`printf 'a\000b'; echo err >&2; exit 1`:              "command /bin/sh failed with exit code 1\n[3 bytes of output: only text is shown]\nerr",
	} {
		if got := failure(t, sh(script), `{}`); got != want {
			t.Errorf("%s: result is %q, want %q", script, got, want)
		}
	}
	long := failure(t, sh(`i=0; while [ $i -lt 2000 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 1`), `{}`)
	if !strings.HasSuffix(long, "line 1999") || !strings.Contains(long, "[…]") || len(long) > errorLimit+100 {
		t.Errorf("the error has %d bytes and ends %q", len(long), long[len(long)-20:])
	}
	c := sh(`head -c 9000 /dev/zero | tr '\0' o; head -c 9000 /dev/zero | tr '\0' e >&2; exit 1`)
	c.MaxOutput = 256
	const header = "command /bin/sh failed with exit code 1\n"
	if got := failure(t, c, `{}`); len(got) > len(header)+256+len("\n[…] ") || !strings.HasPrefix(got, header+"ooo") || !strings.Contains(got, "\n[cut: 9000 bytes in all]\n") || !strings.HasSuffix(got, "eee") {
		t.Errorf("with max_output 256 the result has %d bytes: %q", len(got), got)
	}
}

func TestLargeInputThatNobodyReads(t *testing.T) {
	t.Parallel()
	args := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	if got := text(t, sh(`echo done`), args); got != "done\n" {
		t.Errorf("output is %q", got)
	}
	if got := strings.TrimSpace(text(t, sh(`wc -c`), args)); got != strconv.Itoa(len(args)+1) {
		t.Errorf("%s bytes arrived, want %d", got, len(args)+1)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("RUNTIME_API_KEY", "s3cr3t")
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("HOME", "/home/me")
	t.Setenv("TMPDIR", "")
	c := config{Description: "d", Command: []string{"env"}, Env: map[string]string{"GREETING": "hello $HOME", "HOME": "/elsewhere"}}
	got := strings.Fields(strings.ReplaceAll(text(t, c, `{}`), "hello $HOME", "hello"))
	want := []string{"GREETING=hello", "HOME=/elsewhere", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH"), "TMPDIR="}
	got = slices.DeleteFunc(got, func(entry string) bool { return strings.HasPrefix(entry, "RUNTIME_PROCESS_MARK=") })
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("environment is %q, want %q", got, want)
	}
}

func script(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o700); err != nil { //nolint:gosec // it must be executable
		t.Fatal(err)
	}
}

func TestTheIdempotencyKeyIsAVariable(t *testing.T) {
	t.Parallel()
	tl := newTool(t, sh(`printf %s "${RUNTIME_IDEMPOTENCY_KEY-unset}"`))
	for key, want := range map[string]string{"turn_1/2/call_1": "turn_1/2/call_1", "": "unset"} {
		result, err := tl.Call(t.Context(), &tools.Call{IdempotencyKey: key})
		if got := model.PartsText(result.Content); err != nil || strings.Replace(got, "[no output]", "", 1) != want {
			t.Errorf("key %q arrives as %q (%v), want %q", key, got, err, want)
		}
	}
}

func TestWhereTheProgramIsFound(t *testing.T) {
	// Not parallel: a child forked meanwhile would hold the scripts open for
	// writing, and they could not be started.
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	script(t, dir, "here", "pwd")
	script(t, filepath.Join(dir, "bin"), "there", "echo $0 $1")
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		config config
		want   string
	}{
		{config{Command: []string{"./here"}, Dir: dir}, real},
		{config{Command: []string{"bin/../here"}, Dir: dir}, real},
		{config{Command: []string{dir + "/here"}, Dir: "/"}, "/"},
		{config{Command: []string{"there", "x"}, Env: map[string]string{"PATH": "relative:" + dir + "/bin:/bin"}}, dir + "/bin/there x"},
	} {
		tt.config.Description = "d"
		if got := strings.TrimSpace(text(t, tt.config, `{}`)); got != tt.want {
			t.Errorf("%q: output is %q, want %q", tt.config.Command, got, tt.want)
		}
	}
}

func TestProgramThatCannotBeStarted(t *testing.T) {
	// Not parallel, for the same reason.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plain"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "garbage"), []byte("\x01\x02"), 0o700); err != nil { //nolint:gosec // it must be executable
		t.Fatal(err)
	}
	for _, tt := range []struct {
		config config
		want   string
	}{
		{config{Command: []string{"no-such-program", "s3cr3t"}}, `command "no-such-program" is not installed: not found in PATH`},
		{config{Command: []string{"wc"}, Env: map[string]string{"PATH": "."}}, `command "wc" is not installed: not found in PATH`},
		{config{Command: []string{"./none"}, Dir: dir}, `command "./none" cannot be run: no such file or directory`},
		{config{Command: []string{"./plain"}, Dir: dir}, `command "./plain" cannot be run: permission denied`},
		{config{Command: []string{"./garbage"}, Dir: dir}, `command "./garbage" cannot be run: exec format error`},
		{config{Command: []string{"cat"}, Dir: dir + "/none"}, "the directory that the command is to run in does not exist"},
		{config{Command: []string{"cat"}, Dir: dir + "/plain"}, "the directory that the command is to run in does not exist"},
	} {
		tt.config.Description = "d"
		if got := failure(t, tt.config, `{}`); got != tt.want {
			t.Errorf("%q: result is %q, want %q", tt.config.Command, got, tt.want)
		}
	}
}

func TestLongOutputIsCut(t *testing.T) {
	t.Parallel()
	c := sh(`head -c 300000 /dev/zero | tr '\0' x`)
	c.MaxOutput = 1000
	result, err := invoke(t.Context(), t, c, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	got := model.PartsText(result.Content)
	if len(got) != 1000 || !strings.HasSuffix(got, "xxx\n[cut: 300000 bytes in all]") || result.Data != nil {
		t.Errorf("result has %d bytes and ends %q", len(got), got[len(got)-40:])
	}
}

func TestEndlessOutputTakesNoMemory(t *testing.T) {
	t.Parallel()
	c := sh(`yes >&2 & yes`)
	tl := newTool(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := tl.Call(ctx, &tools.Call{})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v, want a passed deadline", err)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

// fifo returns a named pipe and a function that opens its reading end: a line
// written to it shows that a process runs, and its end that all have exited.
func fifo(t *testing.T) (path string, open func() *bufio.Reader) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func() *bufio.Reader {
		f, err := os.Open(path)
		if err != nil {
			t.Errorf("open the fifo: %v", err)
			return nil
		}
		t.Cleanup(func() { _ = f.Close() })
		return bufio.NewReader(f)
	}
}

func TestCancelingKillsGrandchildrenToo(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"child":                     `echo up >&3; exec sleep 600`,
		"grandchild":                `sleep 600 & echo up >&3; wait`,
		"deaf":                      `trap '' TERM INT HUP; (trap '' TERM INT HUP; sleep 600) & echo up >&3; wait`,
		"grandchild without parent": `(sleep 600 &) ; echo up >&3; sleep 600`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkCancelEndsAll(t, script)
		})
	}
}

// checkCancelEndsAll cancels a call of a script that wrote "up" to its
// descriptor 3, and waits until every process that holds it open has ended.
func checkCancelEndsAll(t *testing.T, script string) {
	t.Helper()
	path, open := fifo(t)
	tl := newTool(t, sh(`exec 3>`+path+`; `+script))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := tl.Call(ctx, &tools.Call{})
		done <- err
	}()
	r := open()
	if line, err := r.ReadString('\n'); line != "up\n" {
		t.Fatalf("the script says %q, %v", line, err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want it to be canceled", err)
	}
	if rest, err := r.ReadString('\n'); rest != "" || err == nil {
		t.Errorf("the pipe says %q, %v", rest, err)
	}
}

func TestOutputHeldOpenDoesNotHang(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		`sleep 600 & echo up >&3; echo result`:            "result\n",
		`sleep 600 & echo up >&3; echo wrong >&2; exit 4`: "command /bin/sh failed with exit code 4\nwrong",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			path, open := fifo(t)
			tl := newTool(t, sh(`exec 3>`+path+`; `+script))
			done := make(chan string, 1)
			go func() {
				result, err := tl.Call(t.Context(), &tools.Call{})
				if err != nil {
					t.Errorf("call: %v", err)
				}
				done <- model.PartsText(result.Content)
			}()
			r := open()
			if line, err := r.ReadString('\n'); line != "up\n" {
				t.Fatalf("the script says %q, %v", line, err)
			}
			if got := <-done; got != want {
				t.Errorf("result is %q, want %q", got, want)
			}
			if rest, err := r.ReadString('\n'); rest != "" || err == nil {
				t.Errorf("the pipe says %q, %v", rest, err)
			}
		})
	}
}

// TestNothingOutlivesACall leaves processes running that hold none of the outputs.
func TestNothingOutlivesACall(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"success": 0, "failure": 3} {
		for left, script := range map[string]string{
			"child":        `sleep 600 >/dev/null 2>&1 &`,
			"orphan":       `(sleep 600 >/dev/null 2>&1 &)`,
			"new session":  `setsid sleep 600 >/dev/null 2>&1 &`,
			"daemon":       `setsid sh -c '(sleep 600 &)' >/dev/null 2>&1`,
			"deaf session": `setsid sh -c 'trap "" TERM HUP INT; sleep 600' >/dev/null 2>&1 &`,
		} {
			if strings.Contains(script, "setsid") && runtime.GOOS != "linux" {
				continue
			}
			t.Run(name+"/"+left, func(t *testing.T) {
				t.Parallel()
				path, open := fifo(t)
				tl := newTool(t, sh(fmt.Sprintf("exec 3>%s; %s\necho up >&3; exit %d", path, script, code)))
				done := make(chan error, 1)
				go func() {
					result, err := tl.Call(t.Context(), &tools.Call{})
					if result.IsError != (code != 0) {
						t.Errorf("result is %q", model.PartsText(result.Content))
					}
					done <- err
				}()
				r := open()
				if line, err := r.ReadString('\n'); line != "up\n" {
					t.Fatalf("the script says %q, %v", line, err)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
				if rest, err := r.ReadString('\n'); rest != "" || err == nil {
					t.Errorf("the pipe says %q, %v", rest, err)
				}
			})
		}
	}
}

func TestCallWithAnEndedContextStartsNothing(t *testing.T) {
	t.Parallel()
	made := filepath.Join(t.TempDir(), "made")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := invoke(ctx, t, sh(`: >`+made), `{}`); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want it to be canceled", err)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("the command ran")
	}
}

func TestDeadlineIsToldAsTheToolsTimeout(t *testing.T) {
	t.Parallel()
	entry, list := toolset.Compile("test", newTool(t, sh(`exec sleep 600`)), toolset.Source{Kind: toolset.SourceGlobal})
	if list.HasErrors() {
		t.Fatal(list)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	result := entry.Execute(ctx, &tools.Call{Arguments: json.RawMessage(`{}`)})
	if got := model.PartsText(result.Content); got != entry.EndedText(context.DeadlineExceeded) || !result.IsError {
		t.Errorf("result is %q, want %q", got, entry.EndedText(context.DeadlineExceeded))
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	tl := newTool(t, sh(`cat; cat >&2 </dev/null`))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			args := fmt.Sprintf(`{"n":%d}`, i)
			result, err := tl.Call(t.Context(), &tools.Call{Arguments: json.RawMessage(args)})
			if err != nil || model.PartsText(result.Content) != args+"\n" {
				t.Errorf("call with %s: %v %v", args, result, err)
			}
		})
	}
	wg.Wait()
}

func TestTheToolKeepsItsOwnSettings(t *testing.T) {
	t.Parallel()
	c := config{Description: "d", Command: []string{"echo", "a"}, Env: map[string]string{"A": "1"}}
	tl := newTool(t, c)
	c.Command[1], c.Env["A"] = "b", "2"
	result, err := tl.Call(t.Context(), &tools.Call{})
	if err != nil || model.PartsText(result.Content) != "a\n" {
		t.Errorf("result is %v, %v", result, err)
	}
}

func TestACommandRunsInTheWorkspaceOfTheSession(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(root, "app")
	if err := os.Mkdir(app, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(app, "evil"), []byte("#!/bin/sh\necho evil\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if err := os.Symlink(os.TempDir(), filepath.Join(root, "out")); err != nil {
		t.Fatal(err)
	}
	fixed, relative := sh("pwd"), sh("")
	fixed.Dir, relative.Command = "/", []string{"./evil"}
	for name, tt := range map[string]struct {
		config config
		cwd    string
		want   string
	}{
		"in the workspace":        {sh("pwd"), "app", app + "\n"},
		"in its own directory":    {fixed, "app", "/\n"},
		"a program of a checkout": {relative, "app", `command "./evil" cannot be run: no such file or directory`},
		"through a link":          {sh("pwd"), "out", "the workspace of the session has no directory out"},
		"a directory that is not": {sh("pwd"), "none", "the workspace of the session has no directory none"},
	} {
		result, err := newTool(t, tt.config).Call(t.Context(), &tools.Call{ID: "call_1", Arguments: json.RawMessage(`{}`), Workspace: &tools.Workspace{Root: root, Cwd: tt.cwd}})
		if got := model.PartsText(result.Content); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tt.want)
		}
	}
}
