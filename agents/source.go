package agents

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/agents/wire"
)

// Source selects a conversation and where a turn continues. The zero value starts a new one.
type Source struct {
	init wire.Init
	err  error
}

// FromSession continues a session from its last completed turn. An unknown session is created
// with that id.
func FromSession(id string) Source {
	s := Source{init: wire.Init{SessionID: id}}
	if id == "" {
		s.err = newError(wire.StatusInvalidArgument, "the session id is empty: use the zero Source for a fresh conversation")
	}
	return s
}

// FromSnapshot returns the conversation after a turn. Continuing anything but the last turn of a
// session is a fork.
func FromSnapshot(id string) Source {
	s := Source{init: wire.Init{SnapshotID: id}}
	if id == "" {
		s.err = newError(wire.StatusInvalidArgument, "the snapshot id is empty: use the zero Source for a fresh conversation")
	}
	return s
}

// InSession returns the source for a snapshot that must belong to a session.
func (s Source) InSession(id string) Source {
	if id == "" && s.err == nil {
		s.err = newError(wire.StatusInvalidArgument, "the session id is empty")
	}
	s.init.SessionID = id
	return s
}

// FromState continues from a state kept by the client, from an output of a client-managed agent.
func (a *Agent[S]) FromState(state *State[S]) Source {
	encoded, err := encodeState(state)
	if err == nil && encoded == nil {
		err = newError(wire.StatusInvalidArgument, "the state is nil: use the zero Source for a fresh conversation")
	}
	return Source{init: wire.Init{State: encoded}, err: err}
}

// Text returns an input with a user message.
func Text(text string) *wire.Input {
	return &wire.Input{Message: &wire.Message{Role: wire.RoleUser, Content: []wire.Part{wire.NewTextPart(text)}}}
}

// Respond returns an input that answers an interrupted turn's open tool requests. Each part is made
// by Answer.
func Respond(answers ...wire.Part) *wire.Input {
	return &wire.Input{Resume: &wire.Resume{Respond: answers}}
}

// Answer returns the answer to an open tool request, for Respond.
func Answer(request *wire.Part, output any) (wire.Part, error) {
	encoded, err := encodeAnswer(request, output)
	if err != nil {
		return wire.Part{}, err
	}
	return wire.Part{ToolResponse: &wire.ToolResponse{Name: request.ToolRequest.Name, Ref: request.ToolRequest.Ref, Output: encoded}}, nil
}

// encodeAnswer encodes what settles an open tool request.
func encodeAnswer(request *wire.Part, answer any) (json.RawMessage, error) {
	if request.ToolRequest == nil {
		return nil, newError(wire.StatusInvalidArgument, "the part is not a tool request")
	}
	return json.Marshal(answer)
}

// Restart returns an input that runs the tools of open requests again. Each part is made by Again.
func Restart(requests ...wire.Part) *wire.Input {
	return &wire.Input{Resume: &wire.Resume{Restart: requests}}
}

// Again returns an open tool request to run again, with the data to pass to its tool.
func Again(request *wire.Part, resumed any) (wire.Part, error) {
	encoded, err := encodeAnswer(request, resumed)
	if err != nil {
		return wire.Part{}, err
	}
	return wire.Part{ToolRequest: request.ToolRequest, Metadata: map[string]json.RawMessage{"resumed": encoded}}, nil
}
