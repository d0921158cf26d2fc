package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"go.uber.org/goleak"
)

// helperFile names the file that another process is to open: the test binary
// plays that process when it is set.
const helperFile = "SQLITE_TEST_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(helperFile); path != "" {
		if err := otherProcess(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// otherProcess opens a store, begins to work on a turn, says so, and waits.
func otherProcess(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, store.Settings{DSN: path})
	if err != nil {
		return err
	}
	if _, err := s.CreateSession(ctx, sessionOf("session")); err != nil {
		return err
	}
	if _, err := s.CreateTurn(ctx, newTurn("session", "turn")); err != nil {
		return err
	}
	claimed, err := s.Claim(ctx, claim("turn"))
	if err != nil {
		return err
	}
	if err := s.Commit(ctx, commit("turn", claimed.Turn.Fence, 0, 3)); err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = io.ReadAll(os.Stdin)
	return err
}

// startOther starts another process that has a file open, and returns when it
// works on a turn. It is killed with the test, or by stop.
func startOther(t *testing.T, path string) (pid int, stop func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperFile+"="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	stop = func() {
		if !killed {
			killed = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			_ = in.Close()
		}
	}
	t.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return cmd.Process.Pid, stop
}
