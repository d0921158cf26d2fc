package chat

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/turnview"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/display"
	"github.com/agentruntime/agentruntime/runtime"
)

// block is a part of the conversation: a prompt, a text, a call or a message.
type block struct {
	kind display.Kind
	// delegate is the delegate's name; empty for the turn itself.
	delegate string
	// text is a prompt, a text or a message, or the result of a call.
	text string
	// open is set while more text may follow.
	open bool
	// call is the event that started or ended a call, input the call's input.
	call  *display.Display
	input string

	// done are the final lines of the text up to rendered, and lines all of its lines, for a given
	// width.
	done     []string
	rendered int
	lines    []string
	width    int
	unfolded bool
	stale    bool
}

// Block kinds besides the kinds of displays.
const (
	blockPrompt  display.Kind = "prompt"
	blockMessage display.Kind = "message"
)

// pane is the scrollable area above the editor.
type pane struct {
	width, height int
	blocks        []*block
	// top is the first visible line unless the screen follows the end.
	top    int
	follow bool
	// unfolded is set while calls are shown in full.
	unfolded bool
	// delegate is the name of the delegate whose events are being shown.
	delegate string
}

// screenModel is the state of the screen.
type screenModel struct {
	screen     *Screen
	lines      chan<- string
	interrupts chan<- os.Signal
	title      string

	pane
	editor  lineEditor
	queue   []string
	history []string
	// recalled counts back from the newest line of the history; 0 is the typed line.
	recalled int
	draft    string

	// waits is set while the conversation waits for a line, turning while a turn runs, and ending
	// after the last line.
	waits, turning, ending bool
	usage                  runtime.Result
}

// asks reports whether the typed line answers a question.
func (m *screenModel) asks() bool { return m.waits && m.turning }

// feedLines hands the next prompt to the conversation if it waits for one.
func (m *screenModel) feedLines() {
	switch {
	case !m.waits || m.turning:
	case len(m.queue) > 0:
		text := m.queue[0]
		m.queue = m.queue[1:]
		m.add(&block{kind: blockPrompt, text: text})
		m.turning, m.waits = !strings.HasPrefix(text, "/"), false
		m.lines <- text
	case m.ending:
		m.waits = false
		close(m.lines)
	}
}

// setWaiting records whether the conversation waits for a line.
func (m *screenModel) setWaiting(waits bool) {
	m.waits = waits
	m.feedLines()
}

// endTurn records that a turn ended.
func (m *screenModel) endTurn() {
	m.turning, m.editor.masked = false, false
	for _, b := range m.blocks {
		if b.open {
			b.open, b.stale = false, true
		}
	}
}

// add adds a block at the end.
func (m *screenModel) add(b *block) *block {
	b.delegate = m.delegate
	m.blocks = append(m.blocks, b)
	return b
}

// lastBlock returns the last block of the shown turn or delegate, if it is open and of the given
// kind.
func (m *screenModel) lastBlock(kind display.Kind) *block {
	for _, b := range slices.Backward(m.blocks) {
		if b.delegate != m.delegate {
			continue
		}
		if b.kind == kind && b.open {
			return b
		}
		break
	}
	return nil
}

// addMessage adds a message or question of the conversation.
func (m *screenModel) addMessage(text string) {
	b := m.lastBlock(blockMessage)
	if b == nil {
		b = m.add(&block{kind: blockMessage})
	}
	b.text += text
	b.open, b.stale = !strings.HasSuffix(b.text, "\n"), true
}

// showEvent shows an event of a turn. An event without a display is shown by its type; a private
// one is hidden.
func (m *screenModel) showEvent(e *display.Event) {
	d, visible := e.Readable()
	switch {
	case !visible:
	case d == nil && e.Type != display.TypeTurnCompleted:
		m.add(&block{kind: display.KindStatus, text: fmt.Sprintf("%s %s", e.Type, m.screen.redact(string(e.Data)))})
	case d == nil || d.Kind == display.KindInteraction: // which the question shows
	case d.Kind == display.KindText || d.Kind == display.KindReasoning:
		m.showText(d)
	case d.Kind == display.KindTool:
		m.showCall(d)
	case d.Kind == display.KindError:
		m.add(&block{kind: display.KindError, text: m.screen.redact(cmp.Or(d.Text, string(d.Error)))})
	case e.Type == display.TypeAssistantReset:
		m.blocks = slices.DeleteFunc(m.blocks, func(b *block) bool {
			return b.open && b.delegate == m.delegate && (b.kind == display.KindText || b.kind == display.KindReasoning)
		})
	case e.Type == display.TypeDelegate && d.Phase != display.PhaseStarted:
		m.add(&block{kind: display.KindStatus, text: m.screen.redact(turnview.StatusLine(d))})
	case d.Phase == display.PhaseStarted, e.Type == display.TypeTurnWaiting, e.Type == display.TypeTurnResumed:
	default:
		m.add(&block{kind: display.KindStatus, text: "turn " + m.screen.redact(turnview.StatusLine(d))})
	}
}

// showText shows the model's text: the parts as they arrive, or the whole text if no parts were
// shown.
func (m *screenModel) showText(d *display.Display) {
	b := m.lastBlock(d.Kind)
	if d.Phase == display.PhaseDelta {
		if b == nil {
			b = m.add(&block{kind: d.Kind, open: true})
		}
		b.text += d.Text
		b.stale = true
		return
	}
	for _, other := range m.blocks {
		if other.open && other.kind == d.Kind && other.delegate == m.delegate {
			b = other
			other.open, other.stale = false, true
		}
	}
	if b == nil && d.Text != "" {
		m.add(&block{kind: d.Kind, text: d.Text})
	}
}

// showOutput shows the answer of a turn without shown text.
func (m *screenModel) showOutput(text string) {
	for _, b := range slices.Backward(m.blocks) {
		if b.kind == blockPrompt {
			break
		}
		if b.kind == display.KindText && b.delegate == "" {
			return
		}
	}
	m.add(&block{kind: display.KindText, text: text})
}

// showCall shows a call or its result.
func (m *screenModel) showCall(d *display.Display) {
	var b *block
	for _, other := range slices.Backward(m.blocks) {
		if other.kind == display.KindTool && other.call.Ref == d.Ref && other.open && other.delegate == m.delegate {
			b = other
			break
		}
	}
	if b == nil {
		b = m.add(&block{kind: display.KindTool, open: true})
	}
	b.call, b.stale = d, true
	switch d.Phase {
	case display.PhaseStarted:
		b.input = m.screen.redact(string(d.Input))
	case display.PhaseProgress:
		b.text += m.screen.redact(d.Text)
	case display.PhaseFailed:
		b.text, b.open = m.screen.redact(cmp.Or(d.Text, string(d.Error))), false
	default:
		b.text, b.open = m.screen.redact(string(d.Output)), false
	}
}

// addUsage adds the usage of a turn.
func (m *screenModel) addUsage(d *event.RunFinish) {
	m.usage.Usage.Add(d.Usage)
	m.usage.Steps += d.Steps
	if d.Cost != nil {
		if m.usage.Cost == nil {
			m.usage.Cost = &event.Cost{Currency: d.Cost.Currency}
		}
		m.usage.Cost.Amount += d.Cost.Amount
	}
}
