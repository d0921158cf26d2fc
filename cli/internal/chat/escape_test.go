package chat

import (
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/agentruntime/agentruntime/internal/display"
	"github.com/agentruntime/agentruntime/internal/testkit/escapetest"
	"github.com/charmbracelet/x/ansi"
)

// screenStyle matches the colors and attributes that the screen writes.
var screenStyle = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// TestNothingOnTheChatScreenControlsTheTerminal renders every kind of block, the status line
// and the editor with attacks in their texts.
func TestNothingOnTheChatScreenControlsTheTerminal(t *testing.T) {
	t.Parallel()
	screen := &Screen{redact: func(text string) string { return text }}
	for _, kind := range []display.Kind{blockPrompt, blockMessage, display.KindText, display.KindReasoning, display.KindTool, display.KindError, "other"} {
		for _, unfolded := range []bool{false, true} {
			m := &screenModel{screen: screen, title: escapetest.Text, pane: pane{width: 60, height: 30, follow: true, unfolded: unfolded}}
			m.Update(tea.PasteMsg{Content: escapetest.Text})
			text := "# " + escapetest.Text + "\n\n`" + escapetest.Text + "`\n\n[" + escapetest.Text + "](https://x.example/" + escapetest.Text + ")\n\n| a |\n|---|\n| " + escapetest.Text + " |\n"
			m.add(&block{kind: kind, delegate: escapetest.Text, text: text, input: escapetest.Text, call: &display.Display{Action: escapetest.Text, Label: escapetest.Text, Ref: escapetest.Text}})
			shown := m.View().Content
			if !escapetest.IsInert(screenStyle.ReplaceAllString(shown, "")) {
				t.Errorf("a block of kind %s controls the terminal: %q", kind, shown)
			}
			if !strings.Contains(shown, escapetest.Mark) || strings.Count(shown, "\n") >= m.height {
				t.Errorf("a block of kind %s is shown as %q", kind, shown)
			}
		}
	}
}

// FuzzMarkdown renders arbitrary Markdown for the chat screen: nothing panics, no text or entity
// controls the terminal, and no line is wider than the screen.
func FuzzMarkdown(f *testing.F) {
	for _, attack := range escapetest.Corpus {
		for _, around := range []string{"%", "# %", "- %\n  1. %", "> `%`", "~~~%\n%\n~~~", "[%](https://x.example/% '%')", "![%](%)", "| % |\n|---|\n| % |", "<b title='%'>%</b>", "**%** *%* <%>", "[%]\n\n[%]: % '%'"} {
			f.Add(strings.ReplaceAll(around, "%", attack.Text), 20)
		}
	}
	f.Add("&#27;[2J &#x9b;8m &#13;a &ZeroWidthSpace; \\\x1b `&#27;`\n\n    &#27;]0;t&#7;", 7)
	f.Fuzz(func(t *testing.T, source string, width int) {
		width = max(1, width%200)
		for _, line := range renderMarkdown(source, width) {
			if shown := screenStyle.ReplaceAllString(line, ""); !escapetest.IsInert(shown) || strings.Contains(shown, "\n") {
				t.Errorf("%q is shown as %q", source, line)
			}
			if cells := ansi.StringWidth(line); cells > width && width > 40 {
				t.Errorf("%q has a line of %d cells on a screen of %d: %q", source, cells, width, line)
			}
		}
	})
}
