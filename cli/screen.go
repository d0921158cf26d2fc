package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"golang.org/x/term"
)

// silence is how long a tool may run before a person is told that it does, and
// how often the time is updated.
const silence = time.Second

// screen is the standard error of a run. It also shows which tool runs: on a terminal in an
// updated last line, elsewhere in one line per tool. A nil screen shows nothing.
type screen struct {
	out io.Writer
	// live is set when lines can be erased, and width returns how long they may be.
	live  bool
	width func() int

	mu    sync.Mutex
	timer *time.Timer
	drawn bool
	// ready are the calls of the answer that is under way, and running those that
	// are made, in the order of the answer.
	ready, running []runningCall
	// asked are the questions that nobody has answered, by their interactions; nothing
	// is drawn while there are any.
	asked map[string]runningCall
	// prompted is set while the cursor is behind a question that a person has not answered.
	prompted bool
}

// runningCall is a tool call that was begun and has no result yet.
type runningCall struct {
	id, name string
	since    time.Time
	// told is set when its line was written, where lines cannot be erased.
	told bool
}

// newScreen returns what shows tools that run on a standard error.
func newScreen(out io.Writer) *screen {
	s := &screen{out: out, width: func() int { return 0 }, asked: map[string]runningCall{}}
	if f, ok := fileOf(out); ok && controllable(out) {
		s.live = true
		s.width = func() int {
			width, _, _ := term.GetSize(int(f.Fd())) // 0 where it is not known
			return width
		}
	}
	return s
}

// Write writes to standard error and clears the drawn line first.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	if s.prompted {
		s.prompted = false
		fmt.Fprintln(s.out)
	}
	return s.out.Write(p)
}

// setPrompted notes that a question was written, or that its line has ended. The next text
// begins a new line otherwise.
func (s *screen) setPrompted(prompted bool) {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.prompted = prompted
	}
}

// clear erases the line that is drawn, for who writes to the same terminal.
func (s *screen) clear() {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.erase()
	}
}

// Emit takes note of the calls that an event begins or ends.
func (s *screen) Emit(data event.Data) {
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

// begin notes that a call is made from now on.
func (s *screen) begin(c runningCall) {
	c.since = time.Now()
	s.running = append(s.running, c)
}

// remove notes that a call is not made any more.
func (s *screen) remove(id string) {
	for _, list := range []*[]runningCall{&s.ready, &s.running} {
		for i, c := range *list {
			if c.id == id {
				*list = append((*list)[:i:i], (*list)[i+1:]...)
				break
			}
		}
	}
}

// close removes the drawn line.
func (s *screen) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready, s.running, s.asked = nil, nil, map[string]runningCall{}
	s.schedule()
}

// schedule sets the timer to when there is something new to show, and erases what
// does not hold any more.
func (s *screen) schedule() {
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

// tick shows the call that runs.
func (s *screen) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) > 0 && len(s.asked) == 0 {
		s.draw(&s.running[0], len(s.running)-1)
	}
	s.schedule()
}

// draw shows a call, and how many more have no result yet.
func (s *screen) draw(c *runningCall, more int) {
	elapsed := time.Since(c.since).Truncate(time.Second)
	if elapsed < silence {
		return
	}
	line := "… " + oneLine(c.name) + " is running"
	if !s.live {
		if !c.told {
			fmt.Fprintln(s.out, line)
		}
		c.told = true
		return
	}
	line += fmt.Sprintf(" (%s)", elapsed)
	if more > 0 {
		line += fmt.Sprintf(", with %s to come", count(more, "more result", "more results"))
	}
	if runes, width := []rune(line), s.width(); width > 1 && len(runes) >= width {
		line = string(runes[:width-1]) // a longer one would not be erased as a whole
	}
	s.erase()
	fmt.Fprint(s.out, line)
	s.drawn = true
}

// erase erases the line that is drawn.
func (s *screen) erase() {
	if s.drawn {
		_ = writeUnescaped(s.out, "\r\x1b[K") // the next write fails as well
		s.drawn = false
	}
}
