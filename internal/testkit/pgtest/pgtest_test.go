package pgtest_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// victim is set in the copy of the test program that gets killed.
const victim = "PGTEST_VICTIM"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryDatabaseIsEmptyAndItsOwn(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	if pgtest.Start(t) != s {
		t.Error("a second server was started")
	}
	one, two := openConnection(t, s.Database(t)), openConnection(t, s.Database(t))
	query[int](t, one, "CREATE TABLE lonely (n int); SELECT 1")
	if n := query[int](t, two, "SELECT count(*) FROM pg_tables WHERE tablename = 'lonely'"); n != 0 {
		t.Error("a table of one database is seen in another")
	}
}

func TestOnlyBenchmarksWaitForTheDisk(t *testing.T) {
	t.Parallel()
	if on := query[string](t, openConnection(t, pgtest.Start(t).Database(t)), "SHOW fsync"); on != "off" {
		t.Errorf("fsync is %s in a test", on)
	}
	testing.Benchmark(func(b *testing.B) {
		if b.N > 1 {
			return
		}
		if on := query[string](b, openConnection(b, pgtest.Start(b).Database(b)), "SHOW fsync"); on != "on" {
			t.Errorf("fsync is %s in a benchmark", on)
		}
	})
}

func TestWhatWasCommittedStandsARestart(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t)
	dsn := s.Database(t)
	before := openConnection(t, dsn)
	query[int](t, before, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (7); SELECT 1")
	s.Restart(t)
	if err := before.Ping(t.Context()); err == nil {
		t.Error("a connection stood the restart")
	}
	if n := query[int](t, openConnection(t, dsn), "SELECT n FROM kept"); n != 7 {
		t.Errorf("n = %d", n)
	}
}

func TestNothingIsLeftOfATestProgramThatWasKilled(t *testing.T) {
	t.Parallel()
	if os.Getenv(victim) != "" {
		s := pgtest.New(t)
		fmt.Println(filepath.Dir(s.Socket()))
		<-t.Context().Done() // it is killed before
		return
	}
	pgtest.Start(t) // skips without PostgreSQL
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), victim+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the program said nothing")
	}
	dir := lines.Text()
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	gone := func() bool { _, err := os.Stat(dir); return os.IsNotExist(err) }
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(20 * time.Second); !gone(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s is still there", dir)
		}
	}
}

func openConnection(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

func query[T any](t testing.TB, conn *pgx.Conn, statement string) T {
	t.Helper()
	results, err := conn.PgConn().Exec(t.Context(), statement).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if _, err := fmt.Sscan(string(results[len(results)-1].Rows[0][0]), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
