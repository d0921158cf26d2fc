package terminal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/escapetest"
	"pgregory.net/rapid"
)

// escapedWrites returns the output after writing parts.
func escapedWrites(t interface{ Fatal(...any) }, parts ...string) string {
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, part := range parts {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal("written:", n, err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTextThatControlsATerminalIsEscaped(t *testing.T) {
	t.Parallel()
	for name, tt := range escapetest.Corpus {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := escapedWrites(t, tt.Text); got != tt.Shown {
				t.Errorf("got %q, want %q", got, tt.Shown)
			}
			for at := range tt.Text { // even between a character's bytes
				if got := escapedWrites(t, tt.Text[:at], tt.Text[at:]); got != tt.Shown {
					t.Errorf("split at %d: got %q, want %q", at, got, tt.Shown)
				}
			}
			if got := escapedWrites(t, strings.Split(tt.Text, "")...); got != tt.Shown {
				t.Errorf("split everywhere: got %q, want %q", got, tt.Shown)
			}
			if got := EscapeText(tt.Text); got != tt.Shown {
				t.Errorf("as a text: got %q, want %q", got, tt.Shown)
			}
		})
	}
}

func TestPropertyEscapingDoesNotDependOnHowTextIsSplit(t *testing.T) {
	t.Parallel()
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"\x1b", "[2J", "\r", "\n", "\xc2", "\x9b", "\xe2\x80", "\xae", "\u202e", "\ufeff", "日", "\xf0\x9f", "a"}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(piece).Draw(t, "parts")
		whole := strings.Join(parts, "")
		got := escapedWrites(t, parts...)
		if want := EscapeText(whole); got != want {
			t.Fatalf("%q: got %q in parts and %q as a whole", whole, got, want)
		}
		if !escapetest.IsInert(got) {
			t.Fatalf("%q: %q controls a terminal", whole, got)
		}
		if again := EscapeText(got); again != got {
			t.Fatalf("%q: escaping twice gives %q", got, again)
		}
	})
}

func TestPropertyEscapedJSONHasTheSameValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("\x1b\x7f\u0085\u009b\u202e\u2028\ufeff\U000e0041\"\\")))).Draw(t, "text")
		var document bytes.Buffer
		encoder := json.NewEncoder(&document)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(map[string]string{text: text}); err != nil {
			t.Fatal(err)
		}
		escaped := escapedWrites(t, document.String())
		got := map[string]string{}
		if err := json.Unmarshal([]byte(escaped), &got); err != nil || got[text] != text || !escapetest.IsInert(escaped) {
			t.Fatalf("%q became %q: %v", document.String(), escaped, err)
		}
	})
}

func TestOneLineKeepsForeignTextInItsLine(t *testing.T) {
	t.Parallel()
	if got, want := OneLine("a\nb\r\nc\td\u2028e\u0085f\x1b[2J"), `a b  c d e f\u001b[2J`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
