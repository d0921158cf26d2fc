package chat

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/cli/internal/turnview"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/display"
)

// Screen shows a conversation full-screen. The conversation runs as it does without a
// screen: it reads the lines typed here, and its output becomes blocks.
type Screen struct {
	// in and out are the terminal. messages receives output while the screen is not open.
	in, out  *os.File
	messages io.Writer
	redact   func(string) string
	reader   display.Reader
	// delegates has a reader for each delegate.
	delegates turnview.Delegates[*display.Reader]
	// Mouse is set if the mouse wheel scrolls; the terminal then does not select text by mouse
	// alone.
	Mouse bool

	mu sync.Mutex
	// changes are updates that the model has yet to apply; running is set while the screen shows
	// it.
	changes []func(*screenModel)
	running bool
	program *tea.Program
}

// NewScreen returns the screen of a conversation; nil if the streams are not a terminal.
func NewScreen(s terminal.Streams) *Screen {
	in, isFile := s.In.(*os.File)
	out, _ := terminal.FileOf(s.Out)
	if !isFile || !terminal.IsTerminal(in) || !terminal.Controllable(s.Out) {
		return nil
	}
	return &Screen{in: in, out: out, messages: s.Err}
}

// changed is the message that changes are pending.
type changed struct{}

// change queues a change of the model; changes are applied in order.
func (f *Screen) change(do func(*screenModel)) {
	f.mu.Lock()
	f.changes = append(f.changes, do)
	first, program := len(f.changes) == 1, f.program
	f.mu.Unlock()
	if first && program != nil {
		program.Send(changed{})
	}
}

// takeChanges returns the pending changes.
func (f *Screen) takeChanges() []func(*screenModel) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.changes
	f.changes = nil
	return list
}

// Write shows a message.
func (f *Screen) Write(p []byte) (int, error) {
	f.mu.Lock()
	running := f.running
	f.mu.Unlock()
	if !running {
		return f.messages.Write(p)
	}
	text := string(p)
	f.change(func(m *screenModel) { m.addMessage(text) })
	return len(p), nil
}

// Begin prepares the screen for the events of another turn.
func (f *Screen) Begin() {
	f.reader = display.Reader{}
	f.delegates = turnview.Delegates[*display.Reader]{Open: func(io.Writer) *display.Reader { return new(display.Reader) }}
}

// Close ends the view of a turn.
func (f *Screen) Close() error {
	f.change(func(m *screenModel) { m.endTurn() })
	return nil
}

// Emit shows an event of a turn while it runs.
func (f *Screen) Emit(ev event.Event) {
	record, err := event.NewRecord(ev)
	if err != nil {
		fmt.Fprintf(f, "error> %s\n", err)
		return
	}
	reader, name := &f.reader, ""
	if len(record.Path) > 0 {
		view := f.delegates.View(&record)
		reader, name = view.Shown, view.Name
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
		f.change(func(m *screenModel) {
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

// readLines returns the reader of the lines that the screen sends to a channel.
func (f *Screen) readLines(lines <-chan string) *terminal.LineReader {
	return &terminal.LineReader{Read: lines, Waiting: func(waits bool) {
		f.change(func(m *screenModel) { m.setWaiting(waits) })
	}, Hide: func(secret bool) {
		f.change(func(m *screenModel) { m.editor.masked = secret })
	}}
}

// run shows a model of the screen until the conversation ends.
func (f *Screen) run(ctx context.Context, m *screenModel, converse func(context.Context) error) error {
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
