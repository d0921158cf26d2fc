package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// sharedOutput is the output of a server so far.
type sharedOutput struct {
	mu   sync.Mutex
	text strings.Builder
}

func (t *sharedOutput) add(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.WriteString(text)
}

// String returns the whole output.
func (t *sharedOutput) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// called returns a script's server by name.
func called(ts *testscript.TestScript, name string) *daemon {
	d, _ := ts.Value(daemonsKey{}).(*daemons)
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.running[name]
	if one == nil {
		ts.Fatalf("there is no server %s", name)
	}
	return one
}

// hangup sends a server SIGHUP: "hangup NAME".
func hangup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hangup NAME")
	}
	ts.Check(called(ts, args[0]).cmd.Process.Signal(syscall.SIGHUP))
}

// says waits until a server prints a line that matches a pattern, after the match of an earlier
// says: "says NAME PATTERN".
func says(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: says NAME PATTERN")
	}
	one, want := called(ts, args[0]), regexp.MustCompile("(?m)"+args[1])
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(storeTime); ; {
		said := one.said.String()
		if at := want.FindStringIndex(said[one.heard:]); at != nil {
			one.heard += at[1]
			return
		}
		select {
		case <-tick.C:
		case <-one.ended:
			ts.Fatalf("the server ended (%v):\n%s", one.err, said)
		case <-deadline:
			ts.Fatalf("the server does not say %s:\n%s", args[1], said)
		}
	}
}

func TestSettingsThatWaitForARestartAreNamed(t *testing.T) {
	t.Parallel()
	began := func() *config.File {
		f := new(config.File)
		f.Server.Keys, f.Server.TLS = []settings.ServerKey{{ID: "one"}}, &settings.ServerTLS{CertFile: "one.pem"}
		return f
	}
	for name, tt := range map[string]struct {
		change func(*config.File)
		want   []string
	}{
		"nothing":      {func(*config.File) {}, nil},
		"keys":         {func(f *config.File) { f.Server.Keys = []settings.ServerKey{{ID: "two"}, {ID: "three"}} }, nil},
		"no more keys": {func(f *config.File) { f.Server.Keys = nil }, []string{"server.keys"}},
		"certificate":  {func(f *config.File) { f.Server.TLS = &settings.ServerTLS{CertFile: "two.pem"} }, nil},
		"agents":       {func(f *config.File) { f.Agents = []*spec.Agent{{ID: "a"}} }, nil},
		"the rest": {func(f *config.File) {
			f.Store.DSN, f.Turns.PerTenant, f.Schedules = "x", 3, []settings.Schedule{{ID: "s"}}
			f.Server.Listen, f.Server.Rate.Burst, f.Server.TLS = ":1", 2, nil
		}, []string{"store", "turns", "schedules", "server.listen", "server.tls", "server.rate"}},
	} {
		now := began()
		tt.change(now)
		if diff := cmp.Diff(tt.want, waiting(began(), now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A file counts as changed once it has settled, however it was written.
func TestAWatchWaitsUntilAFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "one")
	w := newWatch([]string{file, filepath.Join(dir, "absent.yaml")})
	steps := []struct {
		do   func()
		want bool
	}{
		{func() {}, false},
		{func() { write(file, "tw") }, false},
		{func() { write(file, "two") }, false},
		{func() {}, true},
		{func() {}, false},
		{func() { write(file, "three") }, false},
		{func() { write(file, "two") }, false}, // taken back
		{func() {}, false},
		{func() { write(file+".new", "four"); _ = os.Rename(file+".new", file) }, false},
		{func() {}, true},
		{func() { _ = os.Remove(file) }, false},
		{func() {}, true},
		{func() { write(filepath.Join(dir, "absent.yaml"), "here") }, false},
		{func() {}, true},
		{func() { write(file, "five"); w.follow([]string{file, filepath.Join(dir, "prompt.md")}) }, false}, // the change is new
		{func() {}, true},
		{func() { write(filepath.Join(dir, "absent.yaml"), "left out") }, false},
		{func() {}, false},
		{func() { write(filepath.Join(dir, "prompt.md"), "six") }, false},
		{func() {}, true},
		{func() { write(file, "seven"); w.accept() }, false}, // it is read anyhow
		{func() {}, false},
	}
	for i, step := range steps {
		step.do()
		if got := w.changed(); got != step.want {
			t.Errorf("step %d: changed is %t", i, got)
		}
	}
}
