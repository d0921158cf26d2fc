package model

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/spec"
)

// Modality returns the kind of content in a part, by its media type. It is empty for other kinds of
// files, which no configuration can declare as readable by a model.
func (p *Part) Modality() spec.Modality {
	switch p.Type {
	case PartImage, PartFile:
	default:
		return spec.ModalityText
	}
	mediaType := ""
	if p.Blob != nil {
		mediaType, _, _ = strings.Cut(strings.ToLower(p.Blob.MediaType), ";")
	}
	family, _, _ := strings.Cut(strings.TrimSpace(mediaType), "/")
	switch {
	case strings.TrimSpace(mediaType) == "application/pdf":
		return spec.ModalityPDF
	case family == "image", p.Type == PartImage:
		return spec.ModalityImage
	case family == "audio":
		return spec.ModalityAudio
	case family == "video":
		return spec.ModalityVideo
	case family == "text":
		return spec.ModalityText
	default:
		return ""
	}
}

// canRead reports whether a model reads a part. Every model reads text; the vendor decides on files
// of unknown kind.
func canRead(input []spec.Modality, p *Part) bool {
	if len(input) == 0 {
		return true
	}
	m := p.Modality()
	return m == "" || m == spec.ModalityText || slices.Contains(input, m)
}

// Limited wraps the executor of a model that reads only some modalities. It rejects a request whose
// latest user message has a part that the model cannot read, with class InvalidRequest, before
// anything is sent. Elsewhere in the conversation, in older messages and in tool results, a note
// replaces such a part.
type Limited struct {
	Executor Executor
	// ModelID is the model's id.
	ModelID string
	// Input are the modalities that the model reads.
	Input []spec.Modality
}

var _ Executor = (*Limited)(nil)

// Stream calls the wrapped executor.
func (l *Limited) Stream(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	if unread := unreadableModalities(latestUserMessages(req.Messages), l.Input); len(unread) > 0 {
		err := cannotRead(l.ModelID, unread, l.Input)
		return func(yield func(Event, error) bool) { yield(Event{}, err) }
	}
	messages := readableMessages(req.Messages, l.Input)
	if len(messages) == 0 || &messages[0] == &req.Messages[0] {
		return l.Executor.Stream(ctx, req)
	}
	own := *req
	own.Messages = messages
	return l.Executor.Stream(ctx, &own)
}

// latestUserMessages returns the last run of consecutive user messages.
func latestUserMessages(messages []Message) []Message {
	end := len(messages)
	for end > 0 && messages[end-1].Role != RoleUser {
		end--
	}
	begin := end
	for begin > 0 && messages[begin-1].Role == RoleUser {
		begin--
	}
	return messages[begin:end]
}

// unreadableModalities returns the modalities in the user's messages that input lacks.
func unreadableModalities(messages []Message, input []spec.Modality) []spec.Modality {
	var out []spec.Modality
	for i := range messages {
		if messages[i].Role != RoleUser {
			continue
		}
		for j := range messages[i].Parts {
			if p := &messages[i].Parts[j]; !canRead(input, p) && !slices.Contains(out, p.Modality()) {
				out = append(out, p.Modality())
			}
		}
	}
	return out
}

// cannotRead is the error for a request with modalities that a model does not read.
func cannotRead(modelID string, unread, input []spec.Modality) *Error {
	return &Error{Class: InvalidRequest, Message: fmt.Sprintf("model %s does not read %s; it reads %s", modelID, spec.JoinModalities(unread, ", "), spec.JoinModalities(input, ", "))}
}

// readableMessages returns the conversation with a note replacing each part that cannot be read. A
// conversation without such parts is returned unchanged.
func readableMessages(messages []Message, input []spec.Modality) []Message {
	out, copied := messages, false
	for i := range messages {
		parts := readableParts(messages[i].Parts, input)
		if len(parts) == 0 || &parts[0] == &messages[i].Parts[0] {
			continue
		}
		if !copied {
			out, copied = slices.Clone(messages), true
		}
		out[i].Parts = parts
	}
	return out
}

func readableParts(parts []Part, input []spec.Modality) []Part {
	out, copied := parts, false
	replace := func(i int, p Part) {
		if !copied {
			out, copied = slices.Clone(parts), true
		}
		out[i] = p
	}
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Type == PartToolResult && p.ToolResult != nil:
			content := readableParts(p.ToolResult.Content, input)
			if len(content) > 0 && &content[0] != &p.ToolResult.Content[0] {
				result := *p.ToolResult
				result.Content = content
				replace(i, Part{Type: PartToolResult, ToolResult: &result})
			}
		case !canRead(input, p):
			replace(i, Text(leftOut(p)))
		}
	}
	return out
}

// leftOut is the note that replaces a part.
func leftOut(p *Part) string {
	name := ""
	if p.Blob != nil && p.Blob.Name != "" {
		name = " " + p.Blob.Name
	}
	return fmt.Sprintf("[%s%s left out: this model does not read it]", p.Modality(), name)
}
