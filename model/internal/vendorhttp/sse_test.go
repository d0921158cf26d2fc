package vendorhttp

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// readEvents returns the events of a stream, each as name and data, and the error that ended it.
func readEvents(r io.Reader) (events []string, err error) {
	return readAll(newEventReader(r, Framing{}))
}

func readAll(s *eventReader) (events []string, err error) {
	for s.next() {
		events = append(events, string(s.event.Name)+"="+string(s.event.Data))
	}
	return events, s.err
}

// TestServerEvents checks what counts as an event.
func TestServerEvents(t *testing.T) {
	long := strings.Repeat("x", 3*readSize)
	for name, tt := range map[string]struct {
		stream string
		want   []string
	}{
		"plain":                  {"data: 1\n\n", []string{"=1"}},
		"no space, CRLF":         {"event:a\r\ndata:1\r\n\r\n", []string{"a=1"}},
		"one space is dropped":   {"data:  1\n\n", []string{"= 1"}},
		"several lines":          {"data: 1\ndata:\ndata: 2\n\n", []string{"=1\n\n2"}},
		"comments, other fields": {": hi\nid: 7\nretry: 1\ndata: 1\n:\n\n", []string{"=1"}},
		"blank lines":            {"\n\n\ndata: 1\n\n\n\ndata: 2\n\n", []string{"=1", "=2"}},
		"no data":                {"event: a\n\ndata: 1\n\n", []string{"=1"}},
		"empty data":             {"event: a\ndata:\n\ndata: 1\n\n", []string{"=1"}},
		"byte order mark":        {"\xef\xbb\xbfdata: 1\n\n", []string{"=1"}},
		"document":               {"\xef\xbb\xbf\n {\"a\":\n1}\n", []string{"={\"a\":\n1}"}},
		"documents in an array":  {"[{\"a\":1},\n{\"a\":2}]", []string{`={"a":1}`, `={"a":2}`}},
		"half a document":        {"{\"a\":", nil},
		"split character":        {`data: "a\ud83d"` + "\n\n" + `data: {"x": 1}` + "\n\n" + `data: "\uDE00b"` + "\n\n", []string{`="a"`, `={"x": 1}`, `="\ud83d\uDE00b"`}},
		"whole character":        {`data: "a\ud83d\ude00"` + "\n\n", []string{`="a\ud83d\ude00"`}},
		"escaped backslash":      {`data: "a\\ud83d"` + "\n\n", []string{`="a\\ud83d"`}},
		"the last name counts":   {"event: a\nevent: b\ndata: 1\n\n", []string{"b=1"}},
		"an error field":         {"error: {\"code\":500}\n\n", []string{`error={"code":500}`}},
		"long lines":             {"data: " + long + "\n\ndata: 1\n\n", []string{"=" + long, "=1"}},
		"no blank line at last":  {"data: {\"a\":1}\n", []string{`={"a":1}`}},
		"no end of line at last": {"data: {\"a\":1}", []string{`={"a":1}`}},
		"the mark at last":       {"data: [DONE]", []string{"=[DONE]"}},
		"half an event":          {"data: 1\n\ndata: {\"a\":", []string{"=1"}},
		"nothing":                {"", nil},

		"single line ends":             {"data: {\"a\":1}\ndata: {\"a\":2}\ndata: [done]\n", []string{`={"a":1}`, `={"a":2}`, "=[done]"}},
		"single line ends and names":   {"event: a\ndata: {}\nevent: b\ndata: {\"a\":2}\n", []string{"a={}", `b={"a":2}`}},
		"a name after its data":        {"data: {}\nevent: a\n\n", []string{"a={}"}},
		"carriage returns":             {"event: a\rdata: 1\r\rdata: 2\r\r", []string{"a=1", "=2"}},
		"a byte order mark in data":    {"data: \xef\xbb\xbf{}\n\n\xef\xbb\xbfdata: 1\n\n", []string{"={}", "=1"}},
		"data twice":                   {"data: data: 1\n\n", []string{"=1"}},
		"lines of JSON":                {"{\"a\":1}\n{\"a\":\n2}\r\n: ping\ndata: {\"a\":3}\n[DONE]\n", []string{`={"a":1}`, "={\"a\":\n2}", `={"a":3}`, "=[DONE]"}},
		"JSON over several lines":      {"data: {\n  \"a\": [\n    1\n  ]\n}\n\ndata: 2\n\n", []string{"={\n  \"a\": [\n    1\n  ]\n}", "=2"}},
		"an error after half a value":  {"data: {\"a\":\n{\"error\":1}\n\n", []string{"={\"a\":"}},
		"joined values":                {"data: {\"a\":\"}{\"}{}{\"b\":1}\n\n", []string{`={"a":"}{"}`, "={}", `={"b":1}`}},
		"joined events":                {"event: x\ndata: {}data: {}data: [DONE]\n\n", []string{"x={}", "={}", "=[DONE]"}},
		"joined events without an end": {"data: {\"a\":1}data:{\"b\":1}", []string{`={"a":1}`, `={"b":1}`}},
		"a text like joined events":    {"data: {\"a\":\"}data: {\"}\n\n", []string{`={"a":"}data: {"}`}},
		"half an array":                {"[{\"a\":1},{\"a\":", []string{`={"a":1}`}},
		"the mark at first":            {"[DONE]\n", nil},
	} {
		got, err := readEvents(strings.NewReader(tt.stream))
		if !slices.Equal(got, tt.want) || err != nil {
			t.Errorf("%s: got %.200q, %v; want %.200q", name, got, err, tt.want)
		}
	}
}

// TestStrictEnd checks that the last event counts only with its blank line.
func TestStrictEnd(t *testing.T) {
	for stream, want := range map[string][]string{
		"data: 1\n\ndata: 2\n":   {"=1"},
		"data: 1\n\ndata: 2\n\n": {"=1", "=2"},
	} {
		got, err := readAll(newEventReader(strings.NewReader(stream), Framing{StrictEnd: true}))
		if !slices.Equal(got, want) || err != nil {
			t.Errorf("%q has the events %q, want %q (%v)", stream, got, want, err)
		}
	}
}

// TestABrokenReadIsNoEvent checks that a partial event is discarded when the connection breaks,
// even if it looks complete.
func TestABrokenReadIsNoEvent(t *testing.T) {
	broken := errors.New("broken")
	events, err := readEvents(io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken)))
	if !slices.Equal(events, []string{"=1"}) || !errors.Is(err, broken) {
		t.Errorf("got %q, %v", events, err)
	}
}

// TestServerEventsInPieces checks that events are read as written, however the network splits them.
func TestServerEventsInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[a-z:}" ]{1,40}|(abcdefgh){600}`)
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "end")
		var stream strings.Builder
		var want []string
		for range rapid.IntRange(0, 8).Draw(t, "events") {
			name := rapid.SampledFrom([]string{"", "a", "error"}).Draw(t, "name")
			data := rapid.SliceOfN(line, 1, 3).Draw(t, "data")
			if name != "" {
				stream.WriteString("event: " + name + end)
			}
			for _, d := range data {
				stream.WriteString("data: " + d + end + ": comment" + end)
			}
			stream.WriteString(end)
			want = append(want, name+"="+strings.Join(data, "\n"))
		}
		got, err := readEvents(iotest.OneByteReader(strings.NewReader(stream.String())))
		if !slices.Equal(got, want) || err != nil {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
	})
}

// TestPlainErrors checks that JSON outside of events is data if a server may end a stream with it.
func TestPlainErrors(t *testing.T) {
	for stream, want := range map[string][]string{
		"":                                   nil,
		"\n\n":                               nil,
		"data: 1\n\ndata:2\n\n":              {"=1", "=2"},
		"data: 1\r\n\r\ndata: 2\r\n\r\n":     {"=1", "=2"},
		"event: x\nid: 7\nretry: 1\n: c\n\n": nil,
		"event: x\ndata: 1\n\n":              {"x=1"},
		"data: [1,\ndata: 2]\n\n":            {"=[1,\n2]"},
		"data: 1\n\n{\n \"a\": 1\n}\n":       {"=1", "={\n \"a\": 1\n}"},
		"data: 1":                            {"=1"},
		"data: 1\n":                          {"=1"},
		"data: {\"a\":":                      nil,
		"data: 1\n\ndat":                     {"=1"},
	} {
		for name, r := range map[string]io.Reader{
			"whole":        strings.NewReader(stream),
			"byte by byte": iotest.OneByteReader(strings.NewReader(stream)),
		} {
			got, err := readAll(newEventReader(r, Framing{PlainErrors: true}))
			if !slices.Equal(got, want) || err != nil {
				t.Errorf("%q has, %s, the events %q, want %q (%v)", stream, name, got, want, err)
			}
		}
	}
}
