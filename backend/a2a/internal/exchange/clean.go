package exchange

import (
	"maps"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// The functions of this file make a peer's event safe to store, show and forward: no text in it
// contains a NUL or invalid UTF-8. They change the event. Task and context ids are kept, since
// requests repeat them: idProblem finds unusable ones.

func cleanTask(t *a2a.Task) {
	cleanStatus(&t.Status)
	for _, artifact := range t.Artifacts {
		cleanArtifact(artifact)
	}
	for _, m := range t.History {
		cleanMessage(m)
	}
	t.Metadata = cleanMap(t.Metadata)
}

func cleanStatus(s *a2a.TaskStatus) {
	s.State = a2a.TaskState(clip.Clean(string(s.State)))
	cleanMessage(s.Message)
}

func cleanMessage(m *a2a.Message) {
	if m == nil {
		return
	}
	m.ID = clip.Clean(m.ID)
	m.Metadata = cleanMap(m.Metadata)
	cleanParts(m.Parts)
}

func cleanArtifact(artifact *a2a.Artifact) {
	if artifact == nil {
		return
	}
	artifact.ID = a2a.ArtifactID(clip.Clean(string(artifact.ID)))
	artifact.Name, artifact.Description = clip.Clean(artifact.Name), clip.Clean(artifact.Description)
	artifact.Metadata = cleanMap(artifact.Metadata)
	cleanParts(artifact.Parts)
}

func cleanParts(parts []*a2a.Part) {
	for _, p := range parts {
		if p == nil {
			continue
		}
		p.Filename, p.MediaType, p.Metadata = clip.Clean(p.Filename), clip.Clean(p.MediaType), cleanMap(p.Metadata)
		switch content := p.Content.(type) {
		case a2a.Text:
			p.Content = a2a.Text(clip.Clean(string(content)))
		case a2a.URL:
			p.Content = a2a.URL(clip.Clean(string(content)))
		case a2a.Data:
			content.Value = cleanValue(content.Value)
			p.Content = content
		}
	}
}

// cleanValue returns a JSON value with all texts cleaned.
func cleanValue(value any) any {
	switch value := value.(type) {
	case string:
		return clip.Clean(value)
	case map[string]any:
		return cleanMap(value)
	case []any:
		for i := range value {
			value[i] = cleanValue(value[i])
		}
	}
	return value
}

// cleanMap cleans the keys and values of an object. If keys become equal, the first in sort order
// stays.
func cleanMap(object map[string]any) map[string]any {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value := cleanValue(object[key])
		cleaned := clip.Clean(key)
		if cleaned == key {
			object[key] = value
			continue
		}
		delete(object, key)
		if _, taken := object[cleaned]; !taken {
			object[cleaned] = value
		}
	}
	return object
}
