package agents

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/internal/redact"
)

// RemoteSettings configures an agent on another server.
type RemoteSettings struct {
	// URL is the agent's URL, such as https://example.com/agents/desk. It is required.
	URL string
	// Header is sent with each request, for example for credentials.
	Header http.Header
	// Client sends the requests; nil is http.DefaultClient.
	Client *http.Client
	// Metadata describes the agent; nil means an agent whose server keeps its state.
	Metadata *wire.Metadata

	_ struct{} // keyed literals only
}

// NewRemote returns an agent on another server that serves the agents API over HTTP.
func NewRemote(s RemoteSettings) (Handle, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, fmt.Errorf("the URL of the agent: %w", redact.WithoutURL(err))
	}
	name := u.Path[strings.LastIndexByte(u.Path, '/')+1:]
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || name == "" {
		return nil, fmt.Errorf("the URL of the agent is %q; it must be an http or https URL that ends with the agent's name", redact.URL(s.URL))
	}
	if s.Client == nil {
		s.Client = http.DefaultClient
	}
	if s.Metadata == nil {
		s.Metadata = &wire.Metadata{StateManagement: wire.StateServer, Abortable: true}
	}
	return &remote{settings: s, name: name}, nil
}

// remote is an agent on another server.
type remote struct {
	settings RemoteSettings
	name     string
}

var _ Handle = (*remote)(nil)

// Name returns the name of the agent.
func (a *remote) Name() string { return a.name }

// Metadata describes the agent.
func (a *remote) Metadata() wire.Metadata { return *a.settings.Metadata }

// maxErrorText and maxFrame limit the bytes read of an error and of a stream frame.
const (
	maxErrorText = 4 << 10
	maxFrame     = 64 << 20
)

// streamHeader carries the id of a stream.
const streamHeader = "X-Genkit-Stream-Id"

// post sends a request. The caller must close the response body unless there is an error.
func (a *remote) post(ctx context.Context, path string, body any, header ...string) (*http.Response, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.settings.URL+path, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	for name, values := range a.settings.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := a.settings.Client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("call agent %s: %w", a.name, redact.WithoutURL(err))
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorText)) // the status is enough
	return nil, errorOfReply(resp.StatusCode, string(text))
}

// internalStatuses are the statuses whose replies have code 500, as unknown statuses do.
var internalStatuses = []wire.Status{wire.StatusInternal, wire.StatusUnknown, wire.StatusDataLoss}

// errorOfReply returns the error of a reply other than 200. The reply's text begins with the
// status, except from some other servers.
func errorOfReply(code int, text string) *wire.Error {
	text = strings.TrimSpace(text)
	name, rest, hasStatus := strings.Cut(text, ": ")
	status := wire.Status(name)
	isKnown := code != http.StatusInternalServerError || slices.Contains(internalStatuses, status)
	if hasStatus && isKnown && status.HTTP() == code {
		return &wire.Error{Status: status, Message: rest}
	}
	return &wire.Error{Status: wire.StatusOfHTTP(code), Message: text}
}

// ask sends a request and returns the result of the reply.
func ask[T any](ctx context.Context, a *remote, path string, body any) (T, error) {
	var reply wire.Reply[T]
	resp, err := a.post(ctx, path, body)
	if err != nil {
		return reply.Result, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxFrame)).Decode(&reply); err != nil {
		return reply.Result, fmt.Errorf("read the reply of agent %s: %w", a.name, err)
	}
	return reply.Result, nil
}

// turnRequest is the body of a request that runs a turn.
type turnRequest struct {
	Data *wire.Input `json:"data"`
	Init *wire.Init  `json:"init,omitempty"`
}

// companionRequest is the body of any other request.
type companionRequest struct {
	Data any `json:"data"`
}

// Begin starts a turn. When ctx ends, its stream is no longer read.
func (a *remote) Begin(ctx context.Context, init *wire.Init, input *wire.Input) (Run, error) {
	return a.openStream(ctx, turnRequest{input, init})
}

// Follow returns a stream from its beginning.
func (a *remote) Follow(ctx context.Context, id string) (Run, error) {
	return a.openStream(ctx, turnRequest{Data: &wire.Input{}}, streamHeader, id)
}

// openStream sends a request for a stream and returns its run after the first frame.
func (a *remote) openStream(ctx context.Context, body turnRequest, header ...string) (Run, error) {
	resp, err := a.post(ctx, "", body, append(header, "Accept", "text/event-stream")...)
	if err != nil {
		return nil, err
	}
	r := &remoteRun{body: resp.Body, streamID: resp.Header.Get(streamHeader)}
	r.lines = bufio.NewScanner(resp.Body)
	r.lines.Buffer(nil, maxFrame)
	if r.first, err = r.readFrame(); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return r, nil
}

// Detach starts a turn in the background.
func (a *remote) Detach(ctx context.Context, init *wire.Init, input *wire.Input, o DetachOptions) (*wire.Output, error) {
	if !o.NotBefore.IsZero() || !o.Deadline.IsZero() || len(o.Metadata) > 0 {
		return nil, newError(wire.StatusUnimplemented, "agent %q is remote: its protocol has no options for detached turns", a.name)
	}
	detached := *input
	detached.Detach = true
	return ask[*wire.Output](ctx, a, "", turnRequest{&detached, init})
}

// GetSnapshot returns a snapshot.
func (a *remote) GetSnapshot(ctx context.Context, request *wire.GetSnapshotRequest) (*wire.Snapshot, error) {
	return ask[*wire.Snapshot](ctx, a, "/getSnapshot", companionRequest{request})
}

// WaitForSnapshot returns a snapshot once it is no longer pending.
func (a *remote) WaitForSnapshot(ctx context.Context, request *wire.GetSnapshotRequest) (*wire.Snapshot, error) {
	return ask[*wire.Snapshot](ctx, a, "/waitForSnapshot", companionRequest{request})
}

// Abort ends a turn.
func (a *remote) Abort(ctx context.Context, request *wire.AbortRequest) (*wire.AbortResponse, error) {
	return ask[*wire.AbortResponse](ctx, a, "/abort", companionRequest{request})
}

// Connect opens a conversation. The first turn checks that it exists.
func (a *remote) Connect(_ context.Context, init *wire.Init) (Connection, error) {
	return &remoteConnection{agent: a, init: *init}, nil
}

// remoteConnection is a conversation with an agent on another server.
type remoteConnection struct {
	agent *remote
	init  wire.Init
	last  *remoteRun
}

// SessionID returns the id of the session; empty until the server sends it.
func (c *remoteConnection) SessionID() string {
	c.noteLast()
	return c.init.SessionID
}

// noteLast records the result of the latest turn for the next one to continue from.
func (c *remoteConnection) noteLast() {
	if c.last == nil || c.last.output == nil {
		return
	}
	switch out := c.last.output; {
	case out.State != nil:
		c.init = wire.Init{State: out.State}
	case out.SnapshotID != "":
		c.init = wire.Init{SessionID: out.SessionID, SnapshotID: out.SnapshotID}
	}
	c.last = nil
}

// Begin begins the next turn.
func (c *remoteConnection) Begin(ctx context.Context, input *wire.Input) (Run, error) {
	c.noteLast()
	run, err := c.agent.Begin(ctx, &c.init, input)
	if begun, ok := run.(*remoteRun); ok {
		c.last = begun
	}
	return run, err
}

// DetachRun fails: over HTTP a turn is detached when it begins.
func (*remoteConnection) DetachRun(context.Context, Run) (*wire.Output, error) {
	return nil, newError(wire.StatusFailedPrecondition, "a turn of a remote agent is detached when it begins: send its message with detach")
}

// remoteRun is the stream of a turn on another server.
type remoteRun struct {
	body     io.ReadCloser
	lines    *bufio.Scanner
	streamID string
	// first is a frame that was read but not yet used.
	first  *wire.Frame
	output *wire.Output
	err    error
}

// SnapshotID returns the id of the snapshot, once the output is known.
func (r *remoteRun) SnapshotID() string {
	if r.output == nil {
		return ""
	}
	return r.output.SnapshotID
}

// StreamID returns the id of the stream; empty if the server keeps none.
func (r *remoteRun) StreamID() string { return r.streamID }

// errCut reports a stream that ended before its result.
var errCut = errors.New("the stream of the agent ended before its result")

// readFrame returns the next frame. The error of an error frame is returned.
func (r *remoteRun) readFrame() (*wire.Frame, error) {
	if frame := r.first; frame != nil {
		r.first = nil
		return frame, nil
	}
	for r.lines.Scan() {
		data, ok := bytes.CutPrefix(r.lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		frame := new(wire.Frame)
		if err := json.Unmarshal(data, frame); err != nil {
			return nil, fmt.Errorf("read a frame: %w", err)
		}
		if frame.Error != nil {
			return nil, frame.Error
		}
		return frame, nil
	}
	if err := r.lines.Err(); err != nil {
		return nil, err
	}
	return nil, errCut
}

// Chunks returns the chunks of the stream.
func (r *remoteRun) Chunks(context.Context) iter.Seq2[*wire.Chunk, error] {
	return func(yield func(*wire.Chunk, error) bool) {
		for r.output == nil && r.err == nil {
			frame, err := r.readFrame()
			switch {
			case err != nil:
				r.err = err
				_ = r.body.Close()
				yield(nil, err)
			case frame.Result != nil:
				r.output = frame.Result
				_ = r.body.Close()
			case frame.Message != nil && !yield(frame.Message, nil):
				return
			}
		}
	}
}

// Output reads the stream to its end, and returns the output.
func (r *remoteRun) Output(ctx context.Context) (*wire.Output, error) {
	for _, err := range r.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
	}
	return r.output, r.err
}
