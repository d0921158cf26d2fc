package doctor

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
)

// examiner examines one peer.
type examiner struct {
	peer *client.Peer
	// cardURL is where the card was found.
	cardURL *url.URL
	// credential is set if requests have a credential.
	credential bool
	// agent is the examined agent of a list; empty for a single card.
	agent string
	found *backend.Examination
}

func (x *examiner) addPass(name, format string, args ...any) {
	x.addFinding(name, backend.OutcomeOK, "", format, args...)
}

func (x *examiner) addWarning(name, want, format string, args ...any) {
	x.addFinding(name, backend.OutcomeWarning, want, format, args...)
}

func (x *examiner) addFailure(name, want, format string, args ...any) {
	x.addFinding(name, backend.OutcomeError, want, format, args...)
}

func (x *examiner) addFinding(name string, o backend.Outcome, want, format string, args ...any) {
	if x.agent != "" {
		name = x.agent + ": " + name
	}
	x.found.Checks = append(x.found.Checks, backend.Check{
		Name: name, Outcome: o, Seen: x.peer.Shown(fmt.Sprintf(format, args...), client.MaxShown), Want: want,
	})
}

// seen is a peer's response.
type seen struct {
	status int
	header http.Header
	// kind is the type of the content.
	kind string
	body []byte
	// err is the protocol's error in the body, and message its text.
	err     error
	message string
}

// doRequest sends a request and returns the response with the first maxCard bytes of its body, or
// with the first event of a stream.
func (x *examiner) doRequest(req *http.Request) (*seen, error) {
	resp, err := x.peer.Send(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	got := &seen{status: resp.StatusCode, header: resp.Header, kind: client.MediaType(resp)}
	if got.kind == client.TypeEvents {
		got.body, err = firstEvent(resp.Body)
	} else {
		got.body, err = client.ReadAll(resp.Body, "the answer", client.MaxCard)
	}
	got.message, got.err = client.DecodeError(got.body)
	return got, err
}

func (x *examiner) getURL(ctx context.Context, u *url.URL, tag string) (*seen, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	return x.doRequest(req)
}

// firstEvent returns the data of the first event of a stream.
func firstEvent(body io.ReadCloser) ([]byte, error) {
	lines := bufio.NewScanner(client.Bound(body, "an event", client.MaxCard))
	lines.Buffer(nil, client.MaxCard)
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if part, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(part, []byte(" "))...)
		} else if len(line) == 0 && len(data) > 0 {
			return data, nil
		}
	}
	return data, lines.Err()
}
