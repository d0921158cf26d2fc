package clip_test

import (
	"testing"

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
