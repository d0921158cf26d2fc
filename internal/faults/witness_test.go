package faults_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/agentruntime/agentruntime/tools"
)

// The kinds of a tool's marks.
const (
	begins = "begin"
	ends   = "end"
	stops  = "stop" // stopped before its end
)

// mark is one action of a tool.
type mark struct {
	What   string       `json:"what"`
	PID    int          `json:"pid"`
	Turn   string       `json:"turn"`
	Call   string       `json:"call"`
	Key    string       `json:"key"`
	Effect tools.Effect `json:"effect"`
	// Plan is the id of the call's plan. A delegate's plan id stays the same if the delegate is run
	// again in another turn.
	Plan string `json:"plan,omitempty"`
}

// witness records the tools' actions outside the tested system: each mark is one write to a file
// that all processes append to. It survives the death of a process, which may truncate its last
// mark: the tool did nothing after it. The newline before each mark keeps a truncated mark from
// corrupting the next.
type witness struct{ file *os.File }

func openWitness(path string) (*witness, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the witness: %w", err)
	}
	return &witness{file}, nil
}

// note panics if it cannot write: the tests' results would be wrong.
func (w *witness) note(what string, call *tools.Call, effect tools.Effect, plan string) {
	line, err := json.Marshal(mark{What: what, PID: os.Getpid(), Turn: call.TurnID, Call: call.ID, Key: call.IdempotencyKey, Effect: effect, Plan: plan})
	if err == nil {
		_, err = w.file.Write(fmt.Appendf(nil, "\n%s\n", line))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the witness cannot write:", err)
		os.Exit(3)
	}
}

func (w *witness) close() { _ = w.file.Close() }

// readWitness returns the recorded marks.
func readWitness(t testing.TB, path string) []mark {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var marks []mark
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var m mark
		if json.Unmarshal(lines.Bytes(), &m) == nil {
			marks = append(marks, m)
		}
	}
	return marks
}
