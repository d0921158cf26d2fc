package provider

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/model"
	"google.golang.org/protobuf/types/known/structpb"
)

// structOf returns fields as a message; nil if absent.
func structOf(fields map[string]any) (*structpb.Struct, error) {
	if len(fields) == 0 {
		return nil, nil //nolint:nilnil // no fields are no message
	}
	s, err := structpb.NewStruct(fields)
	if err != nil {
		return nil, fmt.Errorf("encode the options of the endpoint: %w", err)
	}
	return s, nil
}

// modelOptions returns the options of the endpoint, with the parameters of the turn.
func (d *drive) modelOptions(req *model.Request) map[string]any {
	options := maps.Clone(d.hosted.options.ModelOptions)
	var params map[string]any
	data, err := json.Marshal(req.Params)
	if err != nil || json.Unmarshal(data, &params) != nil {
		return options
	}
	if options == nil {
		options = params
	}
	maps.Copy(options, params)
	return options
}

// actor returns the creator of sessions and turns at a provider: this runtime, for a session.
func (d *drive) actor() *providerproto.AgentActor {
	s := d.subject()
	return &providerproto.AgentActor{SubjectId: s.SubjectId, SubjectKind: s.SubjectKind}
}

func (d *drive) subject() *providerproto.AgentSubjectContext { return subjectOf(&d.at) }

func subjectOf(at *position) *providerproto.AgentSubjectContext {
	return &providerproto.AgentSubjectContext{SubjectId: "session:" + at.SessionID, SubjectKind: "session"}
}

// newMessages returns the messages of a request that the provider does not know: all, or only the
// new ones if it knows the conversation so far. If an answer is requested again, only the note
// about it is new.
func (d *drive) newMessages(req *model.Request, known, again bool) []*providerproto.AgentMessage {
	messages := req.Messages
	if again {
		last := len(messages)
		for last > 0 && messages[last-1].Role != model.RoleAssistant {
			last--
		}
		messages = messages[last:]
	}
	var out []*providerproto.AgentMessage
	for i := range messages {
		m := &messages[i]
		if known && !again && d.isKnown(m) {
			continue
		}
		out = append(out, messageOf(m))
	}
	return out
}

// isKnown reports whether a message is a part of the conversation so far.
func (d *drive) isKnown(m *model.Message) bool {
	if m.Role == model.RoleSystem && m.Text() == string(d.job.Agent.SystemPrompt) {
		return true
	}
	for i := range d.job.History {
		h := &d.job.History[i]
		if m.ID != "" && m.ID == h.ID || m.ID == "" && h.ID == "" && m.Role == h.Role && reflect.DeepEqual(m.Parts, h.Parts) {
			return true
		}
	}
	return false
}

// messageOf returns a message in the form for providers.
func messageOf(m *model.Message) *providerproto.AgentMessage {
	out := &providerproto.AgentMessage{Role: string(m.Role), Text: m.Text()}
	plain := true
	for i := range m.Parts {
		if part := partOf(&m.Parts[i]); part != nil {
			plain = plain && part.Type == providerproto.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_TEXT
			out.Parts = append(out.Parts, part)
		}
	}
	if plain {
		out.Parts = nil // the text says it all
	}
	return out
}

// partOf returns a message part in the form for providers; nil for reasoning.
func partOf(p *model.Part) *providerproto.AgentMessagePart {
	switch p.Type {
	case model.PartText:
		return &providerproto.AgentMessagePart{Type: providerproto.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_TEXT, Text: p.Text}
	case model.PartToolCall:
		arguments := new(structpb.Struct)
		_ = arguments.UnmarshalJSON(p.ToolCall.Arguments) // those that are no JSON were never used
		return &providerproto.AgentMessagePart{
			Type:     providerproto.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_TOOL_CALL,
			ToolCall: &providerproto.AgentMessagePartToolCall{Id: p.ToolCall.ID, ToolId: p.ToolCall.Name, Arguments: arguments},
		}
	case model.PartToolResult:
		o := outcomeOf(p.ToolResult)
		return &providerproto.AgentMessagePart{
			Type:       providerproto.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_TOOL_RESULT,
			ToolResult: &providerproto.AgentMessagePartToolResult{ToolCallId: p.ToolResult.CallID, Status: o.Status, Content: o.Body},
		}
	case model.PartImage, model.PartFile:
		uri := p.Blob.URI
		if uri == "" {
			uri = "data:" + p.Blob.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Blob.Data)
		}
		return &providerproto.AgentMessagePart{
			Type:     providerproto.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_IMAGE_REF,
			ImageRef: &providerproto.AgentMessagePartImageRef{Uri: uri, MimeType: p.Blob.MediaType},
		}
	default:
		return nil
	}
}
