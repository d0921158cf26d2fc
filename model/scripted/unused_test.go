package scripted_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
)

// recordedT stands for the test that uses a scripted model.
type recordedT struct {
	failures []string
	cleanups []func()
}

func (*recordedT) Helper()            {}
func (r *recordedT) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recordedT) Errorf(text string, a ...any) {
	r.failures = append(r.failures, fmt.Sprintf(text, a...))
}
func (r *recordedT) Fatalf(text string, a ...any) {
	r.Errorf(text, a...)
	panic(r)
}

// end runs what the test left for its end.
func (r *recordedT) end() []string {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
	return r.failures
}

// askOnce takes all of one answer.
func askOnce(t *testing.T, e *scripted.Executor, messages ...model.Message) {
	t.Helper()
	for range e.Stream(t.Context(), &model.Request{Messages: messages}) {
	}
}

func TestRepliesThatAreNotUsedFailTheTestThatUsesTheModel(t *testing.T) {
	t.Parallel()
	script := scripted.Script{
		Replies: []scripted.Reply{
			{Match: "Hi", Text: "Hello."},
			{Match: "weather", ToolCalls: []model.ToolCall{{Name: "look_outside", Arguments: json.RawMessage(`{}`)}}},
			{Match: "trouble", Error: &scripted.Failure{Class: model.Unauthorized}},
			{Match: "silence", Text: "Peace, at last, after all that has been said and done in this long test of ours."},
		},
		Fallback: &scripted.Reply{Text: "I do not know."},
	}
	for _, c := range []struct {
		name     string
		asked    []string
		failures []string
	}{
		{"all of them", []string{"Hi.", "weather", "trouble", "silence"}, nil},
		{"only the first", []string{"Hi."}, []string{
			"scripted model: replies[1] was not used: it calls look_outside",
			"scripted model: replies[2] was not used: it fails",
			`scripted model: replies[3] was not used: it says "Peace, at last, after all that has been said and done in thi…"`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			user := &recordedT{}
			e := scripted.NewForTest(user, script)
			for _, text := range c.asked {
				askOnce(t, e, model.User(text))
			}
			if got := user.end(); !slices.Equal(got, c.failures) {
				t.Errorf("the test failed with %q, want %q", got, c.failures)
			}
		})
	}
}

func TestAScriptThatIsWrongFailsTheTestThatUsesTheModel(t *testing.T) {
	t.Parallel()
	user := &recordedT{}
	defer func() {
		if recover() != user || len(user.end()) != 1 {
			t.Errorf("the test went on, with the failures %q", user.failures)
		}
	}()
	scripted.NewForTest(user, scripted.Script{Replies: []scripted.Reply{{Text: "x", Match: "/(/"}}})
}
