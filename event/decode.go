package event

import (
	"encoding/json"
	"fmt"
)

// constructors create the data of each kind of event for decoding.
var constructors = map[Type]func() Data{
	TypeRunStart:            func() Data { return new(RunStart) },
	TypeRunFinish:           func() Data { return new(RunFinish) },
	TypeStepStart:           func() Data { return new(StepStart) },
	TypeStepEnd:             func() Data { return new(StepEnd) },
	TypeTextDelta:           func() Data { return new(TextDelta) },
	TypeReasoningDelta:      func() Data { return new(ReasoningDelta) },
	TypeReasoningEncrypted:  func() Data { return new(ReasoningEncrypted) },
	TypeToolCallStart:       func() Data { return new(ToolCallStart) },
	TypeToolCallDelta:       func() Data { return new(ToolCallDelta) },
	TypeToolCallReady:       func() Data { return new(ToolCallReady) },
	TypeToolCallDone:        func() Data { return new(ToolCallDone) },
	TypeToolCallStreamDelta: func() Data { return new(ToolCallStreamDelta) },
	TypeInferenceComplete:   func() Data { return new(InferenceComplete) },
	TypeActivitySnapshot:    func() Data { return new(ActivitySnapshot) },
	TypeStateSnapshot:       func() Data { return new(StateSnapshot) },
	TypeToolCallResumed:     func() Data { return new(ToolCallResumed) },
	TypeToolCallCancel:      func() Data { return new(ToolCallCancel) },
	TypeStreamReset:         func() Data { return new(StreamReset) },
	TypeModelRetry:          func() Data { return new(ModelRetry) },
	TypeInteractionRequest:  func() Data { return new(InteractionRequest) },
	TypeRunWaiting:          func() Data { return new(RunWaiting) },
	TypeContextTrimmed:      func() Data { return new(ContextTrimmed) },
	TypeContextCompacted:    func() Data { return new(ContextCompacted) },
	TypeLoopDetected:        func() Data { return new(LoopDetected) },
	TypeToolBudgetExceeded:  func() Data { return new(ToolBudgetExceeded) },
	TypeToolCallsOmitted:    func() Data { return new(ToolCallsOmitted) },
	TypeHandoff:             func() Data { return new(Handoff) },
	TypeRevisionChanged:     func() Data { return new(RevisionChanged) },
	TypeCustomPatch:         func() Data { return new(CustomPatch) },
	TypeArtifact:            func() Data { return new(Artifact) },
}

// UnknownTypeError reports an event of an unknown kind: a later version wrote it, or it is not an
// event.
type UnknownTypeError struct {
	// Type is the unknown kind; it may be empty.
	Type Type
}

// Error names the kind.
func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("unknown event type %q", string(e.Type))
}

// Decode reads an event written by Event.MarshalJSON. It ignores unknown fields. For a kind that
// this package does not have, it returns an *UnknownTypeError.
func Decode(data []byte) (Event, error) {
	var head header
	if err := json.Unmarshal(data, &head); err != nil {
		return Event{}, fmt.Errorf("decode an event: %w", err)
	}
	r := Record{Seq: head.Seq, Time: head.Time, TurnID: head.TurnID, SessionID: head.SessionID, Type: head.EventType, Path: head.Path, Data: data}
	return r.Event()
}

// decodeData decodes the data of an event of a kind. Data without fields may be empty.
func decodeData(kind Type, encoded json.RawMessage) (Data, error) {
	construct, ok := constructors[kind]
	if !ok {
		return nil, &UnknownTypeError{Type: kind}
	}
	data := construct()
	if len(encoded) == 0 {
		return data, nil
	}
	if err := json.Unmarshal(encoded, data); err != nil {
		return nil, fmt.Errorf("decode %s: %w", kind, err)
	}
	return data, nil
}
