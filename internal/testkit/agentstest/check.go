package agentstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/agentruntime/agentruntime/agents/wire"
)

func encode(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage(`"` + err.Error() + `"`)
	}
	return raw
}

// contains reports whether a JSON value includes another one: the members of its objects, and the
// elements of its lists in order.
func contains(got, want json.RawMessage) bool {
	var have, need any
	if json.Unmarshal(got, &have) != nil || json.Unmarshal(want, &need) != nil {
		return false
	}
	return includes(have, need)
}

func includes(have, need any) bool {
	switch need := need.(type) {
	case map[string]any:
		object, ok := have.(map[string]any)
		for name, value := range need {
			ok = ok && includes(object[name], value)
		}
		return ok
	case []any:
		list, ok := have.([]any)
		for _, value := range need {
			for len(list) > 0 && !includes(list[0], value) {
				list = list[1:]
			}
			if len(list) == 0 {
				return false
			}
			list = list[1:]
		}
		return ok
	default:
		return reflect.DeepEqual(have, need)
	}
}

// checkError compares an error. Over HTTP a rejection has only the status code, which some statuses
// share.
func checkError(err error, want *wire.Error, byCode bool) error {
	got, ok := errors.AsType[*wire.Error](err)
	same := ok && (got.Status == want.Status || byCode && got.Status.HTTP() == want.Status.HTTP())
	if !same || !strings.Contains(got.Message, want.Message) {
		return fmt.Errorf("got error %w, want %w", err, want)
	}
	return nil
}

// checkChunks compares chunks. The model here always streams: if a case has no stream chunks, the
// pieces of its programmed answers precede the expected chunks.
func (r *run) checkChunks(s *Step, chunks []*wire.Chunk) error {
	var said []wire.Part
	var list []*wire.Chunk
	for _, chunk := range chunks {
		if m := chunk.ModelChunk; m != nil && m.Role == wire.RoleModel && len(s.StreamChunks) == 0 {
			said = append(said, m.Content...)
		} else {
			list = append(list, chunk)
		}
	}
	var programmed []wire.Part
	for i := range s.ModelResponses {
		programmed = append(programmed, s.ModelResponses[i].Message.Content...)
	}
	if len(said) > 0 && !contains(encode(said), encode(programmed)) {
		return fmt.Errorf("the model streamed %s, want %s", encode(said), encode(programmed))
	}
	if len(list) != len(s.ExpectChunks) {
		return fmt.Errorf("got %d chunks, want %d: %s", len(list), len(s.ExpectChunks), encode(list))
	}
	for i, chunk := range list {
		if !contains(encode(chunk), r.fill(s.ExpectChunks[i])) {
			return fmt.Errorf("chunk %d is %s, want %s", i+1, encode(chunk), s.ExpectChunks[i])
		}
	}
	return nil
}

// checkOutput compares an output.
func (r *run) checkOutput(got *wire.Output, want *Expectation) error {
	var errs []error
	expect := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New(what))
		}
	}
	expect(want.Message == nil || contains(encode(got.Message), r.fill(want.Message)), "another message")
	expect(want.FinishReason == "" || string(got.FinishReason) == want.FinishReason, "another finishReason than "+want.FinishReason)
	expect(want.StateContains == nil || contains(encode(got.State), r.fill(want.StateContains)), "another state than "+string(want.StateContains))
	expect(want.ArtifactsContain == nil || contains(encode(got.Artifacts), r.fill(want.ArtifactsContain)), "other artifacts than "+string(want.ArtifactsContain))
	expect(!want.HasSessionID || got.SessionID != "", "no sessionId")
	expect(!want.HasSnapshotID || got.SnapshotID != "", "no snapshotId")
	return errors.Join(append(errs, checkErrorText(got.Error, want))...)
}

// checkState compares a snapshot.
func (r *run) checkState(got *wire.Snapshot, want *Expectation) error {
	if want == nil {
		return nil
	}
	var errs []error
	expect := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New(what))
		}
	}
	expect(want.Status == "" || string(got.Status) == want.Status, "another status than "+want.Status)
	expect(want.FinishReason == "" || string(got.FinishReason) == want.FinishReason, "another finishReason than "+want.FinishReason)
	expect(want.ParentID == "" || got.ParentID == r.fillText(want.ParentID), "another parentId than "+r.fillText(want.ParentID))
	expect(!want.HasSessionID || got.SessionID != "", "no sessionId")
	expect(want.StateContains == nil || contains(encode(got.State), r.fill(want.StateContains)), "another state than "+string(want.StateContains))
	return errors.Join(append(errs, checkErrorText(got.Error, want))...)
}

// checkErrorText compares the error of an output or snapshot.
func checkErrorText(got *wire.Error, want *Expectation) error {
	for field, text := range want.ErrorContains {
		switch {
		case got == nil:
			return errors.New("no error")
		case field == "status" && string(got.Status) != text, field == "message" && !strings.Contains(got.Message, text):
			return fmt.Errorf("the error is %w, want %s %q", got, field, text)
		}
	}
	return nil
}
