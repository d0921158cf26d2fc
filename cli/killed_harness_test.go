package cli

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serverFleet is the shared state of servers that are killed.
type serverFleet struct {
	t *testing.T
	// dir holds the configuration, and counted is the file written by one of its tools.
	dir, counted string
	// temp is the servers' TMPDIR, in which killed servers leave sockets. Its path is short.
	temp string
}

// command runs a subcommand of the program.
func (f *serverFleet) command(args ...string) {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), "runtime", args...)
	cmd.Dir = f.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("runtime %v: %v\n%s", args, err, out)
	}
}

// victim is a server that may be killed.
type victim struct {
	*daemon
	// url and address are the server's addresses.
	url, address string
}

// start starts a server at an address, and returns when it is ready.
func (f *serverFleet) start(address string) *victim {
	f.t.Helper()
	v := &victim{daemon: &daemon{cmd: exec.Command("runtime", "serve", "config.yaml", "--listen", address), ended: make(chan struct{})}}
	v.cmd.Dir = f.dir
	if f.temp != "" {
		v.cmd.Env = append(os.Environ(), "TMPDIR="+f.temp)
	}
	said, err := v.cmd.StderrPipe()
	if err == nil {
		err = v.cmd.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	ready := make(chan string, 1)
	go v.wait(said, ready)
	f.t.Cleanup(v.kill)
	select {
	case line := <-ready:
		_, v.url, _ = strings.Cut(line, ", listening on ")
		v.address = strings.TrimPrefix(v.url, "http://")
	case <-v.ended:
		f.t.Fatalf("the server ended (%v):\n%s", v.err, v.said.String())
	case <-time.After(storeTime):
		f.t.Fatal("the server is not ready")
	}
	return v
}

// kill kills the server like the kernel would and returns when it has exited.
func (v *victim) kill() {
	_ = v.cmd.Process.Signal(syscall.SIGKILL)
	<-v.ended
}

// await waits until the server writes a text n times.
func (v *victim) await(t *testing.T, text string, n int) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(storeTime); strings.Count(v.said.String(), text) < n; {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it does not say %q:\n%s", text, v.said.String())
		}
	}
}
