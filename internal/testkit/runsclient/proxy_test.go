package runsclient_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/runsclient"
)

// cut defines how a proxy cuts its connections: after the given number of stream events and
// additional bytes, or just before the last event's final newline; with a reset or as if the server
// had hung up.
type cut struct {
	events, bytes int
	short, reset  bool
}

// proxy is a proxy between a client and alternating servers.
type proxy struct {
	url      string
	listener net.Listener
	servers  []string
	cut      cut
	// made counts the connections, broken the connections that were cut.
	made, broken atomic.Int64
	open         sync.WaitGroup
}

// between starts a proxy, which ends with the test.
func between(t *testing.T, how cut, servers ...*program) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{url: "http://" + listener.Addr().String(), listener: listener, cut: how}
	for _, s := range servers {
		p.servers = append(p.servers, strings.TrimPrefix(s.url, "http://"))
	}
	p.open.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.open.Go(func() { p.pass(client.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.open.Wait()
	})
	return p
}

// client returns a client that opens a connection for every request.
func (p *proxy) client(t *testing.T, sdk runsclient.SDK) *runsclient.Client {
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return runsclient.New(runsclient.Options{
		URL: p.url, Workspace: workspace, Key: desk, SDK: sdk, Pause: time.Millisecond, HTTP: &http.Client{Transport: transport},
	})
}

// pass forwards one connection until either end closes it or it is cut.
func (p *proxy) pass(client *net.TCPConn) {
	defer func() { _ = client.Close() }()
	turn := p.made.Add(1)
	conn, err := net.Dial("tcp", p.servers[int(turn)%len(p.servers)])
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	p.open.Go(func() {
		_, _ = io.Copy(conn, client)
		_ = conn.Close()
	})
	if p.copy(client, conn) {
		p.broken.Add(1)
		if p.cut.reset {
			_ = client.SetLinger(0)
		}
	}
}

// copy forwards a server's output and reports whether it reached the cut.
func (p *proxy) copy(client io.Writer, server io.Reader) bool {
	events, more := p.cut.events, p.cut.bytes
	var last byte
	buffer := make([]byte, 4096)
	for {
		n, err := server.Read(buffer)
		said := buffer[:n]
		end := 0
		for end < len(said) && events > 0 {
			if said[end] == '\n' && last == '\n' {
				if events--; events == 0 && p.cut.short {
					break
				}
			}
			last = said[end]
			end++
		}
		if events == 0 {
			// The rest of the connection is the frame of the next event.
			take := min(more, len(said)-end)
			more -= take
			end += take
		}
		if _, err := io.Copy(client, bytes.NewReader(said[:end])); err != nil {
			return false
		}
		if events == 0 && more == 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
}
