package resolve

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestEntriesOfDocumentsThatDiffer(t *testing.T) {
	t.Parallel()
	const before = `{"version":1,"agents":{"a":{"model_id":"m"}},"workflows":{"old":{},"same":{},"other":{"steps":[1]}},"tenants":{"cache":1}}`
	const after = `{"version":1,"agents":{"a":{"model_id":"n"}},"workflows":{"same":{},"other":{"steps":[2]},"x.y":{}},"tenants":{"cache":2},"patches":{"workflows":{"same":{"on_wait":"fail"}}}}`
	r := NewDiffReport(nil)
	if err := r.AddEntries([]byte(before), []byte(after)); err != nil {
		t.Fatal(err)
	}
	const want = `[{changed agents.a} {added patches.workflows.same} {changed tenants.cache} {removed workflows.old} {changed workflows.other} {added workflows["x.y"]}]`
	if got := fmt.Sprint(r.Entries); got != want || r.Same {
		t.Errorf("%s differ\nwant %s", got, want)
	}
	r = NewDiffReport([]AgentDiff{{Agent: "a", Kind: Changed}})
	if err := r.AddEntries([]byte(`{"agents":{"a":{}}}`), []byte(`{"agents":{"a":{"model_id":"n"}},"patches":{"agents":{"a":{}}}}`)); err != nil || len(r.Entries) > 0 || r.Same {
		t.Errorf("beside an agent %v differ: %v", r.Entries, err)
	}
	for _, text := range []string{`{`, `[]`} {
		if _, err := CompareDocuments([]byte(text), nil); err == nil {
			t.Errorf("%s is a document", text)
		}
	}
}

// Documents that have different hashes are never the same, and those that have one are.
func TestDifferentDocumentsAreNeverTheSame(t *testing.T) {
	t.Parallel()
	value := rapid.OneOf(rapid.Just("{}"), rapid.Just("null"), rapid.Just("[]"), rapid.Just(`{"x":1}`), rapid.Just(`"t"`), rapid.Just(`{"x":{"y":{}}}`))
	document := rapid.Custom(func(t *rapid.T) []byte {
		if rapid.IntRange(0, 9).Draw(t, "empty") == 0 {
			return nil
		}
		text := `{"version":1`
		for _, section := range rapid.Permutation([]string{"agents", "workflows", "tenants", "patches", "hooks"}).Draw(t, "sections")[:rapid.IntRange(0, 5).Draw(t, "n")] {
			if rapid.Bool().Draw(t, "flat") {
				text += fmt.Sprintf(",%q:%s", section, value.Draw(t, "value"))
				continue
			}
			text += fmt.Sprintf(`,%q:{"a":%s,"b":%s}`, section, value.Draw(t, "a"), value.Draw(t, "b"))
		}
		return []byte(text + "}")
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := document.Draw(t, "before"), document.Draw(t, "after")
		if len(before) > 0 && !json.Valid(before) {
			t.Fatalf("%s is not JSON", before)
		}
		changes, err := CompareDocuments(before, after)
		if err != nil || (len(changes) == 0) != (string(before) == string(after)) {
			t.Fatalf("%s and %s differ in %v: %v", before, after, changes, err)
		}
	})
}
