package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether in is a terminal.
func IsTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Controllable reports whether w is a terminal that supports control sequences.
func Controllable(w io.Writer) bool {
	f, ok := FileOf(w)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Colored reports whether w is a terminal that supports color.
func Colored(w io.Writer) bool {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	f, ok := FileOf(w)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// FileOf returns the file that a command's output goes to, if any.
func FileOf(w io.Writer) (*os.File, bool) {
	if w, ok := w.(terminalWriter); ok {
		return w.File()
	}
	f, ok := w.(*os.File)
	return f, ok
}

// WriteUnescaped writes the program's own control sequences, or text whose foreign parts are
// already escaped.
func WriteUnescaped(w io.Writer, text string) error {
	if w, ok := w.(terminalWriter); ok {
		return w.WriteUnescaped(text)
	}
	_, err := io.WriteString(w, text)
	return err
}

// terminalWriter is a writer in front of a command's output.
type terminalWriter interface {
	io.Writer
	// WriteUnescaped writes text whose control sequences take effect.
	WriteUnescaped(text string) error
	// File returns the file that the output goes to, if any.
	File() (*os.File, bool)
}
