//go:build unix

package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These variables make the test binary a runtime that is killed as soon as it has
// started a program: how many bytes the call's arguments have, and the directory
// in which the program leaves what it read.
const (
	killedSize = "COMMAND_TEST_SIZE"
	killedDir  = "COMMAND_TEST_DIR"
)

// argumentsOf returns arguments of a size, on a line of their own.
func argumentsOf(size int) []byte {
	return []byte(`{"text":"` + strings.Repeat("x", size-len(`{"text":""}`)-1) + `"}` + "\n")
}

func TestAProgramWhoseRuntimeIsKilledHasItsArguments(t *testing.T) {
	t.Parallel()
	if size, err := strconv.Atoi(os.Getenv(killedSize)); err == nil {
		startAndDie(t, size, os.Getenv(killedDir))
	}
	sizes := []int{64, 4 << 10}
	if runtime.GOOS == "linux" {
		sizes = append(sizes, 4<<10+1, 64<<10, 1<<20)
	}
	for _, size := range sizes {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAProgramWhoseRuntimeIsKilledHasItsArguments$")
			cmd.Env = append(os.Environ(), killedSize+"="+strconv.Itoa(size), killedDir+"="+dir)
			if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the runtime was not killed: %v\n%s", err, out)
			}
			if got, want := readWhenThere(t, filepath.Join(dir, "read")), string(argumentsOf(size)); got != want {
				t.Errorf("the program read %d bytes, want %d", len(got), len(want))
			}
		})
	}
}

// startAndDie starts a program, and kills this process before any goroutine that
// would feed the program has had a chance.
func startAndDie(t *testing.T, size int, dir string) {
	runtime.GOMAXPROCS(1)
	c := sh(`cat > part; mv part read`)
	c.Dir = dir
	r := (&tool{config: c}).newRun(c.Command[1:], argumentsOf(size), "")
	if err := r.startProgram(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// readWhenThere waits for a file and returns what is in it.
func readWhenThere(t *testing.T, path string) string {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if data, err := os.ReadFile(path); err == nil {
			return string(data)
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("there is no %s", path)
		}
	}
}
