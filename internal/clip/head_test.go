package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/clip"
)

func TestHeadSplitsNoCharacter(t *testing.T) {
	t.Parallel()
	const text = "aé€\U0001f600b"
	for limit, want := range map[int]string{
		-1: "", 0: "", 1: "a", 2: "a", 3: "aé", 4: "aé", 5: "aé", 6: "aé€", 9: "aé€", 10: "aé€\U0001f600", 11: text, 12: text,
	} {
		if got := clip.Head(text, limit); got != want {
			t.Errorf("Head(%q, %d) = %q, want %q", text, limit, got, want)
		}
	}
	if got := clip.Head("€", 2); got != "" {
		t.Errorf("half a character is left: %q", got)
	}
	if got := clip.Head(strings.Repeat("\x80", 9), 7); len(got) != 7 {
		t.Errorf("of what is no text %d bytes are left, want 7", len(got))
	}
}

func FuzzHead(f *testing.F) {
	f.Add("aé€\U0001f600b", 3)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		head := clip.Head(text, limit)
		if len(head) > max(limit, 0) || !strings.HasPrefix(text, head) || utf8.ValidString(text) && !utf8.ValidString(head) {
			t.Errorf("Head(%q, %d) = %q", text, limit, head)
		}
		if want := min(max(limit, 0), len(text)) - utf8.UTFMax + 1; len(head) < want {
			t.Errorf("Head(%q, %d) has %d bytes, %d or more fit", text, limit, len(head), want)
		}
	})
}
