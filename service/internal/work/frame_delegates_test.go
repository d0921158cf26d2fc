package work

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/google/go-cmp/cmp"
)

// Texts of delegates that run side by side are gathered apart, and come before the event
// that follows them in their delegate or in one above it.
func TestTextsOfDelegatesAreGatheredApart(t *testing.T) {
	t.Parallel()
	var (
		q   queue
		got []string
	)
	add := func(ev *event.Event) {
		text := string(ev.Data.Type())
		if d, ok := ev.Data.(*event.TextDelta); ok {
			text = d.Delta
		}
		got = append(got, strings.Join(ev.Path, "/")+" "+text)
	}
	say := func(data event.Data, path ...string) {
		if ev := (&event.Event{Path: path, Data: data}); !q.addDelegatedDelta(ev, add) {
			add(ev)
		}
	}
	for i := range 3 {
		for _, path := range [][]string{{"a"}, {"b"}, {"b", "c"}, {"d"}} {
			say(&event.TextDelta{Delta: fmt.Sprint(i)}, path...)
		}
	}
	if len(got) > 0 || q.isFull() {
		t.Errorf("it was added too early: %q", got)
	}
	say(&event.StepEnd{Step: 1}, "b")
	say(&event.TextDelta{Delta: "3"}, "a")
	q.flushDelegated(nil, add)
	want := []string{"b 012", "b/c 012", "b step_end", "a 0123", "d 012"}
	if diff := cmp.Diff(want, got); diff != "" || len(q.delegated) > 0 {
		t.Error(diff)
	}
}
