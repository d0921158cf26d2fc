package a2asdk

import (
	"encoding/json"
	"testing"
)

// ServerOptions are the contents and requirements of a server's card.
type ServerOptions struct {
	Streaming bool `json:"streaming"`
	// Token is the bearer token required of callers; "" admits everyone. The card is public.
	Token string `json:"token,omitempty"`
	// Transports are the transports on the card, preferred one first. Default: JSONRPC, REST. The
	// server answers on both.
	Transports []string `json:"transports,omitempty"`
	// Extensions are the URIs of the extensions on the card.
	Extensions []string `json:"extensions,omitempty"`
	// Signed makes the server sign the card with a key of its own; only in version 1.0.
	Signed bool `json:"signed,omitempty"`
}

// Server is the server of an SDK with one scripted agent. The first word of a
// message selects the script that the agent plays, the rest of it is the
// script's own:
//
//	echo TEXT       completes with TEXT as an artifact
//	stream N        completes with an artifact of N chunks "0;1;…"
//	hold N          sends N chunks and completes when released
//	parts           completes with a text, a data, a file and a link artifact
//	ask TEXT        asks for input, and completes with "you said …"
//	authorize TEXT  asks for authorization, and completes with the next message
//	consent TEXT    asks for authorization, and completes when released
//	fail TEXT       fails with TEXT
//	reject TEXT     is rejected with TEXT
//	message TEXT    answers with a message and no task
//	stubborn        holds, and ignores a cancel
//	headers         completes with the request's headers as data
type Server struct {
	// URL is the base URL of the card.
	URL string
	// GRPC is its gRPC address as host:port; only with Python.
	GRPC string
	// Key is the JSON Web Key that verifies the card's signature.
	Key json.RawMessage

	*object
}

// Happening is an event reported by a server.
type Happening struct {
	// Kind is "request" for an HTTP request, or the progress of an agent's turn: "started",
	// "continued", "holding", "canceled", "ended".
	Kind string `json:"kind"`
	// Method is the JSON-RPC method, or otherwise the HTTP method.
	Method    string            `json:"method"`
	Path      string            `json:"path"`
	Headers   map[string]string `json:"headers"` // lower case
	TaskID    string            `json:"taskId"`
	ContextID string            `json:"contextId"`
	MessageID string            `json:"messageId"`
	Text      string            `json:"text"`
	Metadata  map[string]any    `json:"metadata"`
}

// NewServer starts a server of a version on a loopback port. It ends with the test.
func NewServer(t testing.TB, v Version, o ServerOptions) *Server {
	t.Helper()
	object, made := newObject(t, v, "server", o)
	return &Server{made.URL, made.GRPC, made.Key, object}
}

// Await waits for the first happening of a kind that match accepts; nil accepts any. The test fails
// if it does not happen.
func (s *Server) Await(kind string, match func(Happening) bool) Happening {
	s.t.Helper()
	for i := 0; ; i++ {
		l, err := s.happened.lineAt(s.t.Context(), i)
		if err != nil {
			s.t.Fatalf("nothing is %s: %v\n%s", kind, err, s.driver.stderr.Text())
		}
		h := s.decodeHappening(l)
		if h.Kind == kind && (match == nil || match(h)) {
			return h
		}
	}
}

// AwaitTask is Await for a happening of one task.
func (s *Server) AwaitTask(kind, taskID string) Happening {
	s.t.Helper()
	return s.Await(kind, func(h Happening) bool { return h.TaskID == taskID })
}

// AwaitNumber waits until there have been n happenings of a kind.
func (s *Server) AwaitNumber(kind string, n int) {
	s.t.Helper()
	s.Await(kind, func(Happening) bool { n--; return n <= 0 })
}

// Happened returns the happenings of a kind so far.
func (s *Server) Happened(kind string) []Happening {
	var all []Happening
	for _, l := range s.happened.allLines() {
		if h := s.decodeHappening(l); h.Kind == kind {
			all = append(all, h)
		}
	}
	return all
}

// Release lets a held task continue.
func (s *Server) Release(taskID string) {
	s.t.Helper()
	if _, err := callMethod[any](s.object, "release", map[string]any{"taskId": taskID}); err != nil {
		s.t.Fatalf("release %s: %v", taskID, err)
	}
}

func (s *Server) decodeHappening(l line) Happening {
	s.t.Helper()
	var h Happening
	if err := json.Unmarshal(l.Event, &h); err != nil {
		s.t.Errorf("the server tells %s: %v", l.Event, err)
	}
	return h
}
