package diag

import (
	"strconv"
	"strings"
)

// A path names a place in a configuration: keys joined by dots, list positions in brackets, as in
// agents.assistant.allowed_tools[0]. An empty key, or one with characters other than letters,
// digits, '_', '-', '/' and ':', is written in brackets and quotes: agents["gpt-4.1"].model_id.

// Key appends a key to a path.
func Key(path, key string) string {
	if !plainKey(key) {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// Index appends a list position to a path.
func Index(path string, i int) string {
	return path + "[" + strconv.Itoa(i) + "]"
}

// Join appends a relative path to a path.
func Join(path, rel string) string {
	switch {
	case path == "":
		return rel
	case rel == "" || rel[0] == '[':
		return path + rel
	default:
		return path + "." + rel
	}
}

func plainKey(key string) bool {
	if key == "" {
		return false
	}
	for i := range len(key) {
		c := key[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '_', c == '-', c == '/', c == ':':
		default:
			return false
		}
	}
	return true
}

// Segment is one element of a path: a key, or a list position.
type Segment struct {
	Key   string
	Index int
	// IsIndex is set for a list position, not for a key.
	IsIndex bool
}

// ParsePath splits a path into its segments; ok is false if path was not built by Key and Index.
func ParsePath(path string) (segments []Segment, ok bool) {
	for rest := path; rest != ""; {
		var segment Segment
		if segment, rest, ok = cutSegment(rest); !ok {
			return nil, false
		}
		segments = append(segments, segment)
	}
	// cutSegment is lenient: it accepts other spellings, such as a position written [01], which do
	// not round-trip.
	if FormatPath(segments) != path {
		return nil, false
	}
	return segments, true
}

// FormatPath returns the path with the given segments.
func FormatPath(segments []Segment) (path string) {
	for _, s := range segments {
		if s.IsIndex {
			path = Index(path, s.Index)
		} else {
			path = Key(path, s.Key)
		}
	}
	return path
}

// cutSegment reads the first segment of path and returns the rest.
func cutSegment(path string) (s Segment, rest string, ok bool) {
	if strings.HasPrefix(path, `["`) {
		quoted, err := strconv.QuotedPrefix(path[1:])
		if err != nil {
			return Segment{}, "", false
		}
		key, err := strconv.Unquote(quoted)
		rest, closed := strings.CutPrefix(path[1+len(quoted):], "]")
		return Segment{Key: key}, rest, err == nil && closed
	}
	if path[0] == '[' {
		digits, rest, closed := strings.Cut(path[1:], "]")
		i, err := strconv.Atoi(digits)
		return Segment{Index: i, IsIndex: true}, rest, err == nil && closed && i >= 0
	}
	key := strings.TrimPrefix(path, ".")
	if end := strings.IndexAny(key, ".["); end >= 0 {
		key, rest = key[:end], key[end:]
	}
	return Segment{Key: key}, rest, true
}

// Sentence joins a field and its problem: "name is required", but "name: unknown version". A
// problem that begins with a verb continues the sentence started by the field.
func Sentence(field, problem string) string {
	switch verb, _, _ := strings.Cut(problem, " "); verb {
	case "is", "are", "must", "has", "cannot", "may", "requires", "leads", "overlaps":
		return field + " " + problem
	}
	return field + ": " + problem
}
