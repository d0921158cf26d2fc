package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/needs"
)

// errNoPooler is the reason for skipping tests on a machine without PgBouncer.
var errNoPooler = errors.New("PgBouncer not found: no pgbouncer in PATH or /usr/sbin")

// Pool starts a PgBouncer in transaction mode in front of a database of the server, and returns the
// DSN for reaching the database through it. It ends with the test. Without PgBouncer the test is
// skipped, or fails in CI.
func (s *Server) Pool(t testing.TB, dsn string) string {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			needs.Missing(t, errNoPooler)
		}
	}
	at, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(s.dir, "pooler")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	settings := fmt.Sprintf(`[databases]
%s = host=%s port=%s user=postgres
[pgbouncer]
listen_addr =
unix_socket_dir = %s
listen_port = %s
auth_type = any
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
server_round_robin = 1
logfile = %s
`, strings.TrimPrefix(at.Path, "/"), s.dir, port, dir, port, filepath.Join(dir, "log"))
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := errors.Join(os.WriteFile(file, []byte(settings), 0o644), giveToAccount(dir)); err != nil { //nolint:gosec // the server's account reads it
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-q", file)
	cmd.Dir = dir
	if err := runAsAccount(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waitForSocket(t, filepath.Join(dir, ".s.PGSQL."+port), filepath.Join(dir, "log"))
	at.RawQuery = url.Values{"host": {dir}, "port": {port}}.Encode()
	return at.String()
}

// waitForSocket waits until a process listens on a socket.
func waitForSocket(t testing.TB, socket, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			said, _ := os.ReadFile(log)
			t.Fatalf("PgBouncer does not listen: %v\n%s", err, said)
		}
	}
}
