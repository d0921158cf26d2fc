package rules_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"pgregory.net/rapid"
)

// TestPropertyPagesAreTheList holds that pages of any size, one after the other,
// have every record once, the latest first.
func TestPropertyPagesAreTheList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all []*store.Session
		for i, at := range rapid.SliceOfN(rapid.Int64Range(1, 4), 0, 20).Draw(t, "times") {
			all = append(all, &store.Session{ID: fmt.Sprint("s", i), ActiveAt: time.UnixMicro(at).UTC()})
		}
		var read []*store.Session
		page := store.Page{Limit: rapid.IntRange(1, 7).Draw(t, "limit")}
		for {
			part, next, err := rules.SortPage(slices.Clone(all), page, rules.SessionCursor)
			if err != nil || len(part) > page.Limit {
				t.Fatalf("a page of %d has %d records: %v", page.Limit, len(part), err)
			}
			if read = append(read, part...); next == "" {
				break
			}
			if page.After = next; len(read) > len(all) {
				t.Fatalf("the pages have more than the %d records", len(all))
			}
		}
		if len(read) != len(all) {
			t.Fatalf("the pages have %d of %d records", len(read), len(all))
		}
		for i := 1; i < len(read); i++ {
			a, b := read[i-1], read[i]
			if a.ActiveAt.Before(b.ActiveAt) || a.ActiveAt.Equal(b.ActiveAt) && a.ID <= b.ID {
				t.Fatalf("%s stands before %s", a.ID, b.ID)
			}
		}
	})
}
