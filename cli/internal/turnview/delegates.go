package turnview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event"
)

// Delegates holds a view for each delegate of a turn. A view's lines begin with the names of
// the agents that led to it, such as "[clerk/intern] ". Delegates with the same name are numbered
// from the second one on.
type Delegates[V any] struct {
	// Open returns a new view that writes to out.
	Open func(out io.Writer) V
	out  io.Writer

	byPath map[string]*Delegate[V]
	names  map[string]int
}

// Delegate is the view of one delegate.
type Delegate[V any] struct {
	// Name is the name of the delegate, and Shown shows its events.
	Name  string
	Shown V
	lines *prefixWriter
}

// View returns the view for a record of a delegate.
func (v *Delegates[V]) View(record *event.Record) *Delegate[V] {
	key := strings.Join(record.Path, "\x00")
	if found, ok := v.byPath[key]; ok {
		return found
	}
	last := len(record.Path) - 1
	name := record.Path[last] // unless the log says more
	var start event.RunStart
	if record.Type == event.TypeRunStart && json.Unmarshal(record.Data, &start) == nil {
		name = start.AgentID
	}
	if above, ok := v.byPath[strings.Join(record.Path[:last], "\x00")]; ok {
		name = above.Name + "/" + name
	}
	if v.byPath == nil {
		v.byPath, v.names = map[string]*Delegate[V]{}, map[string]int{}
	}
	if v.names[name]++; v.names[name] > 1 {
		name = fmt.Sprintf("%s#%d", name, v.names[name])
	}
	lines := &prefixWriter{out: v.out, prefix: "[" + terminal.OneLine(name) + "] "}
	made := &Delegate[V]{Name: name, Shown: v.Open(lines), lines: lines}
	v.byPath[key] = made
	return made
}

// flush writes the incomplete lines of all views.
func (v *Delegates[V]) flush() (err error) {
	for _, view := range v.byPath {
		if failed := view.lines.flush(); err == nil {
			err = failed
		}
	}
	return err
}

// prefixWriter writes whole lines, each after a prefix.
type prefixWriter struct {
	out    io.Writer
	prefix string
	line   []byte
}

// Write writes the lines that p completes.
func (w *prefixWriter) Write(p []byte) (int, error) {
	w.line = append(w.line, p...)
	for {
		end := bytes.IndexByte(w.line, '\n')
		if end < 0 {
			return len(p), nil
		}
		line := w.prefix + string(w.line[:end+1])
		w.line = w.line[end+1:]
		if _, err := io.WriteString(w.out, line); err != nil {
			return 0, err
		}
	}
}

// flush writes an unfinished line.
func (w *prefixWriter) flush() error {
	if len(w.line) == 0 {
		return nil
	}
	_, err := w.Write([]byte("\n"))
	return err
}
