package follow

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event"
)

// recordsOf returns records from a number on, of a size each.
func recordsOf(first uint64, n, size int) []event.Record {
	list, data := make([]event.Record, n), []byte(strings.Repeat("x", size))
	for i := range list {
		list[i] = event.Record{Seq: first + uint64(i), Data: data}
	}
	return list
}

func TestHowManyEventsAreReadDependsOnHowLargeTheyAre(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ n, size, want int }{
		{0, 0, firstPage}, {1, 0, eventPage}, {16, 100, eventPage}, {16, pageBytes / 64, 64}, {16, pageBytes, 1}, {1000, pageBytes / 1000, eventPage}, {3, 2 << 20, 1},
	} {
		if got := pageAfter(recordsOf(1, tt.n, tt.size)); got != tt.want {
			t.Errorf("after %d of %d bytes it is %d, want %d", tt.n, tt.size, got, tt.want)
		}
	}
}

// The tail of a turn is bounded in number and in size, has no gap, and has the
// latest event.
func TestTheTailOfATurnIsBounded(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 100, tailBytes / 4, 3 * tailBytes} {
		topic := &topic{turnID: "t", news: make(chan struct{}), ended: make(chan struct{})}
		seq := uint64(1)
		for n := range 200 {
			more := recordsOf(seq, n%40, size)
			topic.publishRecords(more)
			seq += uint64(len(more))
			if have := sizeOf(topic.tail); have != topic.size || have > 2*tailBytes && len(topic.tail) > 1 || len(topic.tail) > 2*tailLength {
				t.Fatalf("%d events of %d bytes are kept, and counted as %d", len(topic.tail), size, topic.size)
			}
			for i := range topic.tail {
				if topic.tail[i].Seq != seq-uint64(len(topic.tail))+uint64(i) {
					t.Fatalf("event %d is at %d of %d", topic.tail[i].Seq, i, len(topic.tail))
				}
			}
		}
		if last, ok := topic.lastSeq(); !ok || last != seq-1 {
			t.Errorf("the latest is %d, want %d", last, seq-1)
		}
		topic.publishRecords(recordsOf(seq+7, 2, size))
		if len(topic.tail) > 2 || topic.size != sizeOf(topic.tail) {
			t.Errorf("after a gap %d are kept, and counted as %d", len(topic.tail), topic.size)
		}
	}
}
