package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write the golden output in the scripts anew")

// TestMain provides the commands of the scripts: the program itself, the program with misbehaving
// components, a tool server, and commands that show the positions of diagnostics and the events of
// a turn.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"runtime":   func() { Main(Settings{Components: shipped.Components()}) },
		"broken":    func() { os.Exit(runBroken()) },
		"mcpserver": mcpServer,
		"provider":  providertest.RunProcess,
		"places":    func() { os.Exit(places(os.Stdin, os.Stdout)) },
		"story":     func() { os.Exit(story(os.Stdin, os.Stdout, os.Args[1:])) },
	})
}

// runBroken is Main with the components of broken_test.go.
func runBroken() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := program{Streams: terminal.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, Components: broken()}
	return p.run(ctx, os.Args[1:])
}

// TestScripts runs the scripts of testdata/script without concurrency. With -update it rewrites
// golden output.
func TestScripts(t *testing.T) {
	runScripts(t, func(script []byte) bool { return !runsTurns.Match(script) })
}

// TestScriptsThatRunTurns runs the other scripts of testdata/script, like TestScripts.
func TestScriptsThatRunTurns(t *testing.T) { runScripts(t, runsTurns.Match) }

// runsTurns matches scripts that start a server or run turns in a separate process.
var runsTurns = regexp.MustCompile(`(?m)^(! )?(serving|peer|exec runtime (chat|run)|exits \d+ runtime (chat|run)) `)

// runScripts runs the scripts selected by wanted.
func runScripts(t *testing.T, wanted func(script []byte) bool) {
	t.Helper()
	team, err := filepath.Abs("../examples/team")
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := slices.DeleteFunc(all, func(file string) bool {
		script, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return !wanted(script)
	})
	testscript.Run(t, testscript.Params{
		Files:               files,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TEAM", team)
			// The race detector delays process exit by a second.
			env.Setenv("GORACE", "atexit_sleep_ms=10")
			env.Values[daemonsKey{}] = newDaemons(env)
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "postgres" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return pgtest.Wanted(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"mask":   mask,
			"events": events,
			"absent": absent,
			"peer":   servePeer,

			"serving":  serving,
			"ends":     ends,
			"hangup":   hangup,
			"says":     says,
			"get":      get,
			"form":     form,
			"answers":  answers,
			"until":    until,
			"keep":     keep,
			"database": database(t),
		},
	})
}

// exits runs a command and checks its exit code: "exits CODE COMMAND ARG…".
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if want, err := strconv.Atoi(args[0]); err != nil || code != want {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

var unstable = []struct {
	find    *regexp.Regexp
	replace string
}{
	{regexp.MustCompile(`(?m)^(\d+\. \w+) \([^)\n]*\)$`), "$1 (TIME)"},
	{regexp.MustCompile(`"duration_ns": \d+`), `"duration_ns": 0`},
	{regexp.MustCompile(`"(turn_id|session_id|message_id|parent_turn_id)": ?"[^"]*"`), `"$1":"ID"`},
	{regexp.MustCompile(`"time":"[^"]*"`), `"time":"TIME"`},
	{regexp.MustCompile(`"duration_ms":\d+`), `"duration_ms":0`},
	{regexp.MustCompile(`\(\d+ ms\)`), "(0 ms)"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`(?m)\b\d+s$`), "AGE"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`process \d+`), "process PID"},
	{regexp.MustCompile(`127\.0\.0\.1:\d{4,5}\b`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`(?m)^… \S+ is running\n`), ""}, // on a busy machine
	{regexp.MustCompile(`(?m)^(! .*) \(after [\d.]+m?s\)$`), "$1"},
}

// mask replaces times and ids in a file, or in stdout or stderr, with fixed values: mask FROM TO.
func mask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mask FROM TO")
	}
	text := ts.ReadFile(args[0])
	for _, u := range unstable {
		text = u.find.ReplaceAllString(text, u.replace)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

// events checks an event log: every line is an object, seq has no gaps, the first event is a
// run_start that resumes nothing, and the only run_finish is the last event. Given STATUS, it must
// be the final status.
func events(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: events FILE [STATUS]")
	}
	status, err := checkEvents(ts.ReadFile(args[0]))
	ts.Check(err)
	if len(args) == 2 && status != args[1] {
		ts.Fatalf("the turn ended %s, want %s", status, args[1])
	}
}

// checkEvents checks an event log and returns its final status.
func checkEvents(log string) (status string, err error) {
	lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
	for i, line := range lines {
		var ev struct {
			Seq       int
			EventType string `json:"event_type"`
			Path      []string
			Resumed   bool
			Status    string
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			return "", fmt.Errorf("line %d is no event: %w\n%s", i+1, err, line)
		}
		switch {
		case ev.Seq != i+1:
			return "", fmt.Errorf("line %d has seq %d", i+1, ev.Seq)
		case len(ev.Path) > 0 && i > 0 && i < len(lines)-1: // of a delegate
			continue
		case (i == 0) != (ev.EventType == "run_start" && !ev.Resumed):
			return "", fmt.Errorf("line %d is %s", i+1, ev.EventType)
		case (i == len(lines)-1) != (ev.EventType == "run_finish"):
			return "", fmt.Errorf("line %d of %d is %s", i+1, len(lines), ev.EventType)
		}
		status = ev.Status
	}
	return status, nil
}

// story reads an event log and writes a line for each event: its type and content, without ids and
// times. Given TYPE…, it writes only those types.
func story(in io.Reader, out io.Writer, types []string) int {
	for lines := json.NewDecoder(in); lines.More(); {
		var ev map[string]any
		if err := lines.Decode(&ev); err != nil {
			fmt.Fprintln(os.Stderr, "story:", err)
			return 1
		}
		typ, _ := ev["event_type"].(string)
		if len(types) > 0 && !slices.Contains(types, typ) {
			continue
		}
		for _, name := range []string{
			"event_type", "seq", "time", "turn_id", "session_id", "message_id", "parent_turn_id", "duration_ms", "wait_ms", "revision",
		} {
			delete(ev, name)
		}
		line := bytes.NewBufferString(typ + " ")
		enc := json.NewEncoder(line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(ev); err != nil {
			fmt.Fprintln(os.Stderr, "story:", err)
			return 1
		}
		fmt.Fprint(out, line)
	}
	return 0
}

// absent checks that the last command wrote none of the texts.
func absent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: absent TEXT…")
	}
	for _, stream := range []string{"stdout", "stderr"} {
		for _, text := range args {
			if strings.Contains(ts.ReadFile(stream), text) {
				ts.Fatalf("%s contains %q", stream, text)
			}
		}
	}
}

// places reads the JSON of validate or explain and writes a line for each diagnostic: its position,
// the file's text there, severity, code and path.
func places(in io.Reader, out io.Writer) int {
	var report struct{ Diagnostics diag.List }
	if err := json.NewDecoder(in).Decode(&report); err != nil {
		fmt.Fprintln(os.Stderr, "places:", err)
		return 1
	}
	for _, d := range report.Diagnostics {
		fmt.Fprintf(out, "%s%s[%s] %s\n", placeOf(d.Span), d.Severity, d.Code, d.Path)
		for _, r := range d.Related {
			fmt.Fprintf(out, "  related %s%s\n", placeOf(r.Span), r.Path)
		}
	}
	return 0
}

// placeOf returns a span and, if the span is within one line, its text.
func placeOf(s diag.Span) string {
	if s.File == "" {
		return ""
	}
	at := fmt.Sprintf("%s:%d:%d-%d:%d ", s.File, s.Line, s.Column, s.EndLine, s.EndColumn)
	data, err := os.ReadFile(s.File)
	lines := strings.Split(string(data), "\n")
	if err != nil || s.Line != s.EndLine || s.Line < 1 || s.Line > len(lines) {
		return at
	}
	line := []rune(lines[s.Line-1])
	if s.Column < 1 || s.EndColumn < s.Column || s.EndColumn > len(line)+1 {
		return at
	}
	return at + "‹" + string(line[s.Column-1:s.EndColumn-1]) + "› "
}
