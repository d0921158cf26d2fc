package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// DecodeInit decodes an Init. Empty input, null and {} all decode to the zero value.
func DecodeInit(raw []byte) (*Init, error) {
	init := new(Init)
	if isAbsent(raw) {
		return init, nil
	}
	if err := decodeStrictly(raw, init, "sessionId", "snapshotId", "state"); err != nil {
		return nil, invalid("init", err)
	}
	if init.State != nil {
		if err := checkState(init.State); err != nil {
			return nil, invalid("init.state", err)
		}
	}
	return init, nil
}

// DecodeInput decodes an Input and checks its parts. The turn decides whether the agent accepts
// them.
func DecodeInput(raw []byte) (*Input, error) {
	if isAbsent(raw) {
		return nil, invalid("data", errors.New("required for a turn"))
	}
	input := new(Input)
	if err := decodeStrictly(raw, input, "message", "resume", "detach"); err != nil {
		return nil, invalid("data", err)
	}
	if input.Message != nil {
		if err := checkParts(input.Message.Content); err != nil {
			return nil, invalid("data.message.content", err)
		}
	}
	if input.Resume != nil {
		if err := checkResume(input.Resume); err != nil {
			return nil, invalid("data.resume", err)
		}
	}
	return input, nil
}

// DecodeGetSnapshot decodes a GetSnapshotRequest, which requires one of its ids.
func DecodeGetSnapshot(raw []byte) (*GetSnapshotRequest, error) {
	request := new(GetSnapshotRequest)
	if !isAbsent(raw) {
		if err := decodeStrictly(raw, request, "snapshotId", "sessionId"); err != nil {
			return nil, invalid("data", err)
		}
	}
	if request.SnapshotID == "" && request.SessionID == "" {
		return nil, invalid("data", errors.New("set snapshotId or sessionId"))
	}
	return request, nil
}

// DecodeAbort decodes an AbortRequest, which requires its id.
func DecodeAbort(raw []byte) (*AbortRequest, error) {
	request := new(AbortRequest)
	if !isAbsent(raw) {
		if err := decodeStrictly(raw, request, "snapshotId"); err != nil {
			return nil, invalid("data", err)
		}
	}
	if request.SnapshotID == "" {
		return nil, invalid("data", errors.New("set snapshotId"))
	}
	return request, nil
}

// isAbsent reports whether a value is missing or null.
func isAbsent(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// invalid returns the error for an invalid part of a request.
func invalid(where string, err error) *Error {
	return &Error{Status: StatusInvalidArgument, Message: where + ": " + err.Error()}
}

// decodeStrictly decodes the single JSON object in raw. Unknown fields are rejected at every depth;
// fields are the top-level names, which encoding/json alone would also match in another case.
func decodeStrictly(raw []byte, into any, fields ...string) error {
	if err := rawjson.DuplicateKeys(raw); err != nil {
		return err
	}
	var names map[string]json.RawMessage
	if err := json.Unmarshal(raw, &names); err != nil {
		return errors.New("not a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !slices.Contains(fields, name) {
			return fmt.Errorf("unknown field %q: its fields are %s", name, strings.Join(fields, ", "))
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		path, problem := rawjson.DescribeError(err, reflect.TypeOf(into))
		if path != "" {
			return fmt.Errorf("%s: %s", path, problem)
		}
		return errors.New(problem)
	}
	return nil
}

func checkState(state *SessionState) error {
	for i := range state.Messages {
		if err := checkParts(state.Messages[i].Content); err != nil {
			return fmt.Errorf("messages[%d].content%w", i, err)
		}
	}
	for i := range state.Artifacts {
		if err := checkParts(state.Artifacts[i].Parts); err != nil {
			return fmt.Errorf("artifacts[%d].parts%w", i, err)
		}
	}
	return nil
}

func checkParts(parts []Part) error {
	for i := range parts {
		if err := parts[i].Check(); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
		if response := parts[i].ToolResponse; response != nil {
			if err := checkParts(response.Content); err != nil {
				return fmt.Errorf("[%d].toolResponse.content%w", i, err)
			}
		}
	}
	return nil
}

func checkResume(resume *Resume) error {
	if err := checkParts(resume.Respond); err != nil {
		return fmt.Errorf("respond%w", err)
	}
	if err := checkParts(resume.Restart); err != nil {
		return fmt.Errorf("restart%w", err)
	}
	for i := range resume.Respond {
		if resume.Respond[i].ToolResponse == nil {
			return fmt.Errorf("respond[%d]: it has no toolResponse", i)
		}
	}
	for i := range resume.Restart {
		if resume.Restart[i].ToolRequest == nil {
			return fmt.Errorf("restart[%d]: it has no toolRequest", i)
		}
	}
	return nil
}
