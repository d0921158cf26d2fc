package diag

import (
	"strconv"
	"strings"
)

// A path names a place in a configuration: keys joined by dots, list positions
// in brackets, as in agents.assistant.allowed_tools[0]. A key that is not made
// of letters, digits, '_', '-', '/' and ':' is written in brackets and quotes:
// agents["gpt-4.1"].model_id.

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
	// IsIndex tells a list position from a key.
	IsIndex bool
}

// ParsePath splits a path into its segments; ok is false when path was not
// built by Key and Index.
func ParsePath(path string) (segments []Segment, ok bool) {
	for path != "" {
		switch {
		case strings.HasPrefix(path, `["`):
			quoted, err := strconv.QuotedPrefix(path[1:])
			if err != nil || !strings.HasPrefix(path[1+len(quoted):], "]") {
				return nil, false
			}
			key, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, false
			}
			segments = append(segments, Segment{Key: key})
			path = path[len(quoted)+2:]
		case path[0] == '[':
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return nil, false
			}
			i, err := strconv.Atoi(path[1:end])
			if err != nil || i < 0 {
				return nil, false
			}
			segments = append(segments, Segment{Index: i, IsIndex: true})
			path = path[end+1:]
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			if end == 0 {
				return nil, false
			}
			segments = append(segments, Segment{Key: path[:end]})
			path = path[end:]
		}
		if strings.HasPrefix(path, ".") {
			if path = path[1:]; path == "" || path[0] == '.' || path[0] == '[' {
				return nil, false
			}
		}
	}
	return segments, true
}
