package server

import (
	"net"
	"net/http"
	"testing"
)

// A stream may end at the moment when the server does.
func TestAConnectionIsGivenBackWhileTheServerEnds(t *testing.T) {
	t.Parallel()
	for range 200 {
		s := &http.Server{}
		e := newEventConns(s)
		client, conn := net.Pipe()
		given := make(chan struct{})
		go func() {
			defer close(given)
			if !e.giveBack(conn) {
				_ = conn.Close()
			}
		}()
		_ = e.Close()
		e.serving.Wait()
		<-given
		_ = client.Close()
		_ = s.Close()
	}
}
