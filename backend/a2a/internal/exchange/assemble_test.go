package exchange

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

// screen displays the text of an assembly.
type screen struct {
	shown  string
	resets int
}

func newAssembly(limit int) (*assembly, *screen) {
	s := new(screen)
	return &assembly{
		limit: limit, show: func(text string) { s.shown += text },
		reset: func() { s.shown, s.resets = "", s.resets+1 },
	}, s
}

func TestHowArtifactsBecomeText(t *testing.T) {
	t.Parallel()
	text := a2a.NewTextPart
	for name, tt := range map[string]struct {
		updates []*a2a.TaskArtifactUpdateEvent
		live    string
		want    string
	}{
		"one after another":      {[]*a2a.TaskArtifactUpdateEvent{peertest.Chunk("a", true, text("Hel")), peertest.Chunk("a", true, text("lo"))}, "Hello", "Hello"},
		"two artifacts":          {[]*a2a.TaskArtifactUpdateEvent{peertest.Chunk("a", false, text("one")), peertest.Chunk("b", false, text("two"))}, "one\n\ntwo", "one\n\ntwo"},
		"a longer form":          {[]*a2a.TaskArtifactUpdateEvent{peertest.Chunk("a", false, text("one")), peertest.Chunk("a", false, text("one two"))}, "one two", "one two"},
		"another form":           {[]*a2a.TaskArtifactUpdateEvent{peertest.Chunk("a", false, text("one")), peertest.Chunk("a", false, text("two")), peertest.Chunk("a", true, text("!"))}, "one", "two!"},
		"more of an earlier one": {[]*a2a.TaskArtifactUpdateEvent{peertest.Chunk("a", false, text("one")), peertest.Chunk("b", false, text("two")), peertest.Chunk("a", true, text("!"))}, "one\n\ntwo", "one!\n\ntwo"},
		"text of an earlier one": {[]*a2a.TaskArtifactUpdateEvent{peertest.Chunk("a", false), peertest.Chunk("b", false, text("two")), peertest.Chunk("a", true, text("one"))}, "two", "one\n\ntwo"},
		"nothing":                {[]*a2a.TaskArtifactUpdateEvent{peertest.Chunk("a", false), peertest.Chunk("a", true, nil, text("")), peertest.Chunk("", true)}, "", ""},
		"structured data":        {[]*a2a.TaskArtifactUpdateEvent{peertest.Chunk("a", false, text("see:"), a2a.NewDataPart(map[string]any{"n": 1}))}, "see:\n{\"n\":1}", "see:\n{\"n\":1}"},
		"nothing any more":       {[]*a2a.TaskArtifactUpdateEvent{peertest.Chunk("a", false, text("one")), peertest.Chunk("a", false), peertest.Chunk("b", true, text("two"))}, "one", "two"},
	} {
		a, s := newAssembly(1 << 20)
		for _, u := range tt.updates {
			if err := a.updateArtifact(u.Artifact.ID, u.Artifact.Parts, u.Append); err != nil {
				t.Fatal(err)
			}
		}
		if s.shown != tt.live || a.joinedText() != tt.want {
			t.Errorf("%s: it shows %q and is %q", name, s.shown, a.joinedText())
		}
		if a.showRest(a.joinedText()); s.shown != tt.want {
			t.Errorf("%s: it shows %q in the end", name, s.shown)
		}
	}
}

// Whatever arrives, in any order: the final display equals the text, text appended at the end is
// shown immediately, and the size equals the size of the stored text.
func TestWhatIsShownIsTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, s := newAssembly(1 << 20)
		want := map[string]string{}
		var order []string
		for range rapid.IntRange(0, 30).Draw(t, "updates") {
			id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")
			text := rapid.SampledFrom([]string{"", "x", "yz", "ü€😀", "\n\n"}).Draw(t, "text")
			more := rapid.Bool().Draw(t, "more")
			if _, known := want[id]; !known {
				order = append(order, id)
			}
			if !more {
				want[id] = ""
			}
			want[id] += text
			if rapid.IntRange(0, 9).Draw(t, "snapshot") > 0 {
				if err := a.updateArtifact(a2a.ArtifactID(id), a2a.ContentParts{a2a.NewTextPart(text)}, more); err != nil {
					t.Fatal(err)
				}
				continue
			}
			var all []*a2a.Artifact
			for _, id := range order {
				all = append(all, &a2a.Artifact{ID: a2a.ArtifactID(id), Parts: a2a.ContentParts{a2a.NewTextPart(want[id])}})
			}
			if err := a.rebuildFrom(append(all, nil)); err != nil {
				t.Fatal(err)
			}
		}
		var texts []string
		size := 0
		for _, id := range order {
			size += len(want[id]) + Overhead + len(id)
			if want[id] != "" {
				texts = append(texts, want[id])
			}
		}
		text := strings.Join(texts, between)
		if a.joinedText() != text || a.size != size {
			t.Fatalf("the text is %q of size %d, want %q of %d", a.joinedText(), a.size, text, size)
		}
		if !a.stale && s.shown != text {
			t.Fatalf("%q is shown of %q", s.shown, text)
		}
		if a.showRest(text); s.shown != text || s.resets > 1 {
			t.Fatalf("%q is shown of %q, %d resets", s.shown, text, s.resets)
		}
	})
}

func TestWhatWasShownBeforeIsNotShownAgain(t *testing.T) {
	t.Parallel()
	first, _ := newAssembly(1 << 20)
	if err := first.updateArtifact("a", a2a.ContentParts{a2a.NewTextPart("Let me see. ")}, true); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ text, shown string }{
		{"Let me see. Yes.", "Yes."}, {"Let me see. ", ""}, {"Let me", "Let me"}, {"Let me now. Yes.", "Let me now. Yes."}, {"", ""},
	} {
		second, s := newAssembly(1 << 20)
		second.shown, second.stale = shownBefore(first.shown.mark()), true
		if err := second.updateArtifact("a", a2a.ContentParts{a2a.NewTextPart(tt.text)}, true); err != nil || s.shown != "" {
			t.Errorf("%q is shown too early, %v", s.shown, err)
		}
		if second.showRest(tt.text); s.shown != tt.shown || s.resets != 0 {
			t.Errorf("%q is shown of %q, %d resets", s.shown, tt.text, s.resets)
		}
	}
}

func TestWhatAStepTakesBackIsItsOwn(t *testing.T) {
	t.Parallel()
	first, _ := newAssembly(1 << 20)
	if err := first.updateArtifact("a", a2a.ContentParts{a2a.NewTextPart("one ")}, true); err != nil {
		t.Fatal(err)
	}
	second, s := newAssembly(1 << 20)
	second.shown, second.stale = shownBefore(first.shown.mark()), true
	if err := second.rebuildFrom([]*a2a.Artifact{{ID: "a", Parts: a2a.ContentParts{a2a.NewTextPart("one three")}}}); err != nil || s.shown != "three" {
		t.Fatalf("%q is shown, %v", s.shown, err)
	}
	if second.showRest("one two three"); s.shown != "two three" || s.resets != 1 {
		t.Errorf("%q is shown, %d resets", s.shown, s.resets)
	}
}

func TestTextIsShownInPieces(t *testing.T) {
	t.Parallel()
	a, _ := newAssembly(1 << 20)
	var pieces []string
	a.show = func(text string) { pieces = append(pieces, text) }
	text := strings.Repeat("x", maxDelta-1) + strings.Repeat("😀", maxDelta)
	if err := a.updateArtifact("a", a2a.ContentParts{a2a.NewTextPart(text)}, true); err != nil {
		t.Fatal(err)
	}
	for i, p := range pieces {
		if len(p) > maxDelta || !utf8.ValidString(p) {
			t.Errorf("piece %d has %d bytes", i, len(p))
		}
	}
	if strings.Join(pieces, "") != text {
		t.Error("the pieces are not the text")
	}
}

func TestAnAssemblyIsBounded(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 600)
	for name, parts := range map[string]a2a.ContentParts{
		"text":  {a2a.NewTextPart(large)},
		"data":  {a2a.NewDataPart(large)},
		"bytes": {a2a.NewRawPart([]byte(large))},
		"URLs":  {a2a.NewFileURLPart(a2a.URL("https://example.com/"+large), "text/html")},
	} {
		a, _ := newAssembly(2000)
		var err error
		n := 0
		for ; n < 10 && err == nil; n++ {
			err = a.updateArtifact("a", parts, true)
		}
		if tooMuch, ok := errors.AsType[*outputError](err); !ok || tooMuch.limit != 2000 || n > 3 {
			t.Errorf("%s: %v after %d", name, err, n)
		}
		if err := a.rebuildFrom([]*a2a.Artifact{{ID: "b", Parts: append(append(parts, parts...), append(parts, parts...)...)}}); err == nil {
			t.Errorf("%s: a snapshot may have as much as it likes", name)
		}
	}
}

func FuzzAssembly(f *testing.F) {
	f.Add("a", "text", "b", "more", true, false)
	f.Add("", "\xff\xfe", "", "\xf0\x9f", false, false)
	f.Fuzz(func(t *testing.T, id, first, other, second string, more, again bool) {
		a, s := newAssembly(4096)
		for _, u := range []struct {
			id, text string
			more     bool
		}{{id, first, more}, {other, second, again}, {id, second, again}, {other, first, more}} {
			parts := a2a.ContentParts{a2a.NewTextPart(u.text), nil, a2a.NewRawPart([]byte(u.text)), a2a.NewFileURLPart(a2a.URL(u.text), "")}
			if err := a.updateArtifact(a2a.ArtifactID(u.id), parts, u.more); err != nil {
				return
			}
			if !a.stale && s.shown != a.joinedText() {
				t.Fatalf("%q is shown of %q", s.shown, a.joinedText())
			}
		}
		text := a.joinedText()
		if a.showRest(text); s.shown != text {
			t.Fatalf("%q is shown of %q", s.shown, text)
		}
		kept := len(text)
		for _, file := range a.fileParts() {
			kept += len(file.Blob.Data)
		}
		if kept > a.size+len(between) || a2awire.Size(nil) != 0 {
			t.Fatalf("%d bytes are kept, %d are counted", kept, a.size)
		}
	})
}

// The cost of appending a chunk must not grow with the text.
func BenchmarkAssembly(b *testing.B) {
	b.ReportAllocs()
	parts := a2a.ContentParts{a2a.NewTextPart(strings.Repeat("x", 40))}
	for b.Loop() {
		a, _ := newAssembly(16 << 20)
		a.show = func(string) {}
		for range 4000 {
			if err := a.updateArtifact("a", parts, true); err != nil {
				b.Fatal(err)
			}
		}
	}
}
