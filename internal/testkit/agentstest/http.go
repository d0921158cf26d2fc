package agentstest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/agents/wire"
)

// OverHTTP returns a driver that uses the agents below a URL, such as http://127.0.0.1:8080/agents.
// Requests carry the header.
func OverHTTP(client *http.Client, base string, header http.Header) Driver {
	return overHTTP{client, base, header}
}

type overHTTP struct {
	client *http.Client
	base   string
	header http.Header
}

// Send runs a streamed turn for each input. Each turn after the first continues from the previous
// one.
func (d overHTTP) Send(ctx context.Context, agent string, init *wire.Init, inputs []*wire.Input) (chunks []*wire.Chunk, output *wire.Output, err error) {
	for _, input := range inputs {
		var list []*wire.Chunk
		if list, output, err = d.stream(ctx, agent, init, input); err != nil {
			return chunks, nil, err
		}
		chunks, init = append(chunks, list...), continuing(output)
	}
	return chunks, output, nil
}

// continuing returns the init of the turn after an output.
func continuing(output *wire.Output) *wire.Init {
	if output.State != nil {
		return &wire.Init{State: output.State}
	}
	return &wire.Init{SnapshotID: output.SnapshotID}
}

// stream runs one turn as a stream.
func (d overHTTP) stream(ctx context.Context, agent string, init *wire.Init, input *wire.Input) ([]*wire.Chunk, *wire.Output, error) {
	resp, err := d.post(ctx, "/"+agent, "text/event-stream", map[string]any{"data": input, "init": init})
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, err
	}
	var chunks []*wire.Chunk
	for text := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n\n"), "\n\n") {
		var frame wire.Frame
		line, ok := strings.CutPrefix(text, "data: ")
		if !ok {
			return chunks, nil, fmt.Errorf("frame %q", text)
		}
		if err := json.Unmarshal([]byte(line), &frame); err != nil {
			return chunks, nil, fmt.Errorf("frame %q: %w", text, err)
		}
		switch {
		case frame.Message != nil:
			chunks = append(chunks, frame.Message)
		case frame.Error != nil:
			return chunks, nil, frame.Error
		default:
			return chunks, frame.Result, nil
		}
	}
	return chunks, nil, fmt.Errorf("the stream has no end: %s", data)
}

// post sends a request. A rejection is a *wire.Error.
func (d overHTTP) post(ctx context.Context, path, accept string, body any) (*http.Response, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base+path, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	req.Header = d.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	resp, err := d.client.Do(req)
	if err != nil || resp.StatusCode == http.StatusOK {
		return resp, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return nil, &wire.Error{Status: statusOf(resp.StatusCode), Message: strings.TrimSpace(string(text))}
}

// statusOf returns the first status that has the status code.
func statusOf(code int) wire.Status {
	for _, s := range []wire.Status{
		wire.StatusInvalidArgument, wire.StatusUnauthenticated, wire.StatusPermissionDenied, wire.StatusNotFound, wire.StatusAborted,
		wire.StatusResourceExhausted, wire.StatusUnimplemented, wire.StatusUnavailable, wire.StatusDeadlineExceeded,
	} {
		if s.HTTP() == code {
			return s
		}
	}
	return wire.StatusInternal
}

// ask sends a request to a companion route and returns the result.
func ask[T any](ctx context.Context, d overHTTP, path string, request any) (*T, error) {
	resp, err := d.post(ctx, path, "application/json", map[string]any{"data": request})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var reply wire.Reply[*T]
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return nil, err
	}
	return reply.Result, nil
}

// GetSnapshot returns a snapshot.
func (d overHTTP) GetSnapshot(ctx context.Context, agent string, request *wire.GetSnapshotRequest) (*wire.Snapshot, error) {
	return ask[wire.Snapshot](ctx, d, "/"+agent+"/getSnapshot", request)
}

// WaitForSnapshot returns a snapshot once it is no longer pending.
func (d overHTTP) WaitForSnapshot(ctx context.Context, agent string, request *wire.GetSnapshotRequest) (*wire.Snapshot, error) {
	return ask[wire.Snapshot](ctx, d, "/"+agent+"/waitForSnapshot", request)
}

// Abort ends a turn.
func (d overHTTP) Abort(ctx context.Context, agent string, request *wire.AbortRequest) (*wire.AbortResponse, error) {
	return ask[wire.AbortResponse](ctx, d, "/"+agent+"/abort", request)
}
