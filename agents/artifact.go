package agents

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/tools"
)

// partsType is the media type of an artifact stored as parts.
const partsType = "application/vnd.agentruntime.parts+json"

// toKeptArtifact returns an artifact in the session's form: text as is, other parts as JSON.
func toKeptArtifact(a *wire.Artifact) (tools.Artifact, error) {
	kept := tools.Artifact{Name: a.Name}
	for i := range a.Parts {
		if err := a.Parts[i].Check(); err != nil {
			return kept, fmt.Errorf("artifact %q: parts[%d]: %w", a.Name, i, err)
		}
	}
	var err error
	if len(a.Metadata) > 0 {
		if kept.Metadata, err = json.Marshal(a.Metadata); err != nil {
			return kept, fmt.Errorf("artifact %q: %w", a.Name, err)
		}
	}
	if text, ok := onlyText(a.Parts); ok {
		kept.MediaType, kept.Data = "text/plain; charset=utf-8", []byte(text)
		return kept, nil
	}
	parts := a.Parts
	if parts == nil {
		parts = []wire.Part{}
	}
	kept.MediaType = partsType
	kept.Data, err = json.Marshal(parts)
	return kept, err
}

// onlyText returns the text if parts consist of a single text part.
func onlyText(parts []wire.Part) (string, bool) {
	if len(parts) != 1 || parts[0].Text == nil || parts[0].Data != nil || parts[0].Custom != nil || parts[0].Metadata != nil {
		return "", false
	}
	return *parts[0].Text, true
}

// fromKeptArtifact returns an artifact of a session, with its data, as clients see it.
func fromKeptArtifact(a *tools.Artifact) wire.Artifact {
	out := wire.Artifact{Name: a.Name}
	if len(a.Metadata) > 0 && json.Unmarshal(a.Metadata, &out.Metadata) != nil {
		out.Metadata = map[string]json.RawMessage{"value": a.Metadata}
	}
	switch {
	case a.MediaType == partsType && json.Unmarshal(a.Data, &out.Parts) == nil:
	case strings.HasPrefix(a.MediaType, "text/"):
		out.Parts = []wire.Part{wire.NewTextPart(string(a.Data))}
	default:
		url := "data:" + a.MediaType + ";base64," + base64.StdEncoding.EncodeToString(a.Data)
		out.Parts = []wire.Part{{Media: &wire.Media{ContentType: a.MediaType, URL: url}}}
	}
	return out
}

// readArtifact returns an artifact of the service, with its data.
func (a *stored) readArtifact(ctx context.Context, id string) (wire.Artifact, error) {
	kept, err := a.service.GetArtifact(ctx, a.caller, id)
	if err != nil {
		return wire.Artifact{}, nameError(err, "artifact", id)
	}
	return fromKeptArtifact(&tools.Artifact{Name: kept.Name, MediaType: kept.MediaType, Data: kept.Data, Metadata: kept.Metadata}), nil
}

// readArtifacts returns the artifacts of a session, with their data.
func (a *stored) readArtifacts(ctx context.Context, list []tools.Artifact) ([]wire.Artifact, error) {
	var out []wire.Artifact
	for i := range list {
		artifact, err := a.readArtifact(ctx, list[i].ID)
		if err != nil {
			return nil, err
		}
		out = append(out, artifact)
	}
	return out, nil
}

// putArtifact adds an artifact to a list or replaces the one with the same name.
func putArtifact(list []wire.Artifact, a wire.Artifact) []wire.Artifact {
	if a.Name != "" {
		for i := range list {
			if list[i].Name == a.Name {
				list[i] = a
				return list
			}
		}
	}
	return append(list, a)
}
