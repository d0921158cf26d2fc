package a2a

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/service"
)

const (
	// responseID is the artifact with the agent's answer.
	responseID = "response"
	// maxChunk bounds the content of one event, in bytes as they are sent, so
	// that the event stays below 1 MiB.
	maxChunk = 1<<20 - 4<<10
)

// listArtifacts returns the artifacts of a task: its answer, once it has ended, and the turn's
// artifacts that fit into the room.
func (c *call) listArtifacts(ctx context.Context, turn *service.Turn, room *int) ([]*a2a.Artifact, error) {
	var list []*a2a.Artifact
	if o := turn.Outcome; o != nil && o.Response != "" && len(o.Response) <= *room {
		*room -= len(o.Response)
		list = append(list, responseArtifact(c.answerPart(ctx, cmp.Or(o.Agent, turn.AgentID), o.Response)))
	}
	kept, err := c.service.ListArtifacts(ctx, c.caller, turn.ID)
	if err != nil {
		return nil, err
	}
	for _, k := range kept {
		if k.Size > *room {
			continue
		}
		a, err := c.service.GetArtifact(ctx, c.caller, k.ID)
		if errors.Is(err, service.ErrNotFound) {
			continue // it was deleted since
		}
		if err != nil {
			return nil, err
		}
		*room -= a.Size
		list = append(list, keptArtifact(a, a.Data))
	}
	return list, nil
}

func responseArtifact(parts ...*a2a.Part) *a2a.Artifact {
	return &a2a.Artifact{ID: responseID, Name: responseID, Parts: parts}
}

// keptArtifact returns an artifact of a turn with a part of its content, always as raw bytes, so
// that the name and media type describe a file.
func keptArtifact(a *service.Artifact, data []byte) *a2a.Artifact {
	part := a2a.NewRawPart(data)
	part.MediaType = a.MediaType
	if address, media := addressOf(a); address != "" {
		part = &a2a.Part{Content: a2a.URL(address), MediaType: media}
	}
	part.Filename = a.Name
	return &a2a.Artifact{ID: a2a.ArtifactID(a.ID), Name: cmp.Or(a.Name, a.ID), Parts: a2a.ContentParts{part}}
}

// maxAddress bounds the addresses that are sent as such, in bytes.
const maxAddress = 8 << 10

// addressOf returns the only address in an artifact of media type text/uri-list, or else "", and
// the media type of its target from the parameter type.
func addressOf(a *service.Artifact) (found, media string) {
	list, params, err := mime.ParseMediaType(a.MediaType)
	if err != nil || list != "text/uri-list" || len(a.Data) > maxAddress {
		return "", ""
	}
	for line := range strings.Lines(string(a.Data)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		u, err := url.Parse(line)
		if found != "" || err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return "", ""
		}
		found = line
	}
	return found, params["type"]
}

// chunkEvents returns the events that send an artifact of a turn.
func chunkEvents(info a2a.TaskInfo, a *service.Artifact) []a2a.Event {
	const size = maxChunk / 4 * 3 // bytes are sent in base64
	var events []a2a.Event
	for rest := a.Data; ; {
		chunk := rest[:min(size, len(rest))]
		rest = rest[len(chunk):]
		events = append(events, &a2a.TaskArtifactUpdateEvent{
			TaskID: info.TaskID, ContextID: info.ContextID, Append: len(events) > 0, LastChunk: len(rest) == 0, Artifact: keptArtifact(a, chunk),
		})
		if len(rest) == 0 {
			return events
		}
	}
}

// textChunk returns how many bytes of text fit into limit bytes of JSON. At least one character
// does.
func textChunk(text string, limit int) int {
	if len(text) <= limit/6 { // a byte takes at most six
		return len(text)
	}
	size := 0
	for i, r := range text {
		n := utf8.RuneLen(r)
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
			n = 2
		case r < ' ' || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029' || r == utf8.RuneError:
			n = 6
		}
		if size += n; size > limit && i > 0 {
			return i
		}
	}
	return len(text)
}
