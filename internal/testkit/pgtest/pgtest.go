// Package pgtest starts a real PostgreSQL for tests and benchmarks. It requires only the PostgreSQL
// programs.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/needs"
	"github.com/jackc/pgx/v5"
)

// errMissing is the reason for skipping tests on a machine without PostgreSQL.
var errMissing = errors.New("PostgreSQL not found: no initdb and pg_ctl in /usr/lib/postgresql/*/bin or PATH")

// timeout limits each step of a server.
const timeout = time.Minute

// Server is a PostgreSQL server for tests, reachable through a socket in a private directory. For
// benchmarks it syncs to disk as in production (fsync on). For tests it does not, and uses memory
// if there is room: tests kill only processes, whose writes the operating system keeps.
type Server struct {
	bin string
	dir string
	// fsync is set if the server waits for the disk.
	fsync bool
	// keeper removes the server when the test program ends, however it ends.
	keeper *exec.Cmd
	leash  io.Closer
	made   atomic.Int64
}

var (
	sharedByTests      = sync.OnceValues(func() (*Server, error) { return launchServer(false) })
	sharedByBenchmarks = sync.OnceValues(func() (*Server, error) { return launchServer(true) })
)

// Start returns the server shared by all tests, or all benchmarks, of the test program, starting it
// on first use. It ends with the program. A test that stops or restarts a server uses New instead.
// Without PostgreSQL the test is skipped, or fails in CI.
func Start(t testing.TB) *Server {
	t.Helper()
	shared := sharedByTests
	if isBenchmark(t) {
		shared = sharedByBenchmarks
	}
	s, err := shared()
	return started(t, s, err)
}

// New starts a server for one test and ends it with that test. Without PostgreSQL the test is
// skipped, or fails in CI.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := launchServer(isBenchmark(t))
	s = started(t, s, err)
	t.Cleanup(s.endKeeper)
	return s
}

// isBenchmark reports whether a test is a benchmark.
func isBenchmark(t testing.TB) bool {
	_, ok := t.(*testing.B)
	return ok
}

// started returns a server, or ends a test that has none.
func started(t testing.TB, s *Server, err error) *Server {
	t.Helper()
	if errors.Is(err, errMissing) {
		needs.Missing(t, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Wanted reports whether tests with PostgreSQL run: it is installed, or its absence
// is a failure.
func Wanted() bool {
	_, err := findBinaries()
	return err == nil || needs.InCI()
}

// Database creates an empty database and returns its DSN, a URL. It is dropped with the test.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", s.made.Add(1))
	if err := s.execStatement("CREATE DATABASE " + name); err != nil {
		t.Fatalf("make a database: %v", err)
	}
	t.Cleanup(func() {
		// Remaining clients are disconnected. A stopped server keeps the database.
		_ = s.execStatement("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)")
	})
	return s.dsn(name)
}

// SetReadOnly makes a database of the server read-only and disconnects its clients, like the end of
// a primary; or makes it writable again, of which connected clients are not notified.
func (s *Server) SetReadOnly(t testing.TB, dsn string, readOnly bool) {
	t.Helper()
	at, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(at.Path, "/")
	err = s.execStatement(fmt.Sprintf("ALTER DATABASE %s SET default_transaction_read_only = %t", name, readOnly))
	if err == nil && readOnly {
		err = s.execStatement("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'")
	}
	if err != nil {
		t.Fatalf("set the database %s read-only, %t: %v", name, readOnly, err)
	}
}

// Stop stops the server like a power cut: it flushes nothing and does not notify the clients.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.runControl("stop", "-m", "immediate"); err != nil {
		t.Fatalf("stop PostgreSQL: %v", err)
	}
}

// Start starts a stopped server, and returns once it has recovered and answers.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.startServer(); err != nil {
		t.Fatal(err)
	}
}

// Restart is Stop and Start.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop(t)
	s.Start(t)
}

// Socket returns the path of the server's socket, for a proxy in front of it.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL."+port) }

// port names the socket; nothing listens on it.
const port = "5432"

// dsn returns the URL of a database.
func (s *Server) dsn(database string) string {
	return "postgres://postgres@/" + database + "?" + url.Values{"host": {s.dir}, "port": {port}}.Encode()
}

// launchServer creates a directory with a new cluster and starts it.
func launchServer(fsync bool) (*Server, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	parent := ""
	if !fsync {
		parent = memoryDir()
	}
	dir, err := os.MkdirTemp(parent, "pgtest")
	if err != nil {
		return nil, fmt.Errorf("make a directory for PostgreSQL: %w", err)
	}
	s := &Server{bin: bin, dir: dir, fsync: fsync}
	if err := errors.Join(giveToAccount(dir), s.startKeeper()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.runProgram("initdb", "-D", s.dataDir(), "--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"); err != nil {
		s.endKeeper()
		return nil, err
	}
	if err := s.startServer(); err != nil {
		s.endKeeper()
		return nil, err
	}
	return s, nil
}

func (s *Server) dataDir() string { return filepath.Join(s.dir, "data") }

func (s *Server) startServer() error {
	return s.runControl("start", "-l", filepath.Join(s.dir, "log"), "-o",
		fmt.Sprintf("-c fsync=%t -c listen_addresses= -c max_connections=300 -c unix_socket_directories=%s -p %s", s.fsync, s.dir, port))
}

// runControl runs pg_ctl, which waits until the server has carried out the command.
func (s *Server) runControl(verb string, args ...string) error {
	return s.runProgram("pg_ctl", append([]string{verb, "-s", "-w", "-D", s.dataDir()}, args...)...)
}

// runProgram runs a PostgreSQL program. Its output goes to a file, because a server that it starts
// would keep a pipe open.
func (s *Server) runProgram(program string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	out, err := os.CreateTemp(s.dir, program+"-*.out")
	if err != nil {
		return fmt.Errorf("run %s: %w", program, err)
	}
	defer out.Close() // it was only written
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, program), args...)
	cmd.Dir = s.dir
	cmd.Stdout, cmd.Stderr = out, out
	if err := runAsAccount(cmd); err != nil {
		return err
	}
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(out.Name())
		logged, _ := os.ReadFile(filepath.Join(s.dir, "log"))
		return fmt.Errorf("run %s: %w\n%s\n%s", program, err, said, logged)
	}
	return nil
}

// startKeeper starts the keeper: a shell that reads a pipe that is never written to. The pipe
// closes when the test program ends, even by a panic, signal or timeout; the shell then stops the
// server and removes the directory.
func (s *Server) startKeeper() error {
	const script = `trap '' INT TERM HUP
cat
"$1"/pg_ctl stop -s -w -m immediate -D "$2"/data
rm -rf "$2"`
	end, leash, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	defer end.Close() // the keeper has a copy
	cmd := exec.Command("sh", "-c", script, "pgtest-keeper", s.bin, s.dir)
	cmd.Dir = "/"
	cmd.Stdin = end
	if err := runAsAccount(cmd); err != nil {
		return errors.Join(err, leash.Close())
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start the keeper of PostgreSQL: %w", err), leash.Close())
	}
	s.keeper, s.leash = cmd, leash
	return nil
}

// endKeeper lets the keeper finish and waits for it.
func (s *Server) endKeeper() {
	_ = s.leash.Close()
	_ = s.keeper.Wait()
	_ = os.RemoveAll(s.dir) // the parent directory may not be the account's
}

// execStatement runs one statement.
func (s *Server) execStatement(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.dsn("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// findBinaries returns the directory of the PostgreSQL programs: the highest version installed by
// Debian's packages, or the one in PATH.
func findBinaries() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl")
	if len(found) > 0 {
		newest := slices.MaxFunc(found, func(a, b string) int { return programVersion(a) - programVersion(b) })
		return filepath.Dir(newest), nil
	}
	path, err := exec.LookPath("pg_ctl")
	if err != nil {
		return "", errMissing
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", fmt.Errorf("find PostgreSQL: %w", err)
	}
	return filepath.Dir(path), nil
}

// programVersion parses the version from /usr/lib/postgresql/<version>/bin/pg_ctl.
func programVersion(path string) int {
	n, _ := strconv.Atoi(strings.Split(path, "/")[4])
	return n
}
