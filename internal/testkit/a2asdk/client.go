package a2asdk

import (
	"encoding/json"
	"iter"
	"testing"

	"github.com/google/uuid"
)

// The transports, as named in cards.
const (
	JSONRPC = "JSONRPC"
	REST    = "HTTP+JSON"
	GRPC    = "GRPC" // with Python alone
)

// ClientOptions describe how a client reaches its agent.
type ClientOptions struct {
	// Transport is the only transport that the client supports. By default it supports both and
	// uses the card's preference.
	Transport string `json:"transport,omitempty"`
	// Headers are sent with every request, including the one for the card.
	Headers map[string]string `json:"headers,omitempty"`
	// CardPath is the path of the card relative to the base URL. Default:
	// .well-known/agent-card.json.
	CardPath string `json:"cardPath,omitempty"`
}

// Client is the client of an SDK. Its methods return an *Error if the SDK threw an error. It is
// safe for concurrent use.
type Client struct {
	*object
}

// NewClient starts a client of a version for the agent at a base URL, below which its card is. It
// ends with the test. It connects to the agent on its first call.
func NewClient(t testing.TB, v Version, base string, o ClientOptions) *Client {
	t.Helper()
	type options struct {
		ClientOptions
		URL string `json:"url"`
	}
	object, _ := newObject(t, v, "client", options{ClientOptions: o, URL: base})
	return &Client{object}
}

// Bearer returns the headers for a token.
func Bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

// Sending is a message and how to answer it.
type Sending struct {
	Message Message `json:"message"`
	// Immediately requests the task right away instead of at its end.
	Immediately bool `json:"immediately,omitempty"`
	// HistoryLength limits the history of the task in the reply.
	HistoryLength *int `json:"historyLength,omitempty"`
	// Push is the address to which changes of the new task are posted.
	Push *Push `json:"push,omitempty"`
}

// Say is a new message with a text.
func Say(text string) Sending { return Sending{Message: Message{Parts: Text(text)}} }

// Continue returns a message to a task that waits for one.
func Continue(t *Task, text string) Sending {
	return Sending{Message: Message{TaskID: t.ID, ContextID: t.ContextID, Parts: Text(text)}}
}

func (s Sending) withID() Sending {
	if s.Message.MessageID == "" {
		s.Message.MessageID = uuid.NewString()
	}
	return s
}

// Card returns the client's card: the extended one if there is one.
func (c *Client) Card() (Card, error) { return callMethod[Card](c.object, "card", nil) }

// SignedCard returns the public card if one of its signatures is by one of the keys, which are JSON
// Web Keys. Version 0.3 checks no signatures.
func (c *Client) SignedCard(keys json.RawMessage) (Card, error) {
	return callMethod[Card](c.object, "signedCard", map[string]any{"keys": keys})
}

// Send sends a message and returns the reply.
func (c *Client) Send(s Sending) (Reply, error) {
	return callMethod[Reply](c.object, "send", s.withID())
}

// Stream sends a message and returns the events that follow. Breaking out aborts it, like closing a
// browser.
func (c *Client) Stream(s Sending) iter.Seq2[Event, error] {
	return c.streamEvents("stream", s.withID())
}

// Subscribe returns the future events of a task.
func (c *Client) Subscribe(taskID string) iter.Seq2[Event, error] {
	return c.streamEvents("subscribe", map[string]any{"id": taskID})
}

// Get returns a task, with its full history if historyLength is nil.
func (c *Client) Get(taskID string, historyLength *int) (Task, error) {
	type query struct {
		ID            string `json:"id"`
		HistoryLength *int   `json:"historyLength,omitempty"`
	}
	return callMethod[Task](c.object, "get", query{ID: taskID, HistoryLength: historyLength})
}

// Cancel cancels a task.
func (c *Client) Cancel(taskID string) (Task, error) {
	return callMethod[Task](c.object, "cancel", map[string]any{"id": taskID})
}

// Query selects the tasks to list.
type Query struct {
	ContextID        string `json:"contextId,omitempty"`
	State            string `json:"state,omitempty"`
	PageSize         int    `json:"pageSize,omitempty"`
	PageToken        string `json:"pageToken,omitempty"`
	IncludeArtifacts bool   `json:"includeArtifacts,omitempty"`
}

// Page is a page of tasks. The last has an empty NextPageToken.
type Page struct {
	Tasks         []Task `json:"tasks"`
	NextPageToken string `json:"nextPageToken"`
	TotalSize     int    `json:"totalSize"`
}

// List returns a page of tasks. Version 0.3 has no such method.
func (c *Client) List(q Query) (Page, error) { return callMethod[Page](c.object, "list", q) }

// CreatePush requests that changes of p.TaskID be posted.
func (c *Client) CreatePush(p Push) (Push, error) { return callMethod[Push](c.object, "pushCreate", p) }

// GetPush returns one of a task's push configurations.
func (c *Client) GetPush(taskID, id string) (Push, error) {
	return callMethod[Push](c.object, "pushGet", map[string]any{"taskId": taskID, "id": id})
}

// ListPush returns a task's push configurations.
func (c *Client) ListPush(taskID string) ([]Push, error) {
	return callMethod[[]Push](c.object, "pushList", map[string]any{"taskId": taskID})
}

// DeletePush deletes one of a task's push configurations.
func (c *Client) DeletePush(taskID, id string) error {
	_, err := callMethod[any](c.object, "pushDelete", map[string]any{"taskId": taskID, "id": id})
	return err
}

// Collect returns all events of a stream, up to the error that ends it.
func Collect(events iter.Seq2[Event, error]) ([]Event, error) {
	var all []Event
	for e, err := range events {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}
