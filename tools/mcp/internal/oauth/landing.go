package oauth

import (
	"context"
	"crypto/subtle"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// landing is the loopback address that a login returns to.
type landing struct {
	url    string
	path   string
	server *http.Server
	// arrived has the query of a redirect, and ended is closed after the server has ended.
	arrived chan url.Values
	ended   chan struct{}
}

// landingTimeout bounds how long a browser may take to send its request.
const landingTimeout = 10 * time.Second

// openLanding listens at a redirect URL, or at a free port.
func openLanding(ctx context.Context, redirect string) (*landing, error) {
	l := &landing{url: redirect, path: "/callback", arrived: make(chan url.Values), ended: make(chan struct{})}
	address := "127.0.0.1:0"
	if redirect != "" {
		u, err := url.Parse(redirect)
		if err != nil {
			return nil, err
		}
		address, l.path = u.Host, u.Path
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if redirect == "" {
		l.url = "http://" + listener.Addr().String() + l.path
	}
	l.server = &http.Server{Handler: l, ReadHeaderTimeout: landingTimeout, WriteTimeout: landingTimeout}
	go func() {
		defer close(l.ended)
		_ = l.server.Serve(listener) // it ends with close
	}()
	return l, nil
}

// close ends the server.
func (l *landing) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if l.server.Shutdown(ctx) != nil { // lets the browser read the page
		_ = l.server.Close()
	}
	<-l.ended
}

// ServeHTTP takes a redirect. It shows the same page for expected and other redirects.
func (l *landing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.URL.Path != l.path {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	_, _ = io.WriteString(w, "You can close this window; the terminal shows the result.\n")
	select {
	case l.arrived <- r.URL.Query():
	case <-r.Context().Done():
	}
}

// wait returns the result of the redirect with a state. Others are ignored, since any page can
// redirect the browser here.
func (l *landing) wait(ctx context.Context, state string) (*auth.AuthorizationResult, error) {
	for {
		select {
		case query := <-l.arrived:
			if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(state)) != 1 {
				continue
			}
			if query.Get("code") == "" {
				return nil, denied(query)
			}
			return &auth.AuthorizationResult{Code: query.Get("code"), State: state, Iss: query.Get("iss")}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
