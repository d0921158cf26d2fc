package vendorhttp

import (
	"bufio"
	"strings"
	"testing"
)

// TestJoinedEventsAreNotCopied reads many events in one line. Copying the rest for each would take
// quadratic time.
func TestJoinedEventsAreNotCopied(t *testing.T) {
	const events = 10_000
	for _, separator := range []string{"", "data:"} {
		stream := "data: " + strings.Repeat(`{"a":1}`+separator, events-1) + `{"a":1}` + "\n\n"
		allocations := testing.AllocsPerRun(1, func() {
			r, n := &eventReader{in: bufio.NewReader(strings.NewReader(stream))}, 0
			for r.next() {
				if n++; string(r.event.Data) != `{"a":1}` {
					t.Fatalf("event %d is %s", n, r.event.Data)
				}
			}
			if n != events {
				t.Errorf("there are %d events, want %d", n, events)
			}
		})
		if allocations > 100 {
			t.Errorf("%d events joined by %q take %.0f allocations", events, separator, allocations)
		}
	}
}
