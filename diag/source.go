package diag

import "strings"

// sources provides the lines of files, reading and splitting each file once.
type sources struct {
	read  func(file string) []byte
	files map[string][]string
}

// lineText returns line n of a file, counted from 1 and without its line break; ok is false if the
// line is unavailable.
func (s *sources) lineText(file string, n int) (line string, ok bool) {
	if s.read == nil || file == "" {
		return "", false
	}
	lines, known := s.files[file]
	if !known {
		lines = splitLines(s.read(file))
		if s.files == nil {
			s.files = map[string][]string{}
		}
		s.files[file] = lines
	}
	if n < 1 || n > len(lines) {
		return "", false
	}
	return lines[n-1], true
}

// splitLines splits a file into the lines that spans count: a line ends at LF or CR LF. A byte
// order mark is not part of the first line.
func splitLines(data []byte) []string {
	text := strings.TrimPrefix(string(data), "\ufeff")
	if text == "" {
		return nil
	}
	return strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
}
