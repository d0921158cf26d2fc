package evals

import (
	"strings"
	"testing"
)

// TestAnEndlessAnswerIsCut has a program whose output far exceeds an answer.
func TestAnEndlessAnswerIsCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ program, want string }{
		{"head -c 200000000 /dev/zero", "longer than 1 MiB"},
		{"head -c 200000000 /dev/zero >&2; echo reason >&2; exit 3", "exit status 3"},
	} {
		answer, err := runCommand(t.Context(), &run{dir: t.TempDir()}, &Judge{Command: []string{"sh", "-c", c.program}}, []byte("{}"))
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 2*maxJudgeErrors {
			t.Errorf("%s: %d bytes, %.300v", c.program, len(answer), err)
		}
	}
}

func TestTheMedianOfVotes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scores []float64
		want   float64
	}{{[]float64{0.5}, 0.5}, {[]float64{1, 0}, 0.5}, {[]float64{1, 0, 0.25}, 0.25}, {[]float64{1, 0, 0.25, 0.75}, 0.5}} {
		if got := medianScore(c.scores); got != c.want {
			t.Errorf("the median of %v is %v, want %v", c.scores, got, c.want)
		}
	}
}
