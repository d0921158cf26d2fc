package turnview

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/google/go-cmp/cmp"
)

// lockedBuffer is a buffer that a timer also writes to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// take returns the output since the last call.
func (l *lockedBuffer) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

// scene is a test of a screen's output: events and time spans, each followed by the expected
// output.
type scene []any

func (s scene) play(t *testing.T, o *Printer, written *lockedBuffer) {
	t.Helper()
	for i, step := range s {
		switch v := step.(type) {
		case event.Data:
			o.Emit(event.Event{Data: v})
		case time.Duration:
			time.Sleep(v)
			synctest.Wait()
		case string:
			if diff := cmp.Diff(v, written.take()); diff != "" {
				t.Errorf("step %d (-want +got):\n%s", i, diff)
			}
		}
	}
}

var (
	callA  = &event.ToolCallReady{ID: "a", Name: "fetch", Arguments: []byte("{}")}
	callB  = &event.ToolCallReady{ID: "b", Name: "build", Arguments: []byte("{}")}
	doneA  = &event.ToolCallDone{ID: "a", Name: "fetch", Outcome: event.CallSucceeded}
	doneB  = &event.ToolCallDone{ID: "b", Name: "build", Outcome: event.CallSucceeded}
	made   = &event.InferenceComplete{FinishReason: model.FinishToolCalls}
	askA   = &event.InteractionRequest{Request: interaction.Request{ID: "ticket", CallID: "a", Tool: "fetch"}}
	agreed = &event.ToolCallResumed{TargetID: "ticket"}
	ended  = &event.RunFinish{}
)

const (
	second = time.Second
	erased = "\r\x1b[K"
	beginA = "→ fetch {}\n"
	beginB = "→ build {}\n"
	endA   = "← fetch succeeded (0 ms): \n"
	endB   = "← build succeeded (0 ms): \n"
)

// A long-running tool is shown: on a terminal with the elapsed time, elsewhere once.
func TestToolsThatRunForLongAreShown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		live  bool
		scene scene
	}{
		"terminal": {true, scene{
			callA, made, beginA, second, "… fetch is running (1s)", 2 * second, erased + "… fetch is running (2s)" + erased + "… fetch is running (3s)",
			doneA, erased + endA, 5 * second, "",
		}},
		"no terminal":                  {false, scene{callA, made, beginA, second, "… fetch is running\n", 5 * second, "", doneA, endA, 5 * second, ""}},
		"quick":                        {true, scene{callA, made, second / 2, doneA, beginA + endA, 5 * second, ""}},
		"while the model still writes": {true, scene{callA, beginA, 5 * second, "", made, second, "… fetch is running (1s)", ended, erased}},
		"several": {true, scene{
			callA, callB, made, beginA + beginB, second, "… fetch is running (1s), with 1 more result to come", doneA,
			erased + endA, second, "… build is running (2s)", doneB, erased + endB,
		}},
		"several, no terminal": {false, scene{callA, callB, made, beginA + beginB, 3 * second, "… fetch is running\n", doneA, endA, second, "… build is running\n", doneB, endB}},
		"a question": {true, scene{
			callA, callB, made, beginA + beginB, second / 2, askA, 5 * second, "", agreed, doneB, endB, second, "… fetch is running (1s)",
			doneA, erased + endA,
		}},
		"a question to which a line gives way": {true, scene{callA, callB, made, beginA + beginB, second, "… fetch is running (1s), with 1 more result to come", askA, erased}},
		"text":                                 {true, scene{callA, made, beginA, second, "… fetch is running (1s)", &event.TextDelta{Delta: "x"}, erased + "x"}},
		"what is taken back":                   {true, scene{callA, beginA, &event.ToolCallCancel{ID: "a", Name: "fetch", Reason: "r"}, made, "! the call of fetch is withdrawn: r\n", 5 * second, ""}},
		"what does not count":                  {true, scene{callA, beginA, &event.StreamReset{Reason: "r"}, made, "! the answer shown so far is discarded: r\n", 5 * second, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var written lockedBuffer
				o := NewPrinter(terminal.Streams{Out: &written, Err: &written}, "text", false)
				o.Redact, o.Screen.live = plain, tt.live
				tt.scene.play(t, o, &written)
				_ = o.Close(nil)
			})
		})
	}
}

// A line longer than the terminal could not be erased completely.
func TestTheLineFitsTheTerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var written lockedBuffer
		o := NewPrinter(terminal.Streams{Out: &written, Err: &written}, "text", false)
		o.Redact, o.Screen.live, o.Screen.width = plain, true, func() int { return 10 }
		scene{callA, made, beginA, second, "… fetch i", ended, erased}.play(t, o, &written)
	})
}

// A user who wants only the answer sees no progress but still sees warnings.
func TestQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var written lockedBuffer
		o := NewPrinter(terminal.Streams{Out: &written, Err: &written}, "text", true)
		o.Redact = plain
		scene{
			callA, made, 5 * second, &event.ToolCallStreamDelta{Name: "fetch", Delta: "x"}, doneA, &event.Handoff{From: "a", To: "b"}, "",
			&event.ToolBudgetExceeded{Tool: "fetch", Call: 3, MaxCalls: 2}, "! call 3 of fetch is not executed: the limit of a turn is 2\n",
		}.play(t, o, &written)
		if err := o.Close(result(event.Outcome{Steps: 1, FinishReason: model.FinishMaxTokens})); err != nil {
			t.Error(err)
		}
		scene{"! the answer is incomplete: the output limit cut it off\n"}.play(t, o, &written)
	})
}

// plain is the redact function for texts without secrets.
func plain(text string) string { return text }

// result returns the result of a turn with an outcome.
func result(o event.Outcome) *runtime.Result {
	return &runtime.Result{Result: backend.Result{Outcome: o}}
}

// The last line of a run has its steps, tokens and cost, if known.
func TestTheSummary(t *testing.T) {
	t.Parallel()
	eur := func(amount float64) *event.Cost { return &event.Cost{Amount: amount, Currency: "EUR"} }
	for want, r := range map[string]event.Outcome{
		"= 1 step":                                       {Steps: 1},
		"= 2 steps, 36 tokens (30 in, 6 out)":            {Steps: 2, Usage: model.Usage{Input: 30, Output: 6}},
		"= 1 step, 1 token (1 in, 0 out), 0.00 EUR":      {Steps: 1, Usage: model.Usage{Input: 1}, Cost: eur(0)},
		"= 1 step, 1 token (1 in, 0 out), 0.0000012 EUR": {Steps: 1, Usage: model.Usage{Input: 1}, Cost: eur(0.00000123)},
		"= 1 step, 0.031 EUR":                            {Steps: 1, Cost: eur(0.0312)},
		"= 1 step, 12.35 EUR":                            {Steps: 1, Cost: eur(12.3456)},
	} {
		for _, format := range []string{"text", "json", "events"} {
			var out, errs bytes.Buffer
			o := NewPrinter(terminal.Streams{Out: &out, Err: &errs}, format, false)
			o.Redact = plain
			if err := o.Close(result(r)); err != nil {
				t.Error(err)
			}
			shown := ""
			if format == "text" {
				shown = want + "\n"
			}
			if errs.String() != shown || strings.Contains(out.String(), "= ") {
				t.Errorf("%s: %q, want %q", format, errs.String(), fmt.Sprint(shown))
			}
		}
	}
}
