package provider

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// timeOf converts a time to the protocol's form; nil for the zero time.
func timeOf(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// jsonOf converts an object of the protocol to JSON; nil for nil.
func jsonOf(s *structpb.Struct) (json.RawMessage, error) {
	if s == nil {
		return nil, nil
	}
	return compact(protojson.Marshal(s))
}

// compact returns JSON in the canonical form in which keys compare it: the spaces that protojson
// writes differ between programs.
func compact(data []byte, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// structOf converts JSON members to an object of the protocol; nil if absent.
func structOf(members map[string]json.RawMessage) (*structpb.Struct, error) {
	if len(members) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	return decodeStruct(data)
}

// decodeStruct reads a JSON object.
func decodeStruct(data json.RawMessage) (*structpb.Struct, error) {
	if len(data) == 0 {
		return nil, nil
	}
	out := new(structpb.Struct)
	return out, protojson.Unmarshal(data, out)
}

// valueOf converts a JSON value; nil for a missing or unsupported value.
func valueOf(data json.RawMessage) *structpb.Value {
	out := new(structpb.Value)
	if len(data) == 0 || protojson.Unmarshal(data, out) != nil {
		return nil
	}
	return out
}

// keyFor returns the service's idempotency key for a key of the host.
func keyFor(kind, scope, key string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", scope, key))
	return "agent-provider:" + kind + ":" + hex.EncodeToString(sum[:])
}

// splitMessages splits messages into the history, up to the assistant's last message, and the
// input after it.
func splitMessages(given []*pb.AgentMessage, find surfacekit.ArtifactFinder) (before, input []model.Message, err error) {
	all := make([]model.Message, len(given))
	for i, m := range given {
		if all[i], err = messageOf(m, find); err != nil {
			if isStatus(err) {
				return nil, nil, err
			}
			return nil, nil, invalid("messages[%d]: %s", i, err)
		}
	}
	before, input, ok := surfacekit.SplitInput(all)
	if !ok {
		return nil, nil, invalid("messages must end with one that is not the assistant's")
	}
	return before, input, nil
}

func messageOf(m *pb.AgentMessage, find surfacekit.ArtifactFinder) (model.Message, error) {
	role, ok := surfacekit.Role(m.GetRole())
	if !ok {
		return model.Message{}, fmt.Errorf("role %q is not supported: use user, system, developer, assistant or tool", m.GetRole())
	}
	out := model.Message{Role: role}
	if m.GetText() != "" {
		out.Parts = append(out.Parts, model.Text(m.GetText()))
	}
	for i, p := range m.GetParts() {
		part, err := partOf(p, find)
		if err == nil && part.Type == model.PartImage && role != model.RoleUser {
			err = fmt.Errorf("only messages of the user have images")
		}
		if err != nil {
			return out, fmt.Errorf("parts[%d]: %w", i, err)
		}
		out.Parts = append(out.Parts, part)
	}
	if len(out.Parts) == 0 {
		return out, fmt.Errorf("it has neither text nor parts")
	}
	return out, nil
}

// partTypes maps content fields to part types.
var partTypes = map[string]pb.AgentMessagePartType{
	"text": pb.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_TEXT, "json": pb.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_JSON,
	"tool_call": pb.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_TOOL_CALL, "tool_result": pb.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_TOOL_RESULT,
	"image_ref": pb.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_IMAGE_REF,
}

func partOf(p *pb.AgentMessagePart, find surfacekit.ArtifactFinder) (model.Part, error) {
	for field, has := range map[string]bool{
		"text": p.GetText() != "", "json": p.GetJson() != nil, "tool_call": p.GetToolCall() != nil, "tool_result": p.GetToolResult() != nil, "image_ref": p.GetImageRef() != nil,
	} {
		if has && p.GetType() != partTypes[field] {
			return model.Part{}, fmt.Errorf("%s belongs to parts of another type", field)
		}
	}
	switch p.GetType() {
	case pb.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_TEXT:
		return model.Text(p.GetText()), nil
	case pb.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_JSON:
		data, err := protojson.Marshal(p.GetJson())
		return model.Text(string(data)), err
	case pb.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_TOOL_CALL:
		call := p.GetToolCall()
		data, err := protojson.Marshal(call.GetArguments())
		return surfacekit.CallText(call.GetId(), call.GetToolId(), string(data)), err
	case pb.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_TOOL_RESULT:
		result := p.GetToolResult()
		content := result.GetContent()
		if content == "" {
			data, err := protojson.Marshal(result.GetOutput())
			if err != nil {
				return model.Part{}, err
			}
			content = string(data)
		}
		return surfacekit.ResultText(result.GetToolCallId(), int(result.GetStatus()), content), nil
	case pb.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_IMAGE_REF:
		if image := p.GetImageRef(); image.GetUri() != "" {
			return surfacekit.ImageRef(model.Blob{URI: image.GetUri(), MediaType: image.GetMimeType()}, "image_ref.uri", find)
		}
	}
	return model.Part{}, fmt.Errorf("its type is not supported, or it lacks its content")
}
