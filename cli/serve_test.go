package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestEveryDriverThatAConfigurationCanNameIsThere(t *testing.T) {
	t.Parallel()
	field, _ := reflect.TypeFor[settings.Store]().FieldByName("Driver")
	var names []string
	for _, driver := range shipped.Components().Stores {
		names = append(names, driver.Name)
	}
	if got := strings.Join(names, "|"); got != field.Tag.Get("enum") {
		t.Errorf("there are %s, and a configuration can name %s", got, field.Tag.Get("enum"))
	}
}

func TestFollowingATurnEndsWhenItIsCanceled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(head+"agents: {a: {model_id: m}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(ctx context.Context, args ...string) (int, string, string) {
		var stdout, stderr strings.Builder
		code := run(ctx, args, terminal.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
		return code, stdout.String(), stderr.String()
	}
	code, turn, stderr := call(t.Context(), "turns", "create", file, "a", "hello")
	if code != command.OK {
		t.Fatal(stderr)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("a signal came"))
	defer cancel()
	code, _, stderr = call(ctx, "events", "--follow", file, strings.TrimSpace(turn))
	if code != command.Canceled || stderr != "runtime: canceled\n" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

func TestAgesAreShort(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", time.Minute: "1m", 59 * time.Minute: "59m", 47 * time.Hour: "47h", 48 * time.Hour: "2d", 9000 * time.Hour: "375d",
	} {
		if got := command.Age(now, now.Add(-ago)); got != want {
			t.Errorf("%s ago is %s, want %s", ago, got, want)
		}
	}
}

// storeTime limits the waits of a script.
const storeTime = time.Minute

// daemons are the servers of a script, by name.
type daemons struct {
	env     *testscript.Env
	mu      sync.Mutex
	running map[string]*daemon
}

// daemonsKey is the key of a script's daemons.
type daemonsKey struct{}

// daemon is a server that runs beside a script.
type daemon struct {
	cmd *exec.Cmd
	// said is its output on standard error, and heard the part that a script has waited for.
	said  sharedOutput
	heard int
	ended chan struct{}
	err   error
}

func newDaemons(env *testscript.Env) *daemons {
	d := &daemons{env: env, running: map[string]*daemon{}}
	env.Defer(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, one := range d.running {
			_ = one.cmd.Process.Kill()
			<-one.ended
		}
	})
	return d
}

// serving starts a server and waits until it is ready: "serving NAME ARG…". It listens only if the
// arguments name an address, which is then stored in the variables URL and ADDRESS.
func serving(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: serving NAME ARG…")
	}
	d, _ := ts.Value(daemonsKey{}).(*daemons)
	if !slices.Contains(args, "--listen") {
		args = append(args, "--listen", "none")
	}
	one := &daemon{cmd: exec.Command("runtime", append([]string{"serve"}, args[1:]...)...), ended: make(chan struct{})}
	one.cmd.Dir = ts.MkAbs(".")
	one.cmd.Env = append(slices.Clip(d.env.Vars), "DATABASE_URL="+ts.Getenv("DATABASE_URL"), "SERVER_KEY="+ts.Getenv("SERVER_KEY"))
	said, err := one.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(one.cmd.Start())
	d.mu.Lock()
	d.running[args[0]] = one
	d.mu.Unlock()
	ready := make(chan string, 1)
	go one.wait(said, ready)
	select {
	case line := <-ready:
		_, url, _ := strings.Cut(line, ", listening on ")
		ts.Setenv("URL", url)
		ts.Setenv("ADDRESS", strings.TrimPrefix(url, "http://"))
	case <-one.ended:
		ts.Fatalf("the server ended (%v):\n%s", one.err, one.said.String())
	case <-time.After(storeTime):
		ts.Fatalf("the server is not ready")
	}
}

// wait reads a server's output until it has ended.
func (d *daemon) wait(said io.Reader, ready chan<- string) {
	defer close(d.ended)
	for lines := bufio.NewScanner(said); lines.Scan(); {
		d.said.add(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "runtime: ready: ") {
			ready <- lines.Text() // once
		}
	}
	d.err = d.cmd.Wait()
}

// ends sends a server a signal, TERM or KILL, and checks its exit code; its output is then in the
// file NAME.err: "ends NAME SIGNAL CODE". A killed server has the code -1.
func ends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: ends NAME SIGNAL CODE")
	}
	d, _ := ts.Value(daemonsKey{}).(*daemons)
	d.mu.Lock()
	one := d.running[args[0]]
	delete(d.running, args[0])
	d.mu.Unlock()
	signal := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}[args[1]]
	ts.Check(one.cmd.Process.Signal(signal))
	select {
	case <-one.ended:
	case <-time.After(storeTime):
		_ = one.cmd.Process.Kill()
		ts.Fatalf("the server does not end:\n%s", one.said.String())
	}
	code := 0
	if failed, ok := errors.AsType[*exec.ExitError](one.err); ok {
		code = failed.ExitCode()
	} else {
		ts.Check(one.err)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".err"), []byte(one.said.String()), 0o600))
	if strconv.Itoa(code) != args[2] {
		ts.Fatalf("exit code %d, want %s:\n%s", code, args[2], one.said.String())
	}
}

// get fetches a page and prints it to stdout: "get STATUS URL HEADER…".
func get(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: get STATUS URL HEADER…")
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, args[1], http.NoBody)
	ts.Check(err)
	for _, header := range args[2:] {
		name, value, _ := strings.Cut(header, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
	if strconv.Itoa(resp.StatusCode) != args[0] {
		ts.Fatalf("the status is %s, want %s", resp.Status, args[0])
	}
}

// until repeats a command until its output matches a pattern: "until PATTERN COMMAND ARG…".
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND ARG…")
	}
	want := regexp.MustCompile(args[0])
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(storeTime); ; {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("nothing matches %s:\n%s", args[0], ts.ReadFile("stdout"))
		}
	}
}

// keep stores the last command's output, or its match of a pattern, in a variable: "keep NAME
// [PATTERN]".
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: keep NAME [PATTERN]")
	}
	text := strings.TrimSpace(ts.ReadFile("stdout"))
	if len(args) == 2 {
		if text = regexp.MustCompile(args[1]).FindString(text); text == "" {
			ts.Fatalf("nothing matches %s", args[1])
		}
	}
	ts.Setenv(args[0], text)
}

// database creates an empty PostgreSQL database and stores its URL in DATABASE_URL.
func database(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) > 0 {
			ts.Fatalf("usage: database")
		}
		ts.Setenv("DATABASE_URL", pgtest.Start(t).Database(t))
	}
}
