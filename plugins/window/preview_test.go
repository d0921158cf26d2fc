package window

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestShorten(t *testing.T) {
	for name, tt := range map[string]struct {
		text         string
		chars, lines int
		want         string
	}{
		"nothing":                 {"", 4, 2, ""},
		"short":                   {"abcd", 4, 2, "abcd"},
		"one line":                {"abcdefgh", 4, 2, "ab\n[… 4 bytes left out …]\ngh"},
		"odd numbers":             {"abcdefgh", 3, 2, "ab\n[… 5 bytes left out …]\nh"},
		"one character":           {"abc", 1, 2, "a\n[… 2 bytes left out …]"},
		"lines":                   {"a\nb\nc\nd\ne\nf", 100, 2, "a\n[… 8 bytes in 4 lines left out …]\nf"},
		"a line break at the end": {"a\nb\nc\nd\n", 100, 2, "a\n[… 4 bytes in 2 lines left out …]\nd\n"},
		"as many lines":           {"a\nb\nc\n", 100, 3, "a\nb\nc\n"},
		"one line of several":     {"a\nb\nc", 100, 1, "a\n[… 3 bytes left out …]"},
		"whole characters":        {"äöüßéèñç", 4, 2, "äö\n[… 8 bytes left out …]\nñç"},
		"no UTF-8":                {"\xff\xfe\xfd\xfc", 2, 2, "\xff\n[… 2 bytes left out …]\n\xfc"},
	} {
		if diff := cmp.Diff(tt.want, shortenText(tt.text, tt.chars, tt.lines)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestShortenKeepsNoMoreThanItMay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab\n\n好🙂"))).Draw(t, "text")
		chars, lines := rapid.IntRange(1, 20).Draw(t, "chars"), rapid.IntRange(1, 6).Draw(t, "lines")
		short := shortenText(text, chars, lines)
		if short == text {
			return
		}
		head, rest, found := strings.Cut(short, "[… ")
		_, tail, ended := strings.Cut(rest, " left out …]")
		head, tail = strings.TrimSuffix(head, "\n"), strings.TrimPrefix(tail, "\n")
		switch {
		case !found || !ended:
			t.Fatalf("%q does not note what is missing", short)
		case !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail):
			t.Fatalf("%q is not the beginning and the end of %q", short, text)
		case utf8.RuneCountInString(head)+utf8.RuneCountInString(tail) > chars:
			t.Fatalf("%q has more than %d characters", short, chars)
		case strings.Count(head, "\n")+strings.Count(strings.TrimSuffix(tail, "\n"), "\n")+1 > lines+1:
			t.Fatalf("%q has more than %d lines", short, lines)
		}
	})
}

func TestFilesInLongResultsAreNamed(t *testing.T) {
	p := Preview{MinTokens: 100, MaxChars: 8, MaxLines: 4}
	blob := func(typ model.PartType, b model.Blob) model.Part { return model.Part{Type: typ, Blob: &b} }
	part := model.Part{ToolResult: &model.ToolResult{CallID: "1", Name: "x", IsError: true, Content: []model.Part{
		model.Text("see:"), blob(model.PartImage, model.Blob{MediaType: "image/png", URI: "https://a/b"}),
		model.Text("done"), blob(model.PartFile, model.Blob{Name: "a.bin"}),
	}}}
	short := p.shortenResult(&part, partWeight(&part))
	want := &model.ToolResult{CallID: "1", Name: "x", IsError: true, Content: []model.Part{
		model.Text("see:done\n[image image/png left out]\n[file a.bin left out]"),
	}}
	if diff := cmp.Diff(want, short); diff != "" {
		t.Error(diff)
	}
}
