// Package terminal reads from terminals and writes to them. Text of others never controls the
// terminal.
package terminal

import (
	"cmp"
	"fmt"
	"io"
)

// DefaultName is the default name of the command.
const DefaultName = "runtime"

// Streams are a command's input and output, and its name in messages.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Name is empty for the default.
	Name string
}

// Command returns the name of the command.
func (s *Streams) Command() string { return cmp.Or(s.Name, DefaultName) }

// PrintErrorf writes an error line that starts with the command's name.
func (s *Streams) PrintErrorf(format string, args ...any) {
	fmt.Fprintf(s.Err, s.Command()+": "+format+"\n", args...)
}

// Printf writes text.
func (s *Streams) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(s.Out, format, args...)
	return err
}

// resetSequence ends colors, hidden text and other character sets.
const resetSequence = "\x1b[0m\x1b(B\x0f"

// Prompt asks for input. On a terminal it first resets attributes that another program, such as a
// tool, may have set.
func (s *Streams) Prompt(text string) {
	if Controllable(s.Err) {
		_ = WriteUnescaped(s.Err, resetSequence) // then writing the text fails too
	}
	fmt.Fprint(s.Err, text)
}
