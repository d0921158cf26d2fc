package chat

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// TestMarkdownLosesNothing renders texts with all kinds of marks at all widths: each letter is
// present, in order, and no line is too wide.
func TestMarkdownLosesNothing(t *testing.T) {
	t.Parallel()
	marks := []string{
		"word", "two words", "a_b_c", "*emphasis*", "**strong**", "`code`", "[label](http://x.example/y)", "<http://z.example>", "\n", "\n\n",
		"# head\n", "- item\n", "1. first\n", "> quote\n", "```\nfenced\n```\n", "    indented\n", "---\n", "<b>html</b>", "|a|b|\n|-|-|\n|c|d|\n", "日本語", "🙂", "\x1b[31mred", "\t", "\\*", "&amp;",
	}
	letters := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) {
				return r
			}
			return -1
		}, text)
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	for range 2000 {
		var b strings.Builder
		for range random.IntN(12) {
			b.WriteString(marks[random.IntN(len(marks))])
			b.WriteString([]string{" ", "", "\n"}[random.IntN(3)])
		}
		source, width := b.String(), 1+random.IntN(60)
		lines := renderMarkdown(source, width)
		shown := ansi.Strip(strings.Join(lines, "\n"))
		if got, want := letters(shown), letters(cleanText(source)); got != want && !strings.Contains(source, "](") {
			t.Fatalf("%q at width %d has the letters\n%s, want\n%s", source, width, got, want)
		}
		if strings.Contains(shown, "\x1b") {
			t.Fatalf("%q steers the terminal: %q", source, shown)
		}
		for _, line := range lines {
			if width > 20 && lipgloss.Width(line) > width {
				t.Fatalf("%q at width %d has the line %q", source, width, line)
			}
		}
	}
}

// TestPartsOfAnAnswerGiveTheWhole renders an answer incrementally, as it arrives, and all at once.
func TestPartsOfAnAnswerGiveTheWhole(t *testing.T) {
	t.Parallel()
	text := "First *one*.\n\nSecond.\n\n```\na\n\nb\n```\n\nThird and\nlast.\n\n- x\n\n  y\n\nEnd."
	m := &screenModel{pane: pane{width: 30}}
	parts, whole := &block{kind: "text", open: true}, &block{kind: "text", text: text}
	for _, r := range text {
		parts.text += string(r)
		parts.stale = true
		m.render(parts)
	}
	got, want := strings.Join(m.render(parts), "\n"), strings.Join(m.render(whole), "\n")
	if got != want {
		t.Errorf("in parts\n%s\nas a whole\n%s", got, want)
	}
	m.width = 10
	for _, line := range m.render(parts) {
		if lipgloss.Width(line) > 10 {
			t.Errorf("%q is wider than the window", line)
		}
	}
}
