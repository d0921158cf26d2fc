package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/agents/wire"
)

// TestGolden reads server messages and expects to write them unchanged, byte for byte: no number,
// null or unknown metadata key is lost.
func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		into any
		text string
	}{
		"parts": {new(wire.Message), `{"role":"model","content":[{"text":""},{"media":{"contentType":"image/png","url":"data:,"}},` +
			`{"toolRequest":{"name":"a","ref":"1","input":{"n":12345678901234567890}},"metadata":{"interrupt":true,"x":null}},` +
			`{"toolResponse":{"name":"a","output":null,"content":[{"text":"b"}]}},{"reasoning":"r","metadata":{"signature":"s"}},` +
			`{"resource":{"uri":"file:a"}},{"data":null},{"custom":{"k":1.0}},{"custom":{}}],"metadata":{"unknown":{"deep":[1e3]}}}`},
		"empty message": {new(wire.Message), `{"role":"user","content":[]}`},
		"completed": {new(wire.Snapshot), `{"snapshotId":"b","sessionId":"s","parentId":"a","createdAt":"2026-08-01T10:00:00.123456789Z",` +
			`"updatedAt":"2026-08-01T10:00:01Z","status":"completed","finishReason":"stop","state":{"sessionId":"s","messages":[{"role":"user","content":[{"text":"hi"}]}],"custom":{"n":1.50},"artifacts":[{"name":"doc","parts":[]}]}}`},
		"pending": {new(wire.Snapshot), `{"snapshotId":"b","createdAt":"2026-08-01T10:00:00Z","heartbeatAt":"2026-08-01T10:00:30Z","status":"pending","state":null}`},
		"failed":  {new(wire.Output), `{"sessionId":"s","finishReason":"failed","error":{"status":"INTERNAL","message":"internal","details":{"a":1}}}`},
		"frame":   {new(wire.Frame), `{"message":{"modelChunk":{"role":"model","index":0,"content":[{"text":"hel"}]}}}`},
		"patch":   {new(wire.Frame), `{"message":{"customPatch":[{"op":"replace","path":"","value":{"a":1}},{"op":"remove","path":"/a","value":null}]}}`},
		"turnEnd": {new(wire.Frame), `{"message":{"turnEnd":{}}}`},
		"result":  {new(wire.Reply[wire.AbortResponse]), `{"result":{"snapshotId":"a","status":"aborted"}}`},
		"about":   {new(wire.Metadata), `{"stateManagement":"client","abortable":false}`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := json.Unmarshal([]byte(c.text), c.into); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(c.into)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.text {
				t.Errorf("got  %s\nwant %s", got, c.text)
			}
		})
	}
}

func TestASnapshotWithoutAStatusIsCompleted(t *testing.T) {
	var snapshot wire.Snapshot
	if err := json.Unmarshal([]byte(`{"snapshotId":"a"}`), &snapshot); err != nil {
		t.Fatal(err)
	}
	if snapshot.Status != wire.SnapshotCompleted {
		t.Errorf("got status %q", snapshot.Status)
	}
}

func TestARemoveWritesItsValue(t *testing.T) {
	got, err := json.Marshal(wire.PatchOp{Op: "remove", Path: "/a"})
	if err != nil || string(got) != `{"op":"remove","path":"/a","value":null}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestNoInitIsAFreshOne(t *testing.T) {
	for _, raw := range []string{"", "null", " {} "} {
		init, err := wire.DecodeInit([]byte(raw))
		if err != nil || *init != (wire.Init{}) {
			t.Errorf("%q: got %+v, %v", raw, init, err)
		}
	}
}

func TestDataAndCustomAccompanyContent(t *testing.T) {
	raw := `{"message":{"role":"user","content":[{"text":"a","data":{"n":1},"custom":{"k":true}}]}}`
	input, err := wire.DecodeInput([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(input); err != nil || string(got) != raw {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestDecodingRefuses(t *testing.T) {
	decodeInit := func(raw []byte) error { _, err := wire.DecodeInit(raw); return err }
	decodeInput := func(raw []byte) error { _, err := wire.DecodeInput(raw); return err }
	decodeGet := func(raw []byte) error { _, err := wire.DecodeGetSnapshot(raw); return err }
	decodeAbort := func(raw []byte) error { _, err := wire.DecodeAbort(raw); return err }
	for _, c := range []struct {
		decode    func([]byte) error
		raw, want string
	}{
		{decodeInit, `{"sessionID":"s"}`, `init: unknown field "sessionID"`},
		{decodeInit, `{"x":1}`, `unknown field "x": its fields are sessionId, snapshotId, state`},
		{decodeInit, `[]`, "init: not a JSON object"},
		{decodeInit, `{"state":{"x":1}}`, `unknown field "x"`},
		{decodeInit, `{"sessionId":"a","sessionId":"b"}`, "sessionId"},
		{decodeInit, `{"state":{"messages":[{"role":"user","content":[{}]}]}}`, "init.state: messages[0].content[0]: the part has no content"},
		{decodeInit, `{"state":{"artifacts":[{"parts":[{"media":{"url":""}}]}]}}`, "artifacts[0].parts[0]: the media part has no url"},
		{decodeInput, ``, "data: required for a turn"},
		{decodeInput, `{} {}`, "data: not a JSON object"},
		{decodeInput, `{"detach":"yes"}`, "data: "},
		{decodeInput, `{"message":{"content":[{"text":"a","x":1}]}}`, `unknown field "x"`},
		{decodeInput, `{"message":{"content":[{"text":"a","reasoning":"b"}]}}`, "text and reasoning: set only one"},
		{decodeInput, `{"resume":{"respond":[{"toolRequest":{"name":"a"}}]}}`, "respond[0]: it has no toolResponse"},
		{decodeInput, `{"resume":{"restart":[{"text":"a"}]}}`, "restart[0]: it has no toolRequest"},
		{decodeInput, `{"resume":{"restart":[{"toolRequest":{}}]}}`, "restart[0]: the toolRequest has no name"},
		{decodeInput, `{"message":{"content":[{"toolResponse":{"name":"a","content":[{}]}}]}}`, "content: [0].toolResponse.content[0]: the part has no content"},
		{decodeGet, `{}`, "set snapshotId or sessionId"},
		{decodeGet, `{"id":"a"}`, `unknown field "id"`},
		{decodeAbort, `null`, "set snapshotId"},
		{decodeAbort, `{"sessionId":"a"}`, `unknown field "sessionId"`},
	} {
		err := c.decode([]byte(c.raw))
		var failure *wire.Error
		if !errors.As(err, &failure) || failure.Status != wire.StatusInvalidArgument || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.raw, err, c.want)
		}
	}
}

func TestStatuses(t *testing.T) {
	if got := wire.StatusFailedPrecondition.Label(); got != "failed precondition" {
		t.Errorf("got label %q", got)
	}
	for status, want := range map[wire.Status]int{
		wire.StatusOK: 200, wire.StatusCanceled: 499, wire.StatusInvalidArgument: 400, wire.StatusFailedPrecondition: 400,
		wire.StatusOutOfRange: 400, wire.StatusUnauthenticated: 401, wire.StatusPermissionDenied: 403, wire.StatusNotFound: 404,
		wire.StatusAlreadyExists: 409, wire.StatusAborted: 409, wire.StatusResourceExhausted: 429, wire.StatusUnimplemented: 501,
		wire.StatusUnavailable: 503, wire.StatusDeadlineExceeded: 504, wire.StatusUnknown: 500, wire.StatusInternal: 500,
		wire.StatusDataLoss: 500, "": 500,
	} {
		if got := status.HTTP(); got != want {
			t.Errorf("%s: got %d, want %d", status, got, want)
		}
	}
}

// FuzzDecode checks that a decoded value survives encoding and decoding unchanged.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"message":{"role":"user","content":[{"text":"hi","metadata":{"a":1.0}}]},"detach":true}`))
	f.Add([]byte(`{"resume":{"respond":[{"toolResponse":{"name":"a","output":null}}],"restart":[{"toolRequest":{"name":"b"}}]}}`))
	f.Add([]byte(`{"sessionId":"s","state":{"messages":[{"content":[{"data":null}]}],"custom":[1],"artifacts":[{"parts":[]}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if init, err := wire.DecodeInit(raw); err == nil {
			compareTwice(t, init, func(text []byte) (any, error) { return wire.DecodeInit(text) })
		}
		if input, err := wire.DecodeInput(raw); err == nil {
			compareTwice(t, input, func(text []byte) (any, error) { return wire.DecodeInput(text) })
		}
	})
}

// compareTwice encodes a value, decodes the result and encodes it again.
func compareTwice(t *testing.T, value any, decode func([]byte) (any, error)) {
	t.Helper()
	first, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	again, err := decode(first)
	if err != nil {
		t.Fatalf("decode %s: %v", first, err)
	}
	second, err := json.Marshal(again)
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("got %s, %v\nwant %s", second, err, first)
	}
}
