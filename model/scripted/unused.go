package scripted

import "strconv"

// T is the part of *testing.T that NewForTest uses.
type T interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// NewForTest returns an executor for a test, which fails at its end if a reply of the script was
// not used. An invalid script fails the test immediately.
func NewForTest(t T, script Script, options ...Option) *Executor {
	t.Helper()
	e, err := New(script, options...)
	if err != nil {
		t.Fatalf("scripted model: %v", err)
	}
	t.Cleanup(func() {
		t.Helper()
		for _, i := range e.unusedReplies() {
			t.Errorf("scripted model: replies[%d] was not used: %s", i, script.Replies[i].summarize())
		}
	})
	return e
}

// unusedReplies returns the script indexes of the replies not sent yet, without the fallback, which is for
// unexpected requests.
func (e *Executor) unusedReplies() []int {
	var unused []int
	for i := range e.given {
		if !e.given[i].Load() {
			unused = append(unused, i)
		}
	}
	return unused
}

// markGiven notes that a request gets a reply.
func (e *Executor) markGiven(r *reply) {
	if r.number >= 0 && !e.given[r.number].Load() {
		e.given[r.number].Store(true)
	}
}

// maxSummary is the number of characters of a text that summarize shows.
const maxSummary = 60

// summarize describes a reply so that a person can find it in a script.
func (r *Reply) summarize() string {
	switch {
	case len(r.ToolCalls) > 0:
		return "it calls " + r.ToolCalls[0].Name
	case r.Error != nil:
		return "it fails"
	default:
		text := []rune(r.Text)
		if len(text) > maxSummary {
			text = append(text[:maxSummary:maxSummary], '…')
		}
		return "it says " + strconv.Quote(string(text))
	}
}
