package sqlite

import "testing"

func TestACommonLabelIsCountedAgainAfterManyUses(t *testing.T) {
	var known commonLabels
	one := label{"kind", "session"}
	if known.use(one) {
		t.Fatal("it is known before it was counted")
	}
	known.add(one)
	for range commonUses {
		if !known.use(one) {
			t.Fatal("it is counted too soon")
		}
	}
	if known.use(one) {
		t.Error("it is not counted again")
	}
	for i := range 2 * maxCommonLabels {
		known.add(label{"id", string(rune('a' + i))})
	}
	if n := len(known.left); n > maxCommonLabels {
		t.Errorf("%d labels are known", n)
	}
}
