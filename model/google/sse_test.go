package google

import (
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// TestEventReader checks what counts as the data of an event.
func TestEventReader(t *testing.T) {
	for stream, want := range map[string][]string{
		"":                                   nil,
		"\n\n":                               nil,
		"data: 1\n\ndata:2\n\n":              {" 1", "2"},
		"data: 1\r\n\r\ndata: 2\r\n\r\n":     {" 1", " 2"},
		"event: x\nid: 7\nretry: 1\n: c\n\n": nil,
		"event: x\ndata: 1\n\n":              {" 1"},
		"data: [1,\ndata: 2]\n\n":            {" [1, 2]"},
		"data: 1\n\n{\n \"a\": 1\n}\n":       {" 1", "{ \"a\": 1}"},
		"data: 1":                            {" 1"},
		"data: 1\n":                          {" 1"},
		"data: {\"a\":":                      nil,
		"data: 1\n\ndat":                     {" 1"},
	} {
		for name, r := range map[string]*eventReader{
			"whole":        newEventReader(strings.NewReader(stream)),
			"byte by byte": newEventReader(iotest.OneByteReader(strings.NewReader(stream))),
		} {
			var got []string
			for data := r.next(); data != nil; data = r.next() {
				got = append(got, string(data))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q has, %s, the events %q, want %q", stream, name, got, want)
			}
		}
	}
}

// TestLongLines checks that a line may be longer than a buffer.
func TestLongLines(t *testing.T) {
	long := `"` + strings.Repeat("x", 100<<10) + `"`
	r := newEventReader(strings.NewReader("data:" + long + "\n\ndata:" + long))
	for i := range 2 {
		if got := string(r.next()); got != long {
			t.Errorf("event %d has %d bytes, want %d", i, len(got), len(long))
		}
	}
	if r.next() != nil {
		t.Error("there is a third event")
	}
}
