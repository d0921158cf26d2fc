package chat

import (
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/agentruntime/agentruntime/cli/internal/question"
)

// Init implements tea.Model.
func (m *screenModel) Init() tea.Cmd { return func() tea.Msg { return changed{} } }

// Update implements tea.Model.
func (m *screenModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case changed:
		for _, change := range m.screen.takeChanges() {
			change(m)
		}
	case tea.MouseWheelMsg:
		m.turnWheel(msg.Button)
	case tea.PasteMsg:
		m.editor.insert(cleanText(strings.ReplaceAll(msg.Content, "\r", "\n")))
	case tea.KeyPressMsg:
		return m, m.pressKey(msg)
	}
	return m, nil
}

// pressKey handles a key.
func (m *screenModel) pressKey(key tea.KeyPressMsg) tea.Cmd {
	page := max(m.height-4, 1)
	switch key.String() {
	case "enter":
		m.enterLine()
	case "ctrl+j", "shift+enter", "alt+enter":
		m.editor.insert("\n")
	case "ctrl+c":
		select {
		case m.interrupts <- os.Interrupt:
		default: // one is under way
		}
	case "ctrl+d":
		if len(m.editor.text) == 0 {
			m.ending = true
			m.feedLines()
		}
	case "ctrl+o":
		m.unfolded = !m.unfolded
	case "ctrl+l":
		return tea.ClearScreen
	case "pgup":
		m.scroll(-page)
	case "pgdown":
		m.scroll(page)
	case "up":
		m.recall(1)
	case "down":
		m.recall(-1)
	default:
		if !m.editor.pressKey(key.String()) && key.Text != "" {
			m.editor.insert(cleanText(key.Text))
		}
	}
	return nil
}

// wheelLines is the number of lines per mouse wheel step.
const wheelLines = 3

// turnWheel scrolls with the mouse wheel.
func (m *screenModel) turnWheel(button tea.MouseButton) {
	switch button {
	case tea.MouseWheelUp:
		m.scroll(-wheelLines)
	case tea.MouseWheelDown:
		m.scroll(wheelLines)
	}
}

// enterLine takes the typed line as the answer to a question, or as a prompt, which waits while a
// turn runs.
func (m *screenModel) enterLine() {
	text := m.editor.take()
	if begun, goesOn := strings.CutSuffix(text, `\`); goesOn && !m.asks() {
		m.editor.insert(begun + "\n")
		return
	}
	if m.asks() {
		m.waits = false
		shown := text
		if m.editor.masked {
			shown = question.HiddenText
		}
		m.editor.masked = false
		m.addMessage(shown + "\n")
		m.lines <- text
		return
	}
	if strings.TrimSpace(text) == "" || m.ending {
		return
	}
	m.history = append(m.history, text)
	m.recalled = 0
	m.queue = append(m.queue, text)
	m.follow = true
	m.feedLines()
}

// recall shows another line of the history in the editor.
func (m *screenModel) recall(back int) {
	at := m.recalled + back
	if at < 0 || at > len(m.history) {
		return
	}
	if m.recalled == 0 {
		m.draft = string(m.editor.text)
	}
	m.recalled = at
	text := m.draft
	if at > 0 {
		text = m.history[len(m.history)-at]
	}
	m.editor.take()
	m.editor.insert(text)
}
