package recorded_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/recorded"
)

func TestALineThatIsNotARecordingIsNamed(t *testing.T) {
	t.Parallel()
	const request = `"request":{"model":"m","messages":[]}`
	for _, c := range []struct{ line, want string }{
		{`{`, "line 3: unexpected EOF"},
		{`[]`, "line 3: json: cannot unmarshal array into Go value of type recorded.recording"},
		{`{` + request + `,"answer":1}`, `line 3: json: unknown field "answer"`},
		{`{` + request + `,"events":[{"type":"finish"}]} {}`, "line 3: more than one JSON object"},
		{`{` + request + `}`, "line 3: the answer has neither a finish nor an error"},
		{`{` + request + `,"events":[{"type":"finish"}],"error":{"class":"provider"}}`, "line 3: the answer has both a finish and an error"},
		{`{` + request + `,"events":[{"type":"song"}]}`, `line 3: events[0]: unknown event type "song"`},
		{`{` + request + `,"events":[{"type":"retry"}]}`, `line 3: events[0]: an event of type "retry" needs the field retry`},
		{
			`{` + request + `,"events":[{"type":"finish"},{"type":"text"}]}`,
			"line 3: events[1]: provider: the stream is malformed: an event follows the end of the answer",
		},
	} {
		file := `{` + request + `,"events":[{"type":"finish"}]}` + "\n\n" + c.line
		_, err := recorded.NewPlayer(bytes.NewReader([]byte(file)))
		wrong, ok := errors.AsType[*recorded.FormatError](err)
		if !ok || wrong.Line != 3 || wrong.Error() != c.want {
			t.Errorf("%s: it fails with\n%v, want\n%s", c.line, err, c.want)
		}
	}
}

// FuzzDecode reads any bytes. Whatever is read is played, recorded again, and read with
// the same events.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"request":{"model":"m","messages":[{"role":"user","parts":[{"type":"text","text":"Hi"}]}]},"events":[{"type":"text","delta":"Hello."},{"type":"finish","reason":"stop"}]}`))
	f.Add([]byte(`{"request":{"model":"m","messages":[]},"error":{"class":"rate_limited","retry_after_ms":5}}`))
	f.Add([]byte(`{"request":{"model":"m","messages":null,"tools":[{"name":"x","parameters":{"b":1,"a":2}}]},"events":[{"type":"text","delta_bytes":"ww=="},{"type":"finish"}]}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := recorded.NewPlayer(bytes.NewReader(file)); err != nil {
			if _, ok := errors.AsType[*recorded.FormatError](err); !ok {
				t.Errorf("it fails with %T: %v", err, err)
			}
			return
		}
		again := recorded.Reencode(t, file)
		if twice := recorded.Reencode(t, again); !bytes.Equal(again, twice) {
			t.Errorf("read and written again\n%s\nbecame\n%s", again, twice)
		}
		p, err := recorded.NewPlayer(bytes.NewReader(again))
		if err != nil {
			t.Fatalf("%v\n%s", err, again)
		}
		_, err = take(t.Context(), p, &model.Request{Model: "another"})
		if _, ok := errors.AsType[*model.Error](err); err != nil && !ok {
			t.Errorf("a request fails with %T", err)
		}
	})
}
