package chat

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// lineEditor is the text being typed, of one or more lines.
type lineEditor struct {
	text []rune
	at   int
	// masked shows a dot for each character.
	masked bool
}

// take returns the text and clears it.
func (e *lineEditor) take() string {
	text := string(e.text)
	e.text, e.at = nil, 0
	return text
}

// insert inserts a text at the cursor.
func (e *lineEditor) insert(text string) {
	runes := []rune(text)
	e.text = slices.Insert(e.text, e.at, runes...)
	e.at += len(runes)
}

// pressKey handles a key and reports whether the key is bound.
func (e *lineEditor) pressKey(key string) bool {
	switch key {
	case "left", "ctrl+b":
		e.at = max(e.at-1, 0)
	case "right", "ctrl+f":
		e.at = min(e.at+1, len(e.text))
	case "home", "ctrl+a":
		for e.at > 0 && e.text[e.at-1] != '\n' {
			e.at--
		}
	case "end", "ctrl+e":
		for e.at < len(e.text) && e.text[e.at] != '\n' {
			e.at++
		}
	case "backspace", "ctrl+h":
		if e.at > 0 {
			e.at--
			e.text = slices.Delete(e.text, e.at, e.at+1)
		}
	case "delete":
		if e.at < len(e.text) {
			e.text = slices.Delete(e.text, e.at, e.at+1)
		}
	case "ctrl+u":
		e.text, e.at = slices.Delete(e.text, 0, e.at), 0
	case "ctrl+k":
		e.text = e.text[:e.at]
	case "ctrl+w", "alt+backspace":
		from := e.at
		for from > 0 && e.text[from-1] == ' ' {
			from--
		}
		for from > 0 && e.text[from-1] != ' ' && e.text[from-1] != '\n' {
			from--
		}
		e.text, e.at = slices.Delete(e.text, from, e.at), from
	default:
		return false
	}
	return true
}

// render returns the text as lines of the screen.
func (e *lineEditor) render(width int) []string {
	shown := string(e.text)
	if e.masked {
		shown = strings.Repeat("•", len(e.text))
	}
	return strings.Split(ansi.Hardwrap("› "+shown, max(width-1, 1), true), "\n")
}

// position returns the cursor's position on the screen.
func (e *lineEditor) position(width int) (row, column int) {
	before := lineEditor{text: e.text[:e.at], masked: e.masked}
	lines := before.render(width)
	return len(lines) - 1, lipgloss.Width(lines[len(lines)-1])
}
