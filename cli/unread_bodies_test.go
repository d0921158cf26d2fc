package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
)

// sendAll sends a request of the given size over a new connection and reads nothing before all of
// it is sent.
func (w *town) sendAll(t *testing.T, path, key string, size int, chunked bool) (*http.Response, error) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.LocalURL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(storeTime)); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.LocalURL()+path, io.LimitReader(zeros{}, int64(size)))
	if err != nil {
		t.Fatal(err)
	}
	if !chunked {
		req.ContentLength = int64(size)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	req.Header.Set("Authorization", "Bearer "+key)
	if err := req.Write(conn); err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	return http.ReadResponse(bufio.NewReader(conn), req)
}

// zeros is an endless text.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// TestAClientThatSendsAllFirstReadsWhyItIsRefused sends large bodies to all surfaces: bodies that
// are too large, and bodies left unread because of another error.
func TestAClientThatSendsAllFirstReadsWhyItIsRefused(t *testing.T) {
	w := newTown(t)
	const large = 8 << 20
	for _, tt := range []struct {
		path, key string
		size      int
		status    int
	}{
		{annPath + "/agent-runs", annKey, 2 * settings.DefaultMaxBodyBytes, http.StatusRequestEntityTooLarge},
		{annPath + "/agent-runs", annKey, settings.DefaultMaxBodyBytes + 1, http.StatusRequestEntityTooLarge},
		{annPath + "/agent-sessions", annKey, 2 * settings.DefaultMaxBodyBytes, http.StatusRequestEntityTooLarge},
		{"/runtime/v1/turns", annKey, 2 * settings.DefaultMaxBodyBytes, http.StatusRequestEntityTooLarge},
		{"/a2a/clerk", annKey, 2 * settings.DefaultMaxBodyBytes, http.StatusRequestEntityTooLarge},
		{annPath + "/agent-runs/none/tool-results", annKey, large, http.StatusNotFound},
		{annPath + "/agent-runs", "wrong", large, http.StatusUnauthorized},
		{"/api/v1/workspaces/globex/agent-runs", annKey, large, http.StatusNotFound},
		{"/nowhere", annKey, large, http.StatusNotFound},
		{"/healthz", annKey, large, http.StatusMethodNotAllowed},
	} {
		for _, chunked := range []bool{false, true} {
			resp, err := w.sendAll(t, tt.path, tt.key, tt.size, chunked)
			if err != nil {
				t.Errorf("%s with %d bytes, in chunks %v: %v", tt.path, tt.size, chunked, err)
				continue
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			ofA2A := strings.HasPrefix(tt.path, "/a2a") && strings.Contains(string(body), "bytes")
			if err != nil || resp.StatusCode != tt.status && !ofA2A {
				t.Errorf("%s with %d bytes, in chunks %v: %d %s, %v", tt.path, tt.size, chunked, resp.StatusCode, body, err)
			}
		}
	}
}

// TestABodyThatNobodyAskedForIsNotReadForEver sends more than the server reads of a body.
func TestABodyThatNobodyAskedForIsNotReadForEver(t *testing.T) {
	w := newTown(t)
	resp, err := w.sendAll(t, annPath+"/agent-runs", annKey, 1<<30, true)
	if err == nil {
		_ = resp.Body.Close()
		t.Error("all of it was read")
	}
}
