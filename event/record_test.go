package event_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// heads are events with unusual heads.
func heads() []event.Event {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	return []event.Event{
		{Seq: 1, Time: at, TurnID: "t1", SessionID: "s1"},
		{Seq: 1<<64 - 1, Time: at.In(time.FixedZone("", -5400)), TurnID: "t/\"1\"\\", SessionID: "<ü&\u2028\x00\xff>"},
		{},
		{Seq: 3, Time: at, TurnID: "t1", SessionID: "s1", Path: []string{"call_1", "c\"<7>"}},
	}
}

func TestARecordIsWrittenAsItsEvent(t *testing.T) {
	for _, ev := range heads() {
		for _, data := range all() {
			ev.Data = data
			want, err := json.Marshal(ev)
			if err != nil {
				t.Fatal(err)
			}
			record, err := event.NewRecord(ev)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := json.Marshal(record); err != nil || !bytes.Equal(got, want) {
				t.Errorf("the record is written as %s, %v, the event as %s", got, err, want)
			}
			if got, err := record.MarshalJSON(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("the record is %s, %v, the event %s", got, err, want)
			}
			if record.Type != data.Type() || record.Terminal() != ev.Terminal() {
				t.Errorf("the record of %s has type %s, terminal %t", data.Type(), record.Type, record.Terminal())
			}
		}
	}
}

func TestARecordIsDecodedToItsEvent(t *testing.T) {
	for _, data := range all() {
		want := event.Event{Seq: 7, Time: time.Unix(1, 2).UTC(), TurnID: "t", SessionID: "s", Data: data}
		record, err := event.NewRecord(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := record.Event()
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: %v %s", data.Type(), err, diff)
		}
		line, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err = event.Decode(line)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: %v %s", line, err, diff)
		}
	}
}

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	for _, ev := range heads() {
		ev.SessionID = strings.ToValidUTF8(ev.SessionID, "")
		for _, data := range all() {
			ev.Data = data
			line, err := json.Marshal(ev)
			if err != nil {
				t.Fatal(err)
			}
			var record event.Record
			if err := json.Unmarshal(line, &record); err != nil {
				t.Fatal(err)
			}
			if again, err := json.Marshal(record); err != nil || !bytes.Equal(again, line) {
				t.Errorf("%s is read, and written as %s, %v", line, again, err)
			}
			if record.Type != data.Type() || record.Seq != ev.Seq {
				t.Errorf("%s is read as %+v", line, record)
			}
		}
	}
	const later = `{"seq":3,"time":"2026-01-02T03:04:05Z","event_type":"of_later","turn_id":"t","z":[1.50,{"seq":9}],"a":"x"}`
	var record event.Record
	if err := json.Unmarshal([]byte(later), &record); err != nil || string(record.Data) != `{"z":[1.50,{"seq":9}],"a":"x"}` {
		t.Errorf("%s, %v", record.Data, err)
	}
	for _, wrong := range []string{`[]`, `"x"`, `7`, `{"seq":-1}`, `{"seq":1,"time":"now"}`} {
		if err := json.Unmarshal([]byte(wrong), new(event.Record)); err == nil {
			t.Errorf("%s is read as an event", wrong)
		}
	}
}

// TestEveryKindOfEventCanBeDecoded searches the source for kinds, so that it covers all.
func TestEveryKindOfEventCanBeDecoded(t *testing.T) {
	source, err := os.ReadFile("data.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\tType\w+\s+Type = "([a-z_]+)"$`).FindAllSubmatch(source, -1)
	if len(found) != kindsOfEvents {
		t.Errorf("the source has %d kinds of events, want %d", len(found), kindsOfEvents)
	}
	for _, m := range found {
		record := event.Record{Type: event.Type(m[1]), Data: json.RawMessage(`{}`)}
		ev, err := record.Event()
		if err != nil || ev.Data.Type() != record.Type {
			t.Errorf("%s is decoded to %#v, %v", m[1], ev.Data, err)
		}
	}
}

func TestWhatIsNoEventIsNotDecoded(t *testing.T) {
	for _, text := range []string{``, `null!`, `[]`, `{"seq":-1,"event_type":"text_delta"}`, `{"event_type":"step_start","step":"x"}`, `{"event_type":"tool_call_ready","arguments":1,"id":2}`} {
		if ev, err := event.Decode([]byte(text)); err == nil {
			t.Errorf("%s is decoded to %+v", text, ev)
		}
	}
	for _, text := range []string{`{}`, `{"event_type":"later"}`} {
		_, err := event.Decode([]byte(text))
		if _, ok := errors.AsType[*event.UnknownTypeError](err); !ok {
			t.Errorf("%s gives %v", text, err)
		}
	}
	if r, err := event.NewRecord(event.Event{}); err == nil {
		t.Errorf("an event without data gives %+v", r)
	}
	cost := &event.Cost{Amount: math.Inf(1)}
	if r, err := event.NewRecord(event.Event{Data: &event.RunFinish{Cost: cost}}); err == nil {
		t.Errorf("an event that has no JSON form gives %+v", r)
	}
}

// FuzzDecode decodes foreign input: it never panics, and accepted input survives encoding and
// decoding.
func FuzzDecode(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "events.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(golden) {
		f.Add(bytes.TrimSpace(line))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ev, err := event.Decode(data)
		if err != nil {
			return
		}
		once, err := ev.MarshalJSON()
		if err != nil {
			t.Fatalf("%s cannot be written again: %v", data, err)
		}
		again, err := event.Decode(once)
		if err != nil {
			t.Fatalf("%s, written as %s, cannot be decoded: %v", data, once, err)
		}
		record, err := event.NewRecord(again)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := record.MarshalJSON(); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%s becomes %s and then %s, %v", data, once, twice, err)
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	ev := event.Event{Seq: 12345, Time: time.Now(), TurnID: "0198a1b2-0000-7000-8000-000000000000", SessionID: "0198a1b2-0000-7000-8000-000000000001", Data: &event.TextDelta{Delta: "some words"}}
	record, err := event.NewRecord(ev)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = event.NewRecord(ev)
		}
	})
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = record.MarshalJSON()
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = record.Event()
		}
	})
}

// Logs from before delegates were recorded have no paths, and later logs have them: both are read.
func TestLogsOfEveryVersionAreDecoded(t *testing.T) {
	for name, want := range map[string][][]string{
		"log-2026-11-22.jsonl": {nil, nil, nil, nil},
		"log-2026-11-28.jsonl": {nil, nil, {"call_1"}, {"call_1", "call_7"}, {"call_1", "call_7"}, {"call_1"}, nil, nil},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var got [][]string
		for line := range bytes.Lines(data) {
			ev, err := event.Decode(line)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got = append(got, ev.Path)
			if last := len(got) == len(want); ev.Terminal() != last {
				t.Errorf("%s: event %d is terminal: %t", name, len(got), ev.Terminal())
			}
			record, err := event.NewRecord(ev)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := json.Marshal(record); err != nil || !bytes.Equal(again, bytes.TrimSpace(line)) {
				t.Errorf("%s is written again as %s, %v", line, again, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAPathSurvivesItsText(t *testing.T) {
	for _, path := range [][]string{nil, {"c"}, {"a", "b\"\\,]", ""}, {""}} {
		r := event.Record{Path: path}
		if got := event.ParsePath(r.PathText()); !cmp.Equal(path, got) {
			t.Errorf("%q becomes %q", path, got)
		}
	}
	for _, text := range []string{"null", "[]", "{", "call_1"} {
		if got := event.ParsePath(text); len(got) != 1 || got[0] != text {
			t.Errorf("%q is read as %q, so the event could pass for the caller's", text, got)
		}
	}
}
