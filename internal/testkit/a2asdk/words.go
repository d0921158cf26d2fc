package a2asdk

import (
	"encoding/json"
	"errors"
	"strings"
)

// Part is a part of a message or artifact; exactly one of its first four fields is set. In version
// 0.3, raw bytes and URLs are files.
type Part struct {
	Text      *string         `json:"text,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Raw       []byte          `json:"raw,omitempty"`
	URL       string          `json:"url,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
	Filename  string          `json:"filename,omitempty"`
}

// Text returns a single text part.
func Text(s string) []Part { return []Part{{Text: &s}} }

// Message is a message from either side.
type Message struct {
	// MessageID is generated if a test sends a message without one.
	MessageID string `json:"messageId"`
	TaskID    string `json:"taskId,omitempty"`
	ContextID string `json:"contextId,omitempty"`
	// Role is "user" or "agent"; empty means user.
	Role     string         `json:"role,omitempty"`
	Parts    []Part         `json:"parts"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Text returns the message's texts, concatenated. The message may be nil.
func (m *Message) Text() string {
	if m == nil {
		return ""
	}
	return joinTexts(m.Parts)
}

// Artifact is an output or a chunk of one.
type Artifact struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Parts []Part `json:"parts"`
}

// Task is a client's view of a task. State is the protocol's word in lower case with hyphens,
// such as "input-required".
type Task struct {
	ID        string         `json:"id"`
	ContextID string         `json:"contextId"`
	State     string         `json:"state"`
	Message   *Message       `json:"message"`
	Artifacts []Artifact     `json:"artifacts"`
	History   []Message      `json:"history"`
	Metadata  map[string]any `json:"metadata"`
}

// Text returns the texts of all artifacts.
func (t *Task) Text() string {
	var b strings.Builder
	for _, a := range t.Artifacts {
		b.WriteString(joinTexts(a.Parts))
	}
	return b.String()
}

// Reply is the reply to a message: a message or a task.
type Reply struct {
	Message *Message `json:"message"`
	Task    *Task    `json:"task"`
}

// Event is an event of a stream: one of its fields is set.
type Event struct {
	Reply
	Status   *StatusUpdate   `json:"status"`
	Artifact *ArtifactUpdate `json:"artifact"`
}

// StatusUpdate is a task's new state. Final exists only in version 0.3.
type StatusUpdate struct {
	TaskID    string         `json:"taskId"`
	ContextID string         `json:"contextId"`
	State     string         `json:"state"`
	Message   *Message       `json:"message"`
	Metadata  map[string]any `json:"metadata"`
	Final     bool           `json:"final"`
}

// ArtifactUpdate is an artifact, or the next chunk of one.
type ArtifactUpdate struct {
	Artifact
	TaskID    string `json:"taskId"`
	ContextID string `json:"contextId"`
	Append    bool   `json:"append"`
	LastChunk bool   `json:"lastChunk"`
}

// State returns the state in the event, or "" if it has none.
func (e Event) State() string {
	switch {
	case e.Task != nil:
		return e.Task.State
	case e.Status != nil:
		return e.Status.State
	default:
		return ""
	}
}

// TaskID returns the id of the event's task, or "" for a message.
func (e Event) TaskID() string {
	switch {
	case e.Task != nil:
		return e.Task.ID
	case e.Status != nil:
		return e.Status.TaskID
	case e.Artifact != nil:
		return e.Artifact.TaskID
	default:
		return ""
	}
}

// Assembled returns the texts of a stream's artifact chunks and tasks as a client would assemble
// them: a task replaces everything before it.
func Assembled(events []Event) string {
	var order []string
	texts := map[string]string{}
	put := func(a Artifact, onto string) {
		if _, known := texts[a.ID]; !known {
			order = append(order, a.ID)
		}
		texts[a.ID] = onto + joinTexts(a.Parts)
	}
	for _, e := range events {
		switch {
		case e.Task != nil:
			order, texts = nil, map[string]string{}
			for _, a := range e.Task.Artifacts {
				put(a, "")
			}
		case e.Artifact != nil && e.Artifact.Append:
			put(e.Artifact.Artifact, texts[e.Artifact.ID])
		case e.Artifact != nil:
			put(e.Artifact.Artifact, "")
		}
	}
	var b strings.Builder
	for _, id := range order {
		b.WriteString(texts[id])
	}
	return b.String()
}

// Push is the address for notifications about a task. Scheme and Credentials go into the
// Authorization header.
type Push struct {
	ID          string `json:"id,omitempty"`
	TaskID      string `json:"taskId,omitempty"`
	URL         string `json:"url"`
	Token       string `json:"token,omitempty"`
	Scheme      string `json:"scheme,omitempty"`
	Credentials string `json:"credentials,omitempty"`
}

// Card has the parts of an agent card that tests check.
type Card struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Streaming   bool        `json:"streaming"`
	Push        bool        `json:"push"`
	Interfaces  []Interface `json:"interfaces"`
	Skills      []string    `json:"skills"`
}

// Interface is an address of the agent in a card.
type Interface struct {
	URL       string `json:"url"`
	Transport string `json:"transport"`
	Version   string `json:"version"`
}

// Error is an error thrown by an SDK.
type Error struct {
	// Reason is the protocol's name without the word Error: "TaskNotFound"; or
	// "HTTP 401"; or a code of JSON-RPC; or "Aborted".
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Error describes the SDK's error.
func (e *Error) Error() string { return e.Reason + ": " + e.Message }

// Reason returns the reason of an *Error, or "" for anything else.
func Reason(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ""
}

func joinTexts(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Text != nil {
			b.WriteString(*p.Text)
		}
	}
	return b.String()
}
