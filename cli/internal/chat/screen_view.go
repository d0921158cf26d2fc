package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/cli/internal/turnview"
	"github.com/agentruntime/agentruntime/internal/display"
	"github.com/charmbracelet/x/ansi"
)

// scroll scrolls the pane by a number of lines.
func (m *screenModel) scroll(by int) {
	total, rows := 0, m.rows()
	for _, b := range m.blocks {
		total += len(m.render(b))
	}
	end := max(total-rows, 0)
	if m.follow {
		m.top = end
	}
	m.top = min(max(m.top+by, 0), end)
	m.follow = m.top == end
}

// rows returns the number of lines above the editor.
func (m *screenModel) rows() int { return max(m.height-len(m.editorLines())-1, 1) }

// View implements tea.Model.
func (m *screenModel) View() tea.View {
	var v tea.View
	v.AltScreen = true
	if m.screen.Mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if m.width == 0 || m.height == 0 {
		return v
	}
	rows := m.rows()
	shown := make([]string, 0, m.height)
	if m.follow { // from the end, for an answer may have any number of lines
		for _, b := range slices.Backward(m.blocks) {
			if lines := m.render(b); len(shown) < rows {
				for _, line := range slices.Backward(lines[max(len(lines)-(rows-len(shown)), 0):]) {
					shown = append(shown, line)
				}
			}
		}
		slices.Reverse(shown)
	} else {
		skip := m.top
		for _, b := range m.blocks {
			lines := m.render(b)
			from := min(skip, len(lines))
			skip -= from
			shown = append(shown, lines[from:min(from+rows-len(shown), len(lines))]...)
		}
	}
	for len(shown) < rows {
		shown = append(shown, "")
	}
	shown = append(shown, styleFaint.Render(ansi.Truncate(terminal.OneLine(m.statusLine()), m.width, "…")))
	typed := m.editorLines()
	shown = append(shown, typed...)
	v.SetContent(strings.Join(shown, "\n"))
	row, column := m.editor.position(m.width)
	if row -= len(m.editor.render(m.width)) - len(typed); row >= 0 {
		v.Cursor = tea.NewCursor(column, rows+1+row)
	}
	return v
}

// turnview.StatusLine returns the line above the editor.
func (m *screenModel) statusLine() string {
	var parts []string
	switch {
	case m.asks():
		parts = append(parts, "your answer?")
	case m.turning:
		parts = append(parts, "working (Ctrl-C cancels)")
	default:
		parts = append(parts, "ready")
	}
	if n := len(m.queue); n > 0 {
		parts = append(parts, fmt.Sprintf("%d queued", n))
	}
	if !m.follow {
		parts = append(parts, "scrolled, PgDn")
	}
	if m.usage.Steps > 0 {
		parts = append(parts, strings.TrimPrefix(turnview.Summary(&m.usage), "= "))
	}
	return strings.Join(append(parts, m.title), " · ")
}

// editorLines returns the visible lines of the editor: the last ones.
func (m *screenModel) editorLines() []string {
	lines := m.editor.render(m.width)
	return lines[max(len(lines)-max(m.height/3, 1), 0):]
}

// render returns the lines of a block.
func (m *screenModel) render(b *block) []string {
	if b.lines != nil && !b.stale && b.width == m.width && b.unfolded == m.unfolded {
		return b.lines
	}
	if b.width != m.width || b.rendered > len(b.text) {
		b.done, b.rendered = nil, 0
	}
	b.width, b.unfolded, b.stale = m.width, m.unfolded, false
	m.renderKind(b)
	if b.delegate != "" {
		name := styleFaint.Render(ansi.Truncate(terminal.OneLine("["+b.delegate+"]"), m.width, "…"))
		b.lines = append([]string{name}, b.lines...)
	}
	return b.lines
}

// renderKind renders the lines of a block by its kind.
func (m *screenModel) renderKind(b *block) {
	switch b.kind {
	case blockPrompt:
		b.lines = indentLines(wrapLines(styleEach(styleYou, cleanText(b.text)), m.width-2), "› ", "  ")
	case display.KindText:
		m.renderAnswer(b)
		return
	case display.KindReasoning:
		b.lines = wrapLines(styleEach(styleFaint, cleanText(b.text)), m.width)
	case display.KindTool:
		b.lines = m.renderCall(b)
	case display.KindError:
		b.lines = wrapLines(styleEach(styleError, cleanText("error: "+b.text)), m.width)
	case blockMessage:
		b.lines = wrapLines(styleEach(styleAsk, cleanText(strings.TrimSuffix(b.text, "\n"))), m.width)
	default:
		b.lines = wrapLines(styleEach(styleFaint, cleanText(b.text)), m.width)
	}
	b.lines = append(b.lines, "")
}

// renderAnswer renders an answer. The part before its last empty line outside of code is rendered
// only once.
func (m *screenModel) renderAnswer(b *block) {
	tail := b.text[b.rendered:]
	if at := strings.LastIndex(tail, "\n\n"); at > 0 && strings.Count(tail[:at], "```")%2 == 0 && !strings.HasPrefix(tail[at+2:], " ") && at+2 < len(tail) {
		b.done = append(append(b.done, renderMarkdown(tail[:at], m.width)...), "")
		b.rendered += at + 2
		tail = tail[at+2:]
	}
	b.lines = append(slices.Clip(b.done), renderMarkdown(tail, m.width)...)
	b.lines = append(b.lines, "")
}

// renderCall renders a call: a line, and unfolded all that went in and came out.
func (m *screenModel) renderCall(b *block) []string {
	head := strings.TrimSpace(b.call.Action + " " + cmp.Or(b.call.Label, b.call.Ref))
	style := styleTool
	if b.call.Phase == display.PhaseFailed {
		style = styleError
	}
	head = "● " + terminal.OneLine(m.screen.redact(head))
	if !m.unfolded {
		detail := terminal.OneLine(turnview.JoinParts(turnview.JoinParts("", b.input), b.text))
		return []string{ansi.Truncate(style.Render(head)+" "+styleFaint.Render(strings.TrimSpace(detail)), m.width, "…")}
	}
	lines := []string{ansi.Truncate(style.Render(head), m.width, "…")}
	for _, part := range []string{b.input, b.text} {
		if part != "" {
			lines = append(lines, indentLines(hardWrap(cleanText(part), m.width-2, styleFaint.Render), "  ", "  ")...)
		}
	}
	return lines
}
