package exchange

import (
	"maps"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// cleanEvent makes a peer's event safe to store, show and forward: no text in it contains a NUL or
// invalid UTF-8. It changes the event. Task and context ids are kept, since requests repeat them:
// unfit rejects unusable ones.
func cleanEvent(ev a2a.Event) {
	switch ev := ev.(type) {
	case *a2a.Message:
		cleanMessage(ev)
	case *a2a.Task:
		if ev == nil {
			return
		}
		cleanStatus(&ev.Status)
		for _, artifact := range ev.Artifacts {
			cleanArtifact(artifact)
		}
		for _, m := range ev.History {
			cleanMessage(m)
		}
		ev.Metadata = cleanMap(ev.Metadata)
	case *a2a.TaskStatusUpdateEvent:
		if ev == nil {
			return
		}
		cleanStatus(&ev.Status)
		ev.Metadata = cleanMap(ev.Metadata)
	case *a2a.TaskArtifactUpdateEvent:
		if ev == nil {
			return
		}
		cleanArtifact(ev.Artifact)
		ev.Metadata = cleanMap(ev.Metadata)
	}
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
