package vendorhttp

import (
	"strings"
	"testing"
)

// countingTranslator knows no event.
type countingTranslator struct{ calls int }

func (c *countingTranslator) Translate(_ *ServerEvent, out *Batch) (bool, error) {
	c.calls++
	out.Unknown = true
	return false, nil
}

func (c *countingTranslator) End(bool, *Batch) (bool, error) { return false, nil }

// TestWrappersAreBounded translates events in more and more wrappers.
func TestWrappersAreBounded(t *testing.T) {
	t.Parallel()
	for depth, want := range map[int]int{0: 1, 1: 2, maxWrappers: 1 + maxWrappers, 9000: 1 + maxWrappers} {
		translator, out := &countingTranslator{}, &Batch{}
		ev := &ServerEvent{Data: []byte(strings.Repeat(`{"data":`, depth) + `{"x":1}` + strings.Repeat("}", depth))}
		if _, err := new(attempt).translateWrapped(translator, ev, out); err != nil || translator.calls != want {
			t.Errorf("%d wrappers: %d events, want %d; %v", depth, translator.calls, want, err)
		}
	}
}
