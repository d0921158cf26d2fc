package spec_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"pgregory.net/rapid"
)

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	// likely has what is in ids, and what is nearly.
	likely = letters + "_.:-/ \n\x00é"
)

func only(text, allowed string) bool { return strings.Trim(text, allowed) == "" }

// An id is made of letters, digits and _ . : - and begins with a letter or a
// digit; no other text is one.
func TestTheGrammarOfIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringOfN(rapid.RuneFrom([]rune(likely)), 0, 140, -1).Draw(t, "id")
		want := id != "" && len(id) <= 128 && only(id[:1], letters) && onlyEvery(id, letters+"_.:-")
		list := spec.CheckID("p", "model", id)
		if (list == nil) != want {
			t.Fatalf("CheckID(%q) = %v", id, list)
		}
		checkInvalidID(t, list)
	})
}

// A tool id is what model vendors accept as the name of a function.
func TestTheGrammarOfToolIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringOfN(rapid.RuneFrom([]rune(likely)), 0, 70, -1).Draw(t, "id")
		want := id != "" && len(id) <= 64 && onlyEvery(id, letters+"_-")
		list := spec.CheckToolID("p", id)
		if (list == nil) != want {
			t.Fatalf("CheckToolID(%q) = %v", id, list)
		}
		checkInvalidID(t, list)
	})
}

func onlyEvery(text, allowed string) bool {
	for _, r := range text {
		if !strings.ContainsRune(allowed, r) {
			return false
		}
	}
	return true
}

// checkInvalidID checks that what is said of a bad id is one short text.
func checkInvalidID(t *rapid.T, list diag.List) {
	if list == nil {
		return
	}
	d := list[0]
	if len(list) != 1 || d.Code != diag.InvalidID || d.Path != "p" || d.Hint == "" || !utf8.ValidString(d.Message) || len(d.Message) > 400 {
		t.Fatalf("diagnostics are %+v", list)
	}
}

func TestASlashInAnIDIsExplained(t *testing.T) {
	t.Parallel()
	list := spec.CheckID("agents.a/b", "agent", "a/b")
	if len(list) != 1 || !strings.Contains(list[0].Hint, "source/agent") {
		t.Errorf("CheckID = %v", list)
	}
}

func TestALongIDIsClippedBetweenCharacters(t *testing.T) {
	t.Parallel()
	list := spec.CheckID("p", "agent", "x"+strings.Repeat("é", 1<<16))
	if len(list) != 1 || len(list[0].Message) > 200 || !strings.Contains(list[0].Message, "é…") {
		t.Errorf("CheckID = %v", list)
	}
}
