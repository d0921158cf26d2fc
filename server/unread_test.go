package server_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
)

// A body that nobody reads, or not to its end, is still waited for by net/http before it answers, so
// that the next request on the connection can follow.
func TestABodyThatNobodyReadsHoldsUpNoConnection(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		"nowhere":            "POST /nowhere",
		"another method":     "PUT /echo",
		"without credential": "POST /echo",
		"a public route":     "POST /open",
		"that streams":       "POST /stream",
		"that was read on":   "POST /read",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := start(t, server.Settings{Authenticator: keys()}, server.Route{Pattern: "POST /echo", Handler: echo},
					server.Route{Pattern: "POST /open", Handler: echo, Public: true},
					server.Route{Pattern: "POST /read", Public: true, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
						_, _ = io.Copy(io.Discard, r.Body)
					})},
					server.Route{Pattern: "POST /stream", Public: true, Stream: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						_ = http.NewResponseController(w).Flush()
					})})
				c := s.dial(t)
				began := time.Now()
				var sending sync.WaitGroup
				sending.Go(func() { drip(c, request+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", "x") })
				_, _ = io.Copy(io.Discard, c)
				if took := time.Since(began); took > settings.DefaultReadTimeout+settings.DefaultWriteTimeout {
					t.Errorf("it took %s", took)
				}
				sending.Wait()
			})
		})
	}
}
