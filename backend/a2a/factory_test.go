package a2a

import (
	"encoding/json"
	"net/url"
	"runtime"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/spec"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
)

func TestTheSameEndpointHasOnePeer(t *testing.T) {
	t.Parallel()
	endpoint := func(change func(*spec.Endpoint)) *spec.Endpoint {
		e := &spec.Endpoint{
			BaseURL: "https://peer.example", Auth: &spec.Auth{Type: spec.AuthBearer, Token: "one"},
			Options: map[string]json.RawMessage{"concurrency": []byte("2"), "stream": []byte("true")},
		}
		if change != nil {
			change(e)
		}
		return e
	}
	f := NewFactory(Settings{})
	first, err := f.peerOf(endpoint(nil))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := f.peerOf(endpoint(nil)); again != first || err != nil {
		t.Errorf("the same endpoint has another peer, %v", err)
	}
	for name, change := range map[string]func(*spec.Endpoint){
		"the URL":    func(e *spec.Endpoint) { e.BaseURL += "/x" },
		"the target": func(e *spec.Endpoint) { e.Target = "x" },
		"the token":  func(e *spec.Endpoint) { e.Auth.Token = "two" },
		"an option":  func(e *spec.Endpoint) { e.Options["concurrency"] = []byte("3") },
		"no auth":    func(e *spec.Endpoint) { e.Auth = nil },
	} {
		if other, err := f.peerOf(endpoint(change)); other == first || err != nil {
			t.Errorf("%s changes nothing, %v", name, err)
		}
	}
}

// A peer that no backend uses any longer is removed with its connections.
func TestAPeerGoesWithItsBackends(t *testing.T) {
	t.Parallel()
	f := NewFactory(Settings{})
	conn := func() *grpc.ClientConn {
		p, err := f.peerOf(&spec.Endpoint{BaseURL: "https://peer.example"})
		if err != nil {
			t.Fatal(err)
		}
		u, _ := url.Parse("https://peer.example:1")
		conn, err := p.GRPCConnection(u)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}()
	deadline := time.Now().Add(10 * time.Second)
	for gone := false; !gone; {
		if time.Now().After(deadline) {
			t.Fatal("the peer stays")
		}
		runtime.GC()
		runtime.Gosched()
		f.mu.Lock()
		gone = len(f.peers) == 0 && conn.GetState() == connectivity.Shutdown
		f.mu.Unlock()
	}
}
