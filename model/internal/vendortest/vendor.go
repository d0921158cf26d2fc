// Package vendortest is the test suite for executors that use HTTP, with helpers for vendors'
// tests: a vendor on loopback, recorded streams, and checks of answers, failures and
// configurations. Only tests import it.
package vendortest

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
)

// Provider is the id of the provider under test. Every error of its executors must name it.
const Provider = "vendor"

// Access has the settings shared by all vendors. Its JSON is a configuration of each.
type Access struct {
	APIKey  string            `json:"api_key,omitempty"`
	BaseURL string            `json:"base_url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Vendor describes an implementation and its vendor for the suite.
type Vendor struct {
	// Kind is the provider type, Type its name in a configuration.
	Kind model.ProviderKind
	Type string
	// Name is the vendor's name for observers; empty means Type.
	Name string
	// Settings are required in every configuration, in addition to Access.
	Settings map[string]any
	// New creates an executor for the provider Provider, like Kind, but with the test's transport.
	New func(Access, http.RoundTripper) (model.Executor, error)

	// Key is a key in the vendor's format, and MaskedKey one as the vendor shows it.
	Key, MaskedKey string
	// KeyHeader is the header that carries the key, after KeyPrefix.
	KeyHeader, KeyPrefix string
	// Headers are further headers of every request.
	Headers map[string]string
	// Path is the request path relative to the base URL: a pattern of path.Match. Query is its
	// query.
	Path, Query string
	// URLs are the URLs that receive Hello, by base_url.
	URLs map[string]string
	// CheckBody checks the body of a request against the vendor's API.
	CheckBody func(testing.TB, []byte)
	// Environment are variables that the vendor's SDK reads. Their values say "environment", or
	// else would redirect a request.
	Environment map[string]string

	// Model is the model that Hello uses.
	Model string
	// Conversation returns a request that uses every feature of requests.
	Conversation func() *model.Request
	// Folder holds the recorded streams. The stream "text" contains text, and the one named by
	// Calls calls several tools.
	Folder     string
	Calls      string
	Recordings []Recording
	// Patience is how long a server that leaves its stream open may delay a complete answer.
	Patience time.Duration

	// Encode converts an event from a server-sent event to the vendor's form; nil for a vendor that
	// uses server-sent events. Endless then returns streams with an event that does not end.
	Encode  func(event []byte) []byte
	Endless func() []io.Reader

	// Refusal and StreamError are the vendor's forms of an error, with a verb for its message: as a
	// response body, and inside a stream.
	Refusal, StreamError string
}

// Recording is a recorded stream with its expected result.
type Recording struct {
	// Name is the file's name without .sse, or the case's name if Stream is set.
	Name string
	// Stream is the text of the stream, for CheckStreams.
	Stream string
	// Request returns the matching request; nil for the shortest.
	Request func() *model.Request
	// Parts are the parts of the answer. A call id that ends in a question mark matches a
	// generated id.
	Parts []model.Part
	// Reason and Usage belong to the finish event.
	Reason model.FinishReason
	Usage  *model.Usage
	// Class and Message describe an error that ends the stream instead.
	Class   model.ErrorClass
	Message string
	// EndsAnywhere is set if each event of the stream claims to be the last.
	EndsAnywhere bool
	// Hidden is a name that no event may contain.
	Hidden string
}

// Hello returns the shortest request.
func Hello(name string) *model.Request {
	return &model.Request{Model: name, Messages: []model.Message{model.User("Hello")}}
}

func (v *Vendor) helloRequest() *model.Request { return Hello(v.Model) }

// Recorded returns a recorded stream.
func (v *Vendor) Recorded(t testing.TB, name string) []byte {
	t.Helper()
	return bytes.Join(v.recordedEvents(t, name), nil)
}

// recordedEvents returns the events of a recorded stream.
func (v *Vendor) recordedEvents(t testing.TB, name string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(v.Folder, name+".sse"))
	if err != nil {
		t.Fatal(err)
	}
	return v.encodeEvents(splitEvents(data))
}

// splitEvents returns the events of a stream, each with its blank line.
func splitEvents(stream []byte) [][]byte {
	var events [][]byte
	start, end := 0, 0
	for line := range bytes.Lines(stream) {
		end += len(line)
		if len(bytes.TrimSpace(line)) == 0 {
			events = append(events, stream[start:end])
			start = end
		}
	}
	return append(events, stream[start:])
}

// encodeEvents converts server-sent events to the vendor's form.
func (v *Vendor) encodeEvents(events [][]byte) [][]byte {
	if v.Encode == nil {
		return events
	}
	for i, event := range events {
		events[i] = v.Encode(event)
	}
	return events
}

// AllRecorded returns the streams of all files in the folder by name.
func (v *Vendor) AllRecorded(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(v.Folder, "*.sse"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", v.Folder, err)
	}
	streams := map[string][]byte{}
	for _, file := range files {
		name := filepath.Base(file)
		name = name[:len(name)-len(".sse")]
		streams[name] = v.Recorded(t, name)
	}
	return streams
}
