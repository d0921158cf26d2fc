package runsclient_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"github.com/agentruntime/agentruntime/internal/testkit/runsclient"
)

// The configured credentials.
const (
	workspace   = "acme"
	desk        = "mk_desk_0123456789abcdef"
	narrow      = "mk_narrow_0123456789abcdef"
	stranger    = "mk_stranger_0123456789abcdef"
	old         = "mk_old_0123456789abcdef"
	oauthClient = "mantyx_oa_all"
	oauthSecret = "mantyx_oas_all_0123456789abcdef"
)

// patience is the time limit for a test's waits.
const patience = time.Minute

// command is the runtime command, built once, and files the configuration.
var command, files string

// shared is the server for tests that do not need their own.
var shared = sync.OnceValues(func() (*program, error) { return launch("config.yaml") })

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err == nil && code == 0 {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "runsclient-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	files, command = dir, filepath.Join(dir, "runtime")
	build := exec.Command("go", append(append([]string{"build"}, buildFlags...), "-o", command, "../../../cmd/runtime")...)
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the runtime: %w\n%s", err, out)
	}
	if err := writeFiles(dir); err != nil {
		return 1, err
	}
	code := m.Run()
	if p, err := shared(); err == nil {
		return code, p.stop()
	}
	return code, nil
}

// long is the number of bytes that LONG stands for in a script: more than an event may have.
const long = 2 << 20

// writeFiles writes the configuration, with a model for every script.
func writeFiles(dir string) error {
	archive, err := txtar.ParseFile("testdata/server.txtar")
	if err != nil {
		return err
	}
	providers, models := "providers:\n", "models:\n"
	for _, f := range archive.Files {
		f.Data = bytes.ReplaceAll(f.Data, []byte("LONG"), []byte(strings.Repeat("word", long/4)))
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			return err
		}
		if name, ok := strings.CutSuffix(f.Name, ".script.yaml"); ok {
			providers += fmt.Sprintf("  %s: {type: scripted, script: ./%s}\n", name, f.Name)
			models += fmt.Sprintf("  %s: {provider_id: %[1]s, upstream_model: %[1]s-1}\n", name)
		}
	}
	return os.WriteFile(filepath.Join(dir, "scripts.yaml"), []byte("version: 1\n"+providers+models), 0o600)
}

// program is a server.
type program struct {
	url   string
	cmd   *exec.Cmd
	ended chan struct{}
	said  strings.Builder // only for its reader until ended is closed
}

// serve returns the shared server.
func serve(t *testing.T) *program {
	t.Helper()
	p, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// serveAlone starts a server for one test, with additional files.
func serveAlone(t *testing.T, more ...string) *program {
	t.Helper()
	p, err := launch(append([]string{"config.yaml"}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// launch starts a server with files from the configuration directory, or with other files by full
// path. Unless a file sets it, the store is the server's own file.
func launch(names ...string) (*program, error) {
	storage, err := os.CreateTemp(files, "store-*.yaml")
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(storage, "version: 1\nstore: {driver: sqlite, data_dir: %q}\n", storage.Name()+".d")
	if err := storage.Close(); err != nil {
		return nil, err
	}
	args := []string{"serve", storage.Name(), filepath.Join(files, "scripts.yaml")}
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(files, name)
		}
		args = append(args, name)
	}
	p := &program{cmd: exec.Command(command, args...), ended: make(chan struct{})}
	out, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan string, 1)
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.said.WriteString(lines.Text() + "\n")
			if _, url, ok := strings.Cut(lines.Text(), ", listening on "); ok && strings.HasPrefix(lines.Text(), "runtime: ready: ") {
				ready <- url // once
			}
		}
	}()
	select {
	case p.url = <-ready:
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("the server ended: %w\n%s", p.cmd.Wait(), p.said.String())
	case <-time.After(patience):
		return nil, errors.Join(errors.New("the server is not ready"), p.stop())
	}
}

// stop stops the server like an operator. It must exit cleanly.
func (p *program) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	<-p.ended
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the server ended with %w:\n%s", err, p.said.String())
	}
	return nil
}

// client returns a client of the server with the desk's key.
func (p *program) client(sdk runsclient.SDK) *runsclient.Client {
	return runsclient.New(runsclient.Options{URL: p.url, Workspace: workspace, Key: desk, SDK: sdk})
}

// with returns a client with another key.
func (p *program) with(key string) *runsclient.Client {
	return runsclient.New(runsclient.Options{URL: p.url, Workspace: workspace, Key: key})
}

// forEachSDK runs a test with every SDK.
func forEachSDK(t *testing.T, test func(t *testing.T, c *runsclient.Client)) {
	t.Helper()
	p := serve(t)
	for _, sdk := range runsclient.SDKs {
		t.Run(string(sdk), func(t *testing.T) {
			t.Parallel()
			test(t, p.client(sdk))
		})
	}
}

// configuration and scripts are the files of every server.
func configuration() string { return filepath.Join(files, "config.yaml") }

func scripts() string { return filepath.Join(files, "scripts.yaml") }

// runtimeCommand runs a runtime command and returns its output.
func runtimeCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), command, args...).Output()
	return string(out), err
}
