package event_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/event"
)

// foul are values that are not JSON, or that a reader could not decode as a part of
// an event.
var foul = map[string]string{
	"cut off":          `{"v":`,
	"no JSON":          `v: 1`,
	"two values":       `{}{}`,
	"a zero byte":      "{\"v\":\"\x00\"}",
	"invalid UTF-8":    "{\"v\":\"\xff\"}",
	"half a surrogate": `{"v":"\ud800"`,
	"too deep":         strings.Repeat("[", 9_998) + strings.Repeat("]", 9_998),
	"empty":            "",
}

// withRaw returns a copy of an event's data with every raw JSON value set to raw, and their number.
func withRaw(data event.Data, raw string) (filled event.Data, values int) {
	v := reflect.New(reflect.TypeOf(data).Elem())
	values = fillRaw(v.Elem(), json.RawMessage(raw))
	filled, _ = v.Interface().(event.Data)
	return filled, values
}

func fillRaw(v reflect.Value, raw json.RawMessage) (values int) {
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes(raw)
		return 1
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[struct{}]():
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				values += fillRaw(v.Field(i), raw)
			}
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		values = fillRaw(v.Index(0), raw)
	case v.Kind() == reflect.Map && v.Type().Elem() == reflect.TypeFor[json.RawMessage]():
		v.Set(reflect.ValueOf(map[string]json.RawMessage{"key": raw}))
		values = 1
	}
	return values
}

func TestEveryEventEncodesWhateverItsRawJSONIs(t *testing.T) {
	t.Parallel()
	covered := 0
	for _, data := range all() {
		for name, raw := range foul {
			filled, values := withRaw(data, raw)
			if values == 0 {
				continue
			}
			covered++
			if err := survives(filled); err != nil {
				t.Errorf("%s with raw JSON that is %s: %v", data.Type(), name, err)
			}
		}
	}
	if covered < 6*len(foul) {
		t.Errorf("only %d events have raw JSON", covered)
	}
}

// survives encodes an event like a log, decodes it, and encodes it again like the surfaces, inside
// other JSON.
func survives(data event.Data) error {
	record, err := event.NewRecord(event.Event{Seq: 1, TurnID: "t", Data: data})
	if err != nil {
		return err
	}
	if !utf8.Valid(record.Data) {
		return fmt.Errorf("the record is not UTF-8: %.80q", record.Data)
	}
	decoded, err := record.Event()
	if err != nil {
		return err
	}
	frame, err := json.Marshal(map[string]any{"data": []any{map[string]any{"frame": decoded}}, "record": record})
	if err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	again, err := json.Marshal(decoded)
	if err != nil {
		return err
	}
	whole, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if string(again) != string(whole) {
		return fmt.Errorf("decoded and encoded again, %.80s is %.80s", whole, again)
	}
	return json.Unmarshal(frame, new(any))
}

func TestMalformedArgumentsAreShownAsAString(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"v":`:     `"{\"v\":"`,
		`{"v":1}`:   `{"v":1}`,
		`"already"`: `"already"`,
		``:          `null`,
	} {
		record, err := event.NewRecord(event.Event{Data: &event.ToolCallReady{ID: "c", Name: "x", Arguments: json.RawMessage(raw)}})
		if err != nil {
			t.Fatal(err)
		}
		ev, err := record.Event()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(ev.Data.(*event.ToolCallReady).Arguments); got != want {
			t.Errorf("the arguments %s are read as %s, want %s", raw, got, want)
		}
	}
}
