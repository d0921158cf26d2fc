package turnview

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event"
	"golang.org/x/term"
)

// silence is how long a tool may run before it is shown, and how often its time is updated.
const silence = time.Second

// Screen is a run's standard error. It also shows running tools: on a terminal in an updated last
// line, elsewhere in one line per tool. A nil screen shows nothing.
type Screen struct {
	out io.Writer
	// live is set if lines can be erased, and width returns their maximum length.
	live  bool
	width func() int

	mu    sync.Mutex
	timer *time.Timer
	drawn bool
	// ready are the calls of the current answer, and running those being executed, in the order of
	// the answer.
	ready, running []runningCall
	// asked are the unanswered questions, by interaction; nothing is drawn while there are any.
	asked map[string]runningCall
	// prompted is set while the cursor is behind an unanswered question.
	prompted bool
}

// runningCall is a started tool call without a result.
type runningCall struct {
	id, name string
	since    time.Time
	// told is set once its line was written, if lines cannot be erased.
	told bool
}

// newScreen returns a screen for a standard error.
func newScreen(out io.Writer) *Screen {
	s := &Screen{out: out, width: func() int { return 0 }, asked: map[string]runningCall{}}
	if f, ok := terminal.FileOf(out); ok && terminal.Controllable(out) {
		s.live = true
		s.width = func() int {
			width, _, _ := term.GetSize(int(f.Fd())) // 0 if unknown
			return width
		}
	}
	return s
}

// Write writes to standard error and clears the drawn line first.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	if s.prompted {
		s.prompted = false
		fmt.Fprintln(s.out)
	}
	return s.out.Write(p)
}

// WriteUnescaped erases the drawn line and writes text without escapes.
func (s *Screen) WriteUnescaped(text string) error {
	s.clear()
	return terminal.WriteUnescaped(s.out, text)
}

// File returns the file that the output goes to, if any.
func (s *Screen) File() (*os.File, bool) { return terminal.FileOf(s.out) }

// SetPrompted records that a question was written or that its line has ended. While set, the next
// text begins a new line.
func (s *Screen) SetPrompted(prompted bool) {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.prompted = prompted
	}
}

// clear erases the drawn line for another writer to the same terminal.
func (s *Screen) clear() {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.erase()
	}
}

// Emit records the calls that an event starts or ends.
func (s *Screen) Emit(data event.Data) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch d := data.(type) {
	case *event.ToolCallReady:
		s.ready = append(s.ready, runningCall{id: d.ID, name: d.Name})
	case *event.StreamReset:
		s.ready = nil
	case *event.ToolCallCancel:
		s.remove(d.ID)
	case *event.InferenceComplete:
		for _, c := range s.ready {
			s.begin(c)
		}
		s.ready = nil
	case *event.ToolCallDone:
		s.remove(d.ID)
	case *event.InteractionRequest:
		s.remove(d.CallID)
		s.asked[d.ID] = runningCall{id: d.CallID, name: d.Tool}
	case *event.ToolCallResumed:
		for ticket, c := range s.asked {
			if d.TargetID == ticket || d.TargetID == c.id {
				delete(s.asked, ticket)
				s.begin(c)
			}
		}
	case *event.RunFinish:
		s.ready, s.running = nil, nil
	}
	s.schedule()
}

// begin records that a call has started.
func (s *Screen) begin(c runningCall) {
	c.since = time.Now()
	s.running = append(s.running, c)
}

// remove records that a call has ended.
func (s *Screen) remove(id string) {
	for _, list := range []*[]runningCall{&s.ready, &s.running} {
		for i, c := range *list {
			if c.id == id {
				*list = append((*list)[:i:i], (*list)[i+1:]...)
				break
			}
		}
	}
}

// Close removes the drawn line.
func (s *Screen) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready, s.running, s.asked = nil, nil, map[string]runningCall{}
	s.schedule()
}

// schedule sets the timer for the next update, and erases outdated output.
func (s *Screen) schedule() {
	if len(s.running) == 0 || len(s.asked) > 0 {
		s.erase()
		if s.timer != nil {
			s.timer.Stop()
		}
		return
	}
	first := s.running[0]
	if first.told {
		return
	}
	wait := silence - time.Since(first.since)%silence
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.tick)
		return
	}
	s.timer.Reset(wait)
}

// tick shows the running call.
func (s *Screen) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) > 0 && len(s.asked) == 0 {
		s.draw(&s.running[0], len(s.running)-1)
	}
	s.schedule()
}

// draw shows a call, and how many more have no result yet.
func (s *Screen) draw(c *runningCall, more int) {
	elapsed := time.Since(c.since).Truncate(time.Second)
	if elapsed < silence {
		return
	}
	line := "… " + terminal.OneLine(c.name) + " is running"
	if !s.live {
		if !c.told {
			fmt.Fprintln(s.out, line)
		}
		c.told = true
		return
	}
	line += fmt.Sprintf(" (%s)", elapsed)
	if more > 0 {
		line += fmt.Sprintf(", with %s to come", terminal.Count(more, "more result", "more results"))
	}
	if runes, width := []rune(line), s.width(); width > 1 && len(runes) >= width {
		line = string(runes[:width-1]) // a longer one would not be erased as a whole
	}
	s.erase()
	fmt.Fprint(s.out, line)
	s.drawn = true
}

// erase erases the drawn line.
func (s *Screen) erase() {
	if s.drawn {
		_ = terminal.WriteUnescaped(s.out, "\r\x1b[K") // the next write fails too
		s.drawn = false
	}
}
