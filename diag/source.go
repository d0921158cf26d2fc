package diag

import "bytes"

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

// splitLines splits a file into lines like a YAML parser, because spans come from one: a line ends
// at LF, CR LF, CR, NEL, LS or PS, and a byte order mark is not part of the first line.
func splitLines(data []byte) []string {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) == 0 {
		return nil
	}
	var lines []string
	for {
		i, size := nextBreak(data)
		lines = append(lines, string(data[:i]))
		if size == 0 {
			return lines
		}
		data = data[i+size:]
	}
}

// nextBreak finds the first line break; its size is 0 if absent.
func nextBreak(data []byte) (i, size int) {
	for i := range data {
		switch data[i] {
		case '\n':
			return i, 1
		case '\r':
			if bytes.HasPrefix(data[i:], []byte("\r\n")) {
				return i, 2
			}
			return i, 1
		case 0xC2:
			if bytes.HasPrefix(data[i:], []byte("\u0085")) {
				return i, 2
			}
		case 0xE2:
			if bytes.HasPrefix(data[i:], []byte("\u2028")) || bytes.HasPrefix(data[i:], []byte("\u2029")) {
				return i, 3
			}
		}
	}
	return len(data), 0
}
