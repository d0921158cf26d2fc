package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminal reports whether in is a terminal.
func terminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// controllable reports whether w is a terminal that supports control sequences.
func controllable(w io.Writer) bool {
	f, ok := fileOf(w)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// colored reports whether w is a terminal that supports color.
func colored(w io.Writer) bool {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	f, ok := fileOf(w)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// fileOf returns the file that a command's output goes to, if any.
func fileOf(w io.Writer) (*os.File, bool) {
	if w, ok := w.(terminalWriter); ok {
		return w.File()
	}
	f, ok := w.(*os.File)
	return f, ok
}

// writeUnescaped writes the program's own control sequences, or text whose foreign parts are
// already escaped.
func writeUnescaped(w io.Writer, text string) error {
	if w, ok := w.(terminalWriter); ok {
		return w.WriteUnescaped(text)
	}
	_, err := io.WriteString(w, text)
	return err
}
