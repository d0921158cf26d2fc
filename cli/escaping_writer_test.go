package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// escapeCorpus has text that attacks terminals and its escaped form.
var escapeCorpus = map[string]struct{ text, shown string }{
	"clear the screen":        {"a\x1b[2Jb", `a\u001b[2Jb`},
	"clipboard":               {"\x1b]52;c;ZXZpbA==\x07", `\u001b]52;c;ZXZpbA==\u0007`},
	"title":                   {"\x1b]0;title\x1b\\", `\u001b]0;title\u001b\`},
	"hyperlink":               {"\x1b]8;;http://evil.example\x07here\x1b]8;;\x07", `\u001b]8;;http://evil.example\u0007here\u001b]8;;\u0007`},
	"concealed text":          {"\x1b[8mhidden\x1b[28m", `\u001b[8mhidden\u001b[28m`},
	"device control":          {"\x1bPq#0\x1b\\\x1b_app\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\", `\u001bPq#0\u001b\\u001b_app\u001b\\u001b^pm\u001b\\u001bXsos\u001b\`},
	"alternate screen":        {"\x1b[?1049h\x1bc", `\u001b[?1049h\u001bc`},
	"answer back":             {"\x1b[6n\x1b[c\x05", `\u001b[6n\u001b[c\u0005`},
	"another character set":   {"\x0e\x1b(0qqq\x0f", `\u000e\u001b(0qqq\u000f`},
	"overwritten line":        {"rm -rf /\rls     ", `rm -rf /\u000dls     `},
	"carriage return at end":  {"a\r", `a\u000d`},
	"two carriage returns":    {"a\r\r\n", "a\\u000d\r\n"},
	"backspaces":              {"evil\b\b\b\bgood", `evil\u0008\u0008\u0008\u0008good`},
	"8-bit controls in UTF-8": {"\u009b2J\u009d0;t\u009c\u0090q\u009c\u0085", `\u009b2J\u009d0;t\u009c\u0090q\u009c\u0085`},
	"8-bit controls in bytes": {"\x9b2J\x9d", "\ufffd2J\ufffd"},
	"bidirectional overrides": {"\u202aa\u202bb\u202cc\u202dd\u202ee\u2066f\u2067g\u2068h\u2069i\u200ej\u200fk\u061cl", `\u202aa\u202bb\u202cc\u202dd\u202ee\u2066f\u2067g\u2068h\u2069i\u200ej\u200fk\u061cl`},
	"invisible text":          {"a\u200bb\u2060c\ufeffd\u00ade\U000e0041", `a\u200bb\u2060c\ufeffd\u00ade\udb40\udc41`},
	"line separators":         {"a\u2028b\u2029c\vd\fe", `a\u2028b\u2029c\u000bd\u000ce`},
	"delete and null":         {"a\x7fb\x00c", `a\u007fb\u0000c`},
	"text is kept":            {"Grüße, שלום, 日本語, 👩‍👩‍👧, نمی\u200cخواهم\tx\r\n\n", "Grüße, שלום, 日本語, 👩‍👩‍👧, نمی\u200cخواهم\tx\r\n\n"},
	"incomplete character":    {"a\xe2\x80", "a\ufffd\ufffd"},
}

// escapedWrites returns the output after writing parts.
func escapedWrites(t interface{ Fatal(...any) }, parts ...string) string {
	var out bytes.Buffer
	w := newEscapingWriter(&out)
	for _, part := range parts {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal("written:", n, err)
		}
	}
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTextThatControlsATerminalIsEscaped(t *testing.T) {
	t.Parallel()
	for name, tt := range escapeCorpus {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := escapedWrites(t, tt.text); got != tt.shown {
				t.Errorf("got %q, want %q", got, tt.shown)
			}
			for at := range tt.text { // even between a character's bytes
				if got := escapedWrites(t, tt.text[:at], tt.text[at:]); got != tt.shown {
					t.Errorf("split at %d: got %q, want %q", at, got, tt.shown)
				}
			}
			if got := escapedWrites(t, strings.Split(tt.text, "")...); got != tt.shown {
				t.Errorf("split everywhere: got %q, want %q", got, tt.shown)
			}
			if got := escapeText(tt.text); got != tt.shown {
				t.Errorf("as a text: got %q, want %q", got, tt.shown)
			}
		})
	}
}

// isInert reports whether a terminal can show a text without executing control sequences.
func isInert(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(strings.ReplaceAll(text, "\r\n", "\n"), func(r rune) bool {
		return r != utf8.RuneError && needsCare(r)
	}) < 0
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
		if want := escapeText(whole); got != want {
			t.Fatalf("%q: got %q in parts and %q as a whole", whole, got, want)
		}
		if !isInert(got) {
			t.Fatalf("%q: %q controls a terminal", whole, got)
		}
		if again := escapeText(got); again != got {
			t.Fatalf("%q: escaping twice gives %q", got, again)
		}
	})
}

func TestPropertyEscapedJSONHasTheSameValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("\x1b\x7f\u0085\u009b\u202e\u2028\ufeff\U000e0041\"\\")))).Draw(t, "text")
		var document bytes.Buffer
		if err := writeJSON(&document, map[string]string{text: text}); err != nil {
			t.Fatal(err)
		}
		escaped := escapedWrites(t, document.String())
		got := map[string]string{}
		if err := json.Unmarshal([]byte(escaped), &got); err != nil || got[text] != text || !isInert(escaped) {
			t.Fatalf("%q became %q: %v", document.String(), escaped, err)
		}
	})
}

func TestOneLineKeepsForeignTextInItsLine(t *testing.T) {
	t.Parallel()
	if got, want := oneLine("a\nb\r\nc\td\u2028e\u0085f\x1b[2J"), `a b  c d e f\u001b[2J`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
