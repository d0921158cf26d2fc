package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/clip"
)

func TestWhatIsNotTextIsReplaced(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "",
		"Grüße \u2028 \U0001f600": "Grüße \u2028 \U0001f600",
		"a\x00b\x00\x00":          "a\ufffdb\ufffd\ufffd",
		"a\xffb":                  "a\ufffdb",
		"cut \xc3":                "cut \ufffd",
		"\xed\xa0\x80":            "\ufffd", // a surrogate
		"\x01\n\t":                "\x01\n\t",
	} {
		got := clip.Clean(text)
		if got != want || clip.IsClean(text) != (got == text) || !clip.IsClean(got) {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestTextsOfEveryLengthAreJudgedAlike has texts around the length at which the algorithm changes,
// with each byte at each end.
func TestTextsOfEveryLengthAreJudgedAlike(t *testing.T) {
	t.Parallel()
	for length := range 40 {
		around := strings.Repeat("a", length)
		for b := range 256 {
			for _, text := range []string{string([]byte{byte(b)}) + around, around + string([]byte{byte(b)}), around + string(rune(b))} {
				want := utf8.ValidString(text) && !strings.Contains(text, "\x00")
				if clip.IsClean(text) != want || (clip.Clean(text) == text) != want {
					t.Fatalf("IsClean(%q) = %v", text, !want)
				}
			}
		}
	}
}

func TestVisibleTextIsBoundedAndHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"two\nlines\tand more":    "two\nlines\tand more",
		"a\x00b\x1b[31mred\r":     "ab[31mred",
		"left\u202Eright\u2066":   "leftright",
		"bad \xff byte":           "bad \uFFFD byte",
		strings.Repeat("é", 3000): strings.Repeat("é", 2046) + "…",
		strings.Repeat("x", 4096): strings.Repeat("x", 4096),
	} {
		if got := clip.Visible(text, 4096); got != want {
			t.Errorf("%.40q becomes %.40q (%d bytes)", text, got, len(got))
		}
	}
}
