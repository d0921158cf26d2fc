package recorded

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// MismatchError reports a request without a recording.
type MismatchError struct {
	// Nearest is the index of the recording whose request is most similar; -1 if there are no
	// recordings.
	Nearest int
	// Differences are the differences between the requests. If empty, the requests are equal: the
	// request was made more often than it was recorded.
	Differences []Difference
}

// Difference is one place in which a request differs from a recorded one.
type Difference struct {
	// Path is the place in the recorded request, such as messages[1].parts[0].text.
	Path string
	// Recorded and Asked are the values as JSON; empty if absent from a request.
	Recorded, Asked string
}

const (
	// maxShown bounds the differences that an error shows, and maxValue the characters
	// of each value.
	maxShown = 5
	maxValue = 80
)

// Error returns the differences, one per line.
func (e *MismatchError) Error() string {
	switch {
	case e.Nearest < 0:
		return "no request is recorded"
	case len(e.Differences) == 0:
		return "the request was asked more often than it was recorded"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "no recording of this request; it differs from recording %d:", e.Nearest+1)
	for i := range e.Differences {
		if i == maxShown {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Differences)-i)
			break
		}
		recorded, asked := clipValues(e.Differences[i].Recorded, e.Differences[i].Asked)
		fmt.Fprintf(&b, "\n  %s: recorded %s, asked %s", e.Differences[i].Path, recorded, asked)
	}
	return b.String()
}

// clipValues shortens two values to the context of their first difference.
func clipValues(a, b string) (shortA, shortB string) {
	x, y := []rune(a), []rune(b)
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	return clipAround(x, same), clipAround(y, same)
}

func clipAround(text []rune, at int) string {
	if len(text) == 0 {
		return "nothing"
	}
	from := 0
	if len(text) > maxValue {
		from = max(0, min(at-maxValue/2, len(text)-maxValue))
	}
	to := min(len(text), from+maxValue)
	out := string(text[from:to])
	if from > 0 {
		out = "…" + out
	}
	if to < len(text) {
		out += "…"
	}
	return out
}

// absent represents a value that a request does not have.
type absent struct{}

// compare appends the differences between two JSON values.
func compare(found []Difference, path string, recorded, asked any) []Difference {
	switch a := recorded.(type) {
	case map[string]any:
		if b, ok := asked.(map[string]any); ok {
			return compareObjects(found, path, a, b)
		}
	case []any:
		if b, ok := asked.([]any); ok {
			return compareLists(found, path, a, b)
		}
	default: // a scalar, null, or absent
		if recorded == asked {
			return found
		}
	}
	return append(found, Difference{Path: path, Recorded: encodeValue(recorded), Asked: encodeValue(asked)})
}

func compareObjects(found []Difference, path string, recorded, asked map[string]any) []Difference {
	keys := maps.Clone(recorded)
	maps.Copy(keys, asked)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		place := key
		if path != "" {
			place = path + "." + key
		}
		found = compare(found, place, fieldOf(recorded, key), fieldOf(asked, key))
	}
	return found
}

func fieldOf(object map[string]any, key string) any {
	if v, ok := object[key]; ok {
		return v
	}
	return absent{}
}

func compareLists(found []Difference, path string, recorded, asked []any) []Difference {
	for i := range max(len(recorded), len(asked)) {
		var a, b any = absent{}, absent{}
		if i < len(recorded) {
			a = recorded[i]
		}
		if i < len(asked) {
			b = asked[i]
		}
		found = compare(found, path+"["+strconv.Itoa(i)+"]", a, b)
	}
	return found
}

// encodeValue returns a value as JSON; empty for an absent one.
func encodeValue(v any) string {
	if v == (absent{}) {
		return ""
	}
	encoded, _ := rawjson.Marshal(v)
	return string(encoded)
}
