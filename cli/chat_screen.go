package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/display"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/charmbracelet/x/ansi"
)

// screenFront shows a conversation on the whole of a terminal. The conversation runs as
// it does without one: its prompts and answers are the lines that are typed here, and
// what it writes becomes blocks of the screen.
type screenFront struct {
	// in and out are the terminal; messages has what is written to it before the screen
	// begins and after its end.
	in, out  *os.File
	messages io.Writer
	redact   func(string) string
	reader   display.Reader
	// delegates has a reader for each delegate.
	delegates delegateViews[*display.Reader]
	// mouse is set if the wheel of the mouse scrolls; then the terminal alone does not
	// select text with it.
	mouse bool

	mu sync.Mutex
	// changes are those of the model that it has not made yet, and running is set while
	// the screen shows them.
	changes []func(*chatModel)
	running bool
	program *tea.Program
}

// newScreenFront returns the front of a conversation on a terminal; nil where the
// streams are none.
func newScreenFront(s streams) *screenFront {
	in, isFile := s.in.(*os.File)
	out, _ := fileOf(s.out)
	if !isFile || !terminal(in) || !controllable(s.out) {
		return nil
	}
	return &screenFront{in: in, out: out, messages: s.err}
}

// changed is the message that there are changes.
type changed struct{}

// change has the model changed, in the order of the calls.
func (f *screenFront) change(do func(*chatModel)) {
	f.mu.Lock()
	f.changes = append(f.changes, do)
	first, program := len(f.changes) == 1, f.program
	f.mu.Unlock()
	if first && program != nil {
		program.Send(changed{})
	}
}

// takeChanges returns the changes that are to be made.
func (f *screenFront) takeChanges() []func(*chatModel) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.changes
	f.changes = nil
	return list
}

// Write shows a message.
func (f *screenFront) Write(p []byte) (int, error) {
	f.mu.Lock()
	running := f.running
	f.mu.Unlock()
	if !running {
		return f.messages.Write(p)
	}
	text := string(p)
	f.change(func(m *chatModel) { m.addMessage(text) })
	return len(p), nil
}

// begin makes the front ready for the events of another turn.
func (f *screenFront) begin() {
	f.reader = display.Reader{}
	f.delegates = delegateViews[*display.Reader]{open: func(io.Writer) *display.Reader { return new(display.Reader) }}
}

// close implements turnView.
func (f *screenFront) close() error {
	f.change(func(m *chatModel) { m.endTurn() })
	return nil
}

// Emit shows an event of a turn while it runs.
func (f *screenFront) Emit(ev event.Event) {
	record, err := event.NewRecord(ev)
	if err != nil {
		fmt.Fprintf(f, "error> %s\n", err)
		return
	}
	reader, name := &f.reader, ""
	if len(record.Path) > 0 {
		view := f.delegates.view(&record)
		reader, name = view.shown, view.name
	}
	events, err := reader.Read(&record)
	if err != nil {
		fmt.Fprintf(f, "error> %s\n", err)
	}
	finish, _ := ev.Data.(*event.RunFinish)
	if name != "" {
		finish = nil // of the delegate alone
	}
	if len(events) > 0 || finish != nil {
		f.change(func(m *chatModel) {
			if finish != nil && finish.Result != nil && finish.Result.Response != "" {
				m.showOutput(finish.Result.Response)
			}
			m.delegate = name
			for i := range events {
				m.showEvent(&events[i])
			}
			m.delegate = ""
			if finish != nil {
				m.addUsage(finish)
			}
		})
	}
}

// run shows the screen as long as the conversation goes on.
func (f *screenFront) run(ctx context.Context, c *conversation, converse func(context.Context) error) error {
	lines := make(chan string, 16) // more than are ever in it, so that the screen never waits
	input := &lineReader{read: lines, waiting: func(waits bool) {
		f.change(func(m *chatModel) { m.setWaiting(waits) })
	}, hide: func(secret bool) {
		f.change(func(m *chatModel) { m.editor.masked = secret })
	}}
	c.answers.input = input
	f.redact = c.where.redact
	m := &chatModel{front: f, lines: lines, interrupts: c.interrupts, title: c.title(), chatPane: chatPane{follow: true}}
	program := tea.NewProgram(m, tea.WithInput(f.in), tea.WithOutput(f.out), tea.WithoutSignalHandler())
	f.mu.Lock()
	f.program, f.running = program, true
	f.mu.Unlock()
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		ended <- converse(ctx)
		program.Quit()
	}()
	_, err := program.Run()
	stop()
	err = cmp.Or(<-ended, err)
	f.mu.Lock()
	f.running, f.program = false, nil
	f.mu.Unlock()
	return err
}

// chatBlock is a part of what is shown: a prompt, a text, a call, a message.
type chatBlock struct {
	kind display.Kind
	// delegate is the name of the delegate that the part is of; empty for the turn itself.
	delegate string
	// text is a prompt, a text or a message; of a call it is what came out of it.
	text string
	// open is set while more text may follow.
	open bool
	// call is the event that a call began or ended with, and input what it was given.
	call  *display.Display
	input string

	// done are the lines of the text up to rendered, which does not change any more,
	// and lines all of them, for a width.
	done     []string
	rendered int
	lines    []string
	width    int
	unfolded bool
	stale    bool
}

// The kinds of blocks besides those of displays.
const (
	blockPrompt  display.Kind = "prompt"
	blockMessage display.Kind = "message"
)

// chatPane is what is shown above the editor.
type chatPane struct {
	width, height int
	blocks        []*chatBlock
	// top is the first line that is shown unless the screen follows the end.
	top    int
	follow bool
	// unfolded is set while calls are shown in full.
	unfolded bool
	// delegate is the name of the delegate whose events are being shown.
	delegate string
}

// chatModel is the state of the screen.
type chatModel struct {
	front      *screenFront
	lines      chan<- string
	interrupts chan<- os.Signal
	title      string

	chatPane
	editor  lineEditor
	queue   []string
	history []string
	// recalled counts back from the newest line of the history; 0 is the line typed.
	recalled int
	draft    string

	// waits is set while the conversation waits for a line, turning while a turn runs, and
	// ending when no more lines follow.
	waits, turning, ending bool
	usage                  runtime.Result
}

// asks reports whether the line that is typed answers a question.
func (m *chatModel) asks() bool { return m.waits && m.turning }

// Init implements tea.Model.
func (m *chatModel) Init() tea.Cmd { return func() tea.Msg { return changed{} } }

// Update implements tea.Model.
func (m *chatModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case changed:
		for _, change := range m.front.takeChanges() {
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

// pressKey does what a key stands for.
func (m *chatModel) pressKey(key tea.KeyPressMsg) tea.Cmd {
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

// wheelLines is how many lines the wheel of a mouse scrolls.
const wheelLines = 3

// turnWheel scrolls as the wheel of a mouse is turned.
func (m *chatModel) turnWheel(button tea.MouseButton) {
	switch button {
	case tea.MouseWheelUp:
		m.scroll(-wheelLines)
	case tea.MouseWheelDown:
		m.scroll(wheelLines)
	}
}

// enterLine takes the line that was typed: as the answer to a question, or as a prompt,
// which waits while a turn runs.
func (m *chatModel) enterLine() {
	text := m.editor.take()
	if begun, goesOn := strings.CutSuffix(text, `\`); goesOn && !m.asks() {
		m.editor.insert(begun + "\n")
		return
	}
	if m.asks() {
		m.waits = false
		shown := text
		if m.editor.masked {
			shown = hiddenText
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

// feedLines hands the next prompt to the conversation if it waits for one.
func (m *chatModel) feedLines() {
	switch {
	case !m.waits || m.turning:
	case len(m.queue) > 0:
		text := m.queue[0]
		m.queue = m.queue[1:]
		m.add(&chatBlock{kind: blockPrompt, text: text})
		m.turning, m.waits = !strings.HasPrefix(text, "/"), false
		m.lines <- text
	case m.ending:
		m.waits = false
		close(m.lines)
	}
}

// setWaiting notes that the conversation waits for a line, or does not any more.
func (m *chatModel) setWaiting(waits bool) {
	m.waits = waits
	m.feedLines()
}

// endTurn notes that a turn is over.
func (m *chatModel) endTurn() {
	m.turning, m.editor.masked = false, false
	for _, b := range m.blocks {
		if b.open {
			b.open, b.stale = false, true
		}
	}
}

// recall shows another line of the history in the editor.
func (m *chatModel) recall(back int) {
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

// add adds a block at the end.
func (m *chatModel) add(b *chatBlock) *chatBlock {
	b.delegate = m.delegate
	m.blocks = append(m.blocks, b)
	return b
}

// lastBlock returns the last block of the turn or delegate that is being shown, if the
// block is of a kind, and open.
func (m *chatModel) lastBlock(kind display.Kind) *chatBlock {
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

// addMessage adds what the conversation says or asks.
func (m *chatModel) addMessage(text string) {
	b := m.lastBlock(blockMessage)
	if b == nil {
		b = m.add(&chatBlock{kind: blockMessage})
	}
	b.text += text
	b.open, b.stale = !strings.HasSuffix(b.text, "\n"), true
}

// showEvent shows an event of a turn. An event without a display is shown by its type,
// and a private one not at all.
func (m *chatModel) showEvent(e *display.Event) {
	d, visible := e.Readable()
	switch {
	case !visible:
	case d == nil && e.Type != display.TypeTurnCompleted:
		m.add(&chatBlock{kind: display.KindStatus, text: fmt.Sprintf("%s %s", e.Type, m.front.redact(string(e.Data)))})
	case d == nil || d.Kind == display.KindInteraction: // which the question shows
	case d.Kind == display.KindText || d.Kind == display.KindReasoning:
		m.showText(d)
	case d.Kind == display.KindTool:
		m.showCall(d)
	case d.Kind == display.KindError:
		m.add(&chatBlock{kind: display.KindError, text: m.front.redact(cmp.Or(d.Text, string(d.Error)))})
	case e.Type == display.TypeAssistantReset:
		m.blocks = slices.DeleteFunc(m.blocks, func(b *chatBlock) bool {
			return b.open && b.delegate == m.delegate && (b.kind == display.KindText || b.kind == display.KindReasoning)
		})
	case e.Type == display.TypeDelegate && d.Phase != display.PhaseStarted:
		m.add(&chatBlock{kind: display.KindStatus, text: m.front.redact(statusLine(d))})
	case d.Phase == display.PhaseStarted, e.Type == display.TypeTurnWaiting, e.Type == display.TypeTurnResumed:
	default:
		m.add(&chatBlock{kind: display.KindStatus, text: "turn " + m.front.redact(statusLine(d))})
	}
}

// showText shows what a model says: the parts as they arrive, and a whole text only if
// its parts were not shown.
func (m *chatModel) showText(d *display.Display) {
	b := m.lastBlock(d.Kind)
	if d.Phase == display.PhaseDelta {
		if b == nil {
			b = m.add(&chatBlock{kind: d.Kind, open: true})
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
		m.add(&chatBlock{kind: d.Kind, text: d.Text})
	}
}

// showOutput shows the answer of a turn none of whose texts was shown.
func (m *chatModel) showOutput(text string) {
	for _, b := range slices.Backward(m.blocks) {
		if b.kind == blockPrompt {
			break
		}
		if b.kind == display.KindText && b.delegate == "" {
			return
		}
	}
	m.add(&chatBlock{kind: display.KindText, text: text})
}

// showCall shows a call, or what came of it.
func (m *chatModel) showCall(d *display.Display) {
	var b *chatBlock
	for _, other := range slices.Backward(m.blocks) {
		if other.kind == display.KindTool && other.call.Ref == d.Ref && other.open && other.delegate == m.delegate {
			b = other
			break
		}
	}
	if b == nil {
		b = m.add(&chatBlock{kind: display.KindTool, open: true})
	}
	b.call, b.stale = d, true
	switch d.Phase {
	case display.PhaseStarted:
		b.input = m.front.redact(string(d.Input))
	case display.PhaseProgress:
		b.text += m.front.redact(d.Text)
	case display.PhaseFailed:
		b.text, b.open = m.front.redact(cmp.Or(d.Text, string(d.Error))), false
	default:
		b.text, b.open = m.front.redact(string(d.Output)), false
	}
}

// addUsage adds what a turn used.
func (m *chatModel) addUsage(d *event.RunFinish) {
	m.usage.Usage.Add(d.Usage)
	m.usage.Steps += d.Steps
	if d.Cost != nil {
		if m.usage.Cost == nil {
			m.usage.Cost = &event.Cost{Currency: d.Cost.Currency}
		}
		m.usage.Cost.Amount += d.Cost.Amount
	}
}

// scroll moves what is shown by some lines.
func (m *chatModel) scroll(by int) {
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

// rows returns how many lines there are above the editor.
func (m *chatModel) rows() int { return max(m.height-len(m.editorLines())-1, 1) }

// View implements tea.Model.
func (m *chatModel) View() tea.View {
	var v tea.View
	v.AltScreen = true
	if m.front.mouse {
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
	shown = append(shown, styleFaint.Render(ansi.Truncate(oneLine(m.statusLine()), m.width, "…")))
	typed := m.editorLines()
	shown = append(shown, typed...)
	v.SetContent(strings.Join(shown, "\n"))
	row, column := m.editor.position(m.width)
	if row -= m.editor.lineCount(m.width) - len(typed); row >= 0 {
		v.Cursor = tea.NewCursor(column, rows+1+row)
	}
	return v
}

// statusLine returns what the line above the editor says.
func (m *chatModel) statusLine() string {
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
		parts = append(parts, strings.TrimPrefix(summary(&m.usage), "= "))
	}
	return strings.Join(append(parts, m.title), " · ")
}

// editorLines returns the lines of the editor that are shown: the last ones.
func (m *chatModel) editorLines() []string {
	lines := m.editor.render(m.width)
	return lines[max(len(lines)-max(m.height/3, 1), 0):]
}

// render returns the lines of a block.
func (m *chatModel) render(b *chatBlock) []string {
	if b.lines != nil && !b.stale && b.width == m.width && b.unfolded == m.unfolded {
		return b.lines
	}
	if b.width != m.width || b.rendered > len(b.text) {
		b.done, b.rendered = nil, 0
	}
	b.width, b.unfolded, b.stale = m.width, m.unfolded, false
	m.renderKind(b)
	if b.delegate != "" {
		name := styleFaint.Render(ansi.Truncate(oneLine("["+b.delegate+"]"), m.width, "…"))
		b.lines = append([]string{name}, b.lines...)
	}
	return b.lines
}

// renderKind renders the lines of a block by its kind.
func (m *chatModel) renderKind(b *chatBlock) {
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

// renderAnswer renders an answer. What comes before its last empty line outside of
// code is rendered once.
func (m *chatModel) renderAnswer(b *chatBlock) {
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
func (m *chatModel) renderCall(b *chatBlock) []string {
	head := strings.TrimSpace(b.call.Action + " " + cmp.Or(b.call.Label, b.call.Ref))
	style := styleTool
	if b.call.Phase == display.PhaseFailed {
		style = styleError
	}
	head = "● " + oneLine(m.front.redact(head))
	if !m.unfolded {
		detail := oneLine(joinParts(joinParts("", b.input), b.text))
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

// lineEditor is the text that is typed, of one line or more.
type lineEditor struct {
	text []rune
	at   int
	// masked shows a dot for each character.
	masked bool
}

// take returns the text, and leaves none.
func (e *lineEditor) take() string {
	text := string(e.text)
	e.text, e.at = nil, 0
	return text
}

// insert adds a text at the cursor.
func (e *lineEditor) insert(text string) {
	runes := []rune(text)
	e.text = slices.Insert(e.text, e.at, runes...)
	e.at += len(runes)
}

// pressKey does what a key stands for; it reports whether it stands for anything.
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

// lineCount returns how many lines of the screen the text takes.
func (e *lineEditor) lineCount(width int) int { return len(e.render(width)) }

// position returns where on the screen the cursor is.
func (e *lineEditor) position(width int) (row, column int) {
	before := lineEditor{text: e.text[:e.at], masked: e.masked}
	lines := before.render(width)
	return len(lines) - 1, lipgloss.Width(lines[len(lines)-1])
}
