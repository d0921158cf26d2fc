package agents

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// answersOf returns the answers to all requests, or an error text.
func answersOf(ctx context.Context, asked []*interaction.Request, resume *wire.Resume) ([]interaction.Answer, *wire.Error) {
	found := make(map[string]interaction.Answer)
	for i := range resume.Respond {
		response := resume.Respond[i].ToolResponse
		request := findRequest(asked, response.Name, response.Ref)
		if request == nil {
			return nil, unknownRequest("respond", i, response.Name, response.Ref)
		}
		if problem := addAnswer(ctx, found, request, responseTo(request, response.Output), "respond", i); problem != nil {
			return nil, problem
		}
	}
	for i := range resume.Restart {
		again := resume.Restart[i].ToolRequest
		request := findRequest(asked, again.Name, again.Ref)
		switch {
		case request == nil:
			return nil, unknownRequest("restart", i, again.Name, again.Ref)
		case !sameJSON(request.Arguments, again.Input):
			return nil, newError(wire.StatusInvalidArgument, "resume.restart[%d]: the tool %q is requested with modified inputs", i, clip.Text(again.Name))
		case request.Mode == interaction.UseDecisionAsToolResult:
			return nil, newError(wire.StatusFailedPrecondition, "resume.restart[%d]: the tool %q does not run again: answer with resume.respond", i, clip.Text(again.Name))
		}
		resumed := resume.Restart[i].Metadata["resumed"]
		if len(resumed) == 0 {
			resumed = json.RawMessage("true")
		}
		if problem := addAnswer(ctx, found, request, resumed, "restart", i); problem != nil {
			return nil, problem
		}
	}
	answers := make([]interaction.Answer, len(asked))
	for i, request := range asked {
		answer, ok := found[request.ID]
		if !ok {
			return nil, newError(wire.StatusInvalidArgument, "resume settles %d of %d open tool requests: the tool %q with ref %q is missing", len(found), len(asked), request.Tool, request.CallID)
		}
		answers[i] = answer
	}
	return answers, nil
}

// answersTo returns an input's answers to all requests. Its message accompanies the first one.
func answersTo(ctx context.Context, asked []*interaction.Request, input *wire.Input) ([]interaction.Answer, *wire.Error) {
	answers, problem := answersOf(ctx, asked, input.Resume)
	if problem != nil || input.Message == nil {
		return answers, problem
	}
	message, problem := toModelMessage(input.Message)
	if problem != nil {
		return nil, problem
	}
	encoded, err := json.Marshal(message)
	if err != nil {
		return nil, newError(wire.StatusInvalidArgument, "data.message: %s", err)
	}
	answers[0].Message = encoded
	return answers, nil
}

// addAnswer adds the answer to a request, or returns an error text.
func addAnswer(ctx context.Context, found map[string]interaction.Answer, request *interaction.Request, result json.RawMessage, field string, i int) *wire.Error {
	if _, twice := found[request.ID]; twice {
		return newError(wire.StatusInvalidArgument, "resume.%s[%d] settles a tool request for the second time", field, i)
	}
	answer := interaction.Answer{Target: request.ID, Action: interaction.Resume, Result: result}
	if err := interaction.Check(ctx, request, &answer); err != nil {
		return newError(wire.StatusInvalidArgument, "resume.%s[%d]: %s", field, i, err)
	}
	found[request.ID] = answer
	return nil
}

// findRequest returns the open request of a tool, or nil.
func findRequest(asked []*interaction.Request, tool, ref string) *interaction.Request {
	for _, request := range asked {
		if request.Tool == tool && request.CallID == ref {
			return request
		}
	}
	return nil
}

// unknownRequest returns the error for an answer without an open request.
func unknownRequest(field string, i int, tool, ref string) *wire.Error {
	return newError(wire.StatusInvalidArgument, "resume.%s[%d]: an open request of the tool %q with ref %q was not found in session history, or was settled in an earlier turn", field, i, clip.Text(tool), clip.Text(ref))
}

// sameJSON reports whether two JSON values are equal; no value equals an empty object.
func sameJSON(a, b json.RawMessage) bool {
	x, errX := canonical(a)
	y, errY := canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// canonical returns a JSON value with sorted keys and without whitespace.
func canonical(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 {
		return []byte("{}"), nil
	}
	value, err := decodeCustom[any](raw)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}
