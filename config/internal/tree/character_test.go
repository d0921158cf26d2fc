package tree_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
)

func TestOddCharactersAreNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"key: value":         "",
		"k\u0435y: value":    `there is a U+0435 at column 2, a Cyrillic letter that looks like "e"`,
		"\u03bf: value":      `there is a U+03BF at column 1, a Greek letter that looks like "o"`,
		"\uff41b: value":     `there is a U+FF41 at column 1, a fullwidth letter that looks like "a"`,
		"ключ: value":        "", // a word of another language
		"na\u200bme: value":  "there is a U+200B zero width space at column 3",
		"a\u00a0b: value":    "there is a U+00A0 no-break space at column 2",
		"\u201cname\u201d:x": "there is a U+201C left double quotation mark at column 1, where YAML needs a plain character",
	} {
		doc := tree.NewSourceFile("f.yaml", []byte("version: 1\n"+text+"\n"))
		files := &tree.Tree{Documents: []*tree.SourceFile{doc}}
		key, _, _ := cutKey(text)
		list := diag.List{{Code: diag.UnknownField, Severity: diag.Error, Path: "x", Span: diag.Span{File: "f.yaml", Line: 2, Column: 1, EndLine: 2, EndColumn: 1 + len([]rune(key))}}}
		files.NameCharacters(list)
		if list[0].Hint != want {
			t.Errorf("%q: %q, want %q", text, list[0].Hint, want)
		}
	}
}

// cutKey splits a line at its colon.
func cutKey(line string) (key, value string, ok bool) {
	for i, c := range line {
		if c == ':' {
			return line[:i], line[i+1:], true
		}
	}
	return line, "", false
}

func TestHintsKeepWhatTheySay(t *testing.T) {
	t.Parallel()
	at := diag.Span{File: "f.yaml", Line: 1, Column: 1, EndLine: 1, EndColumn: 4}
	for _, tt := range []struct {
		d    diag.Diagnostic
		want string
	}{
		{diag.Diagnostic{Code: diag.UnknownField, Path: "x", Span: at, Hint: "did you mean \"key\"?"}, `did you mean "key"? there is a U+0435 at column 2, a Cyrillic letter that looks like "e"`},
		{diag.Diagnostic{Code: diag.UnknownField, Path: "x", Span: at, Hint: "remove it"}, `remove it; there is a U+0435 at column 2, a Cyrillic letter that looks like "e"`},
		{diag.Diagnostic{Code: diag.UnknownField, Path: "x", Span: at, Hint: "it is U+0435"}, "it is U+0435"},
		{diag.Diagnostic{Code: diag.UnusedDefinition, Severity: diag.Note, Path: "x", Span: at}, ""},
		{diag.Diagnostic{Code: diag.UnknownField, Path: "x", Span: diag.Span{File: "g.yaml", Line: 1, Column: 1, EndLine: 1, EndColumn: 4}}, ""},
		{diag.Diagnostic{Code: diag.UnknownField, Path: "x", Span: diag.Span{File: "f.yaml", Line: 1, EndLine: 1}}, ""},
		{diag.Diagnostic{Code: diag.UnknownField, Path: "x", Span: diag.Span{File: "f.yaml", Line: 1, Column: 90, EndLine: 1, EndColumn: 91}}, ""},
	} {
		files := &tree.Tree{Documents: []*tree.SourceFile{tree.NewSourceFile("f.yaml", []byte("k\u0435y: 1\n"))}}
		list := diag.List{tt.d}
		files.NameCharacters(list)
		if list[0].Hint != tt.want {
			t.Errorf("%+v: %q, want %q", tt.d, list[0].Hint, tt.want)
		}
	}
}
