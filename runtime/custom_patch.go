package runtime

import (
	"bytes"
	"encoding/json"

	"github.com/agentruntime/agentruntime/event"
	"github.com/wI2L/jsondiff"
)

// DiffCustom returns how the application's state changed, or nil if it did not.
func DiffCustom(from, to json.RawMessage) []event.PatchOperation {
	diff, err := jsondiff.CompareJSON(documentOf(from), documentOf(to), jsondiff.UnmarshalFunc(decodeExactly))
	if err != nil {
		return []event.PatchOperation{replaceWhole(to)}
	}
	if len(diff) == 0 {
		return nil
	}
	patch := make([]event.PatchOperation, len(diff))
	for i, op := range diff {
		if op.Path == "" { // whatever the diff calls it
			return []event.PatchOperation{replaceWhole(to)}
		}
		patch[i] = event.PatchOperation{Op: op.Type, Path: op.Path}
		if op.Type == jsondiff.OperationRemove {
			continue
		}
		if patch[i].Value, err = json.Marshal(op.Value); err != nil {
			return []event.PatchOperation{replaceWhole(to)}
		}
	}
	return patch
}

func replaceWhole(custom json.RawMessage) event.PatchOperation {
	return event.PatchOperation{Op: jsondiff.OperationReplace, Value: documentOf(custom)}
}

// documentOf returns a state as a document: null if it is empty.
func documentOf(custom json.RawMessage) json.RawMessage {
	if len(custom) == 0 {
		return json.RawMessage("null")
	}
	return custom
}

// decodeExactly decodes JSON and keeps the spelling of numbers.
func decodeExactly(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}
