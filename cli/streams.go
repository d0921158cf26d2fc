package cli

import (
	"cmp"
	"fmt"
	"io"
)

// defaultName is the default name of the command.
const defaultName = "runtime"

// streams are a command's input and output, and its name in messages.
type streams struct {
	in       io.Reader
	out, err io.Writer
	// name is empty for the default.
	name string
}

// command returns the name of the command.
func (s *streams) command() string { return cmp.Or(s.name, defaultName) }

// printErrorf writes an error line that starts with the command's name.
func (s *streams) printErrorf(format string, args ...any) {
	fmt.Fprintf(s.err, s.command()+": "+format+"\n", args...)
}

// printf writes text.
func (s *streams) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(s.out, format, args...)
	return err
}

// resetSequence ends colors, hidden text and other character sets.
const resetSequence = "\x1b[0m\x1b(B\x0f"

// prompt asks for input. On a terminal it first resets attributes that another program, such as a
// tool, may have set.
func (s *streams) prompt(text string) {
	if controllable(s.err) {
		_ = writeUnescaped(s.err, resetSequence) // then writing the text fails too
	}
	fmt.Fprint(s.err, text)
}
