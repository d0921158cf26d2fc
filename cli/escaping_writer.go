package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
)

// escapingWriter writes text from models, tools, peers and files. It replaces every character that
// could control a terminal, hide text or reorder it with its JSON escape, even if a sequence is
// split over writes. JSON keeps its value.
type escapingWriter struct {
	out io.Writer

	mu sync.Mutex
	// held is the start of a character, or a carriage return, that the next write completes.
	held []byte
}

// newEscapingWriter returns a writer that writes the escaped text to out.
func newEscapingWriter(out io.Writer) *escapingWriter { return &escapingWriter{out: out} }

// terminalWriter is a writer in front of a command's output.
type terminalWriter interface {
	io.Writer
	// WriteUnescaped writes text whose control sequences take effect.
	WriteUnescaped(text string) error
	// File returns the file that the output goes to, if any.
	File() (*os.File, bool)
}

// Write escapes p. It is safe for concurrent use.
func (w *escapingWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	written := len(p)
	if len(w.held) > 0 {
		p = append(w.held, p...)
	}
	text, rest := appendEscaped(nil, p, false)
	w.held = bytes.Clone(rest)
	if err := w.writeRaw(text); err != nil {
		return 0, err
	}
	return written, nil
}

// flush writes the held bytes. An incomplete character becomes U+FFFD.
func (w *escapingWriter) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flushLocked()
}

// WriteUnescaped writes the held bytes, and then text without escapes.
func (w *escapingWriter) WriteUnescaped(text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.flushLocked(); err != nil {
		return err
	}
	return w.writeRaw([]byte(text))
}

// File returns the file that the output goes to, if any.
func (w *escapingWriter) File() (*os.File, bool) { return fileOf(w.out) }

func (w *escapingWriter) flushLocked() error {
	text, _ := appendEscaped(nil, w.held, true)
	w.held = nil
	return w.writeRaw(text)
}

func (w *escapingWriter) writeRaw(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	_, err := w.out.Write(text)
	return err
}

// appendEscaped appends text to dst with the escapes of escapingWriter. Unless text is
// complete, it returns the bytes at the end that more text may change.
func appendEscaped(dst, text []byte, complete bool) (escaped, rest []byte) {
	for len(text) > 0 {
		plain := bytes.IndexFunc(text, needsCare)
		if plain < 0 {
			return append(dst, text...), nil
		}
		dst, text = append(dst, text[:plain]...), text[plain:]
		r, size := utf8.DecodeRune(text)
		switch {
		case !complete && (r == '\r' && len(text) == 1 || !utf8.FullRune(text)):
			return dst, text
		case r == '\r' && bytes.HasPrefix(text, []byte("\r\n")):
			dst = append(dst, '\r')
		case r == utf8.RuneError:
			dst = utf8.AppendRune(dst, r)
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				dst = fmt.Appendf(dst, `\u%04x`, unit)
			}
		}
		text = text[size:]
	}
	return dst, nil
}

// needsCare reports whether a character may need escaping: control and format characters, line
// separators and invalid UTF-8. Joiners, which emoji and some scripts need, and visible format
// characters are safe.
func needsCare(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f
	case r == utf8.RuneError:
		return true
	case r == '\u200c' || r == '\u200d' || unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	default:
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	}
}

// escapeText escapes a text as escapingWriter does.
func escapeText(text string) string {
	if strings.IndexFunc(text, needsCare) < 0 {
		return text
	}
	escaped, _ := appendEscaped(nil, []byte(text), true)
	return string(escaped)
}

// indentRest indents the lines of an error after the first, so that foreign text cannot forge one.
func indentRest(text string) string {
	lines := strings.Split(text, "\n")
	for i := 1; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], "  ") {
			lines[i] = "  " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// oneLine escapes a text, and replaces line ends and tabs with spaces, so that it cannot
// forge a line.
func oneLine(text string) string {
	return escapeText(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text))
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

// fileOf returns the file that a command's output goes to, if any.
func fileOf(w io.Writer) (*os.File, bool) {
	if w, ok := w.(terminalWriter); ok {
		return w.File()
	}
	f, ok := w.(*os.File)
	return f, ok
}

// controllable reports whether w is a terminal that supports control sequences.
func controllable(w io.Writer) bool {
	f, ok := fileOf(w)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
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
