package recent

import "testing"

func TestOnlyTheLatestKeysAreKept(t *testing.T) {
	t.Parallel()
	const limit, all = 7, 24
	m := NewMap[int, string](limit)
	for i := range all {
		m.Put(i, "old")
		m.Put(i, "new") // takes no room
	}
	for i := range all {
		got, known := m.Get(i)
		if want := i >= all-limit; known != want || known && got != "new" {
			t.Fatalf("key %d is known %v as %q", i, known, got)
		}
	}
	if m.Len() != limit || len(m.ring) != limit {
		t.Errorf("%d keys are kept", m.Len())
	}
}
