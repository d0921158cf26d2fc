package faults_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/agentruntime/agentruntime/tools"
)

// What a tool tells the witness.
const (
	begins = "begin"
	ends   = "end"
	stops  = "stop" // it was stopped before its end
)

// mark is one thing that a tool did.
type mark struct {
	What   string       `json:"what"`
	PID    int          `json:"pid"`
	Turn   string       `json:"turn"`
	Call   string       `json:"call"`
	Key    string       `json:"key"`
	Effect tools.Effect `json:"effect"`
	// Plan is the id of the plan that the call is of. That of a delegate stays the same if
	// the delegate is run again, in another turn.
	Plan string `json:"plan,omitempty"`
}

// witness writes down what tools do, past everything that is tested: each mark
// is one write to a file that all processes append to. That stands the death of
// a process, which may cut its last mark: the tool did nothing after it. The
// newline before each mark keeps that from spoiling the next.
type witness struct{ file *os.File }

func openWitness(path string) (*witness, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the witness: %w", err)
	}
	return &witness{file}, nil
}

// note panics where it cannot write: what the tests say would be wrong.
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

// readWitness returns what was written down.
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
