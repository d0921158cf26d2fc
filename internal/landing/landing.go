// Package landing receives the redirect that ends a login in a browser, on a loopback address.
package landing

import (
	"context"
	"crypto/subtle"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/agentruntime/agentruntime/internal/hostlist"
)

// Page is the loopback address that a login returns to. Close it after use.
type Page struct {
	url    string
	path   string
	server *http.Server
	// arrived has the query of a redirect, and ended is closed after the server has ended.
	arrived chan url.Values
	ended   chan struct{}
}

// timeout bounds how long a browser may take to send its request.
const timeout = 10 * time.Second

// IsURL reports whether Open can listen at a redirect URL.
func IsURL(redirect string) bool {
	u, err := url.Parse(redirect)
	return err == nil && u.Scheme == "http" && hostlist.IsLoopback(u.Hostname()) && u.Port() != "" && u.Path != "" && u.RawQuery == ""
}

// Open listens at a redirect URL for which IsURL is true, or at a free port if it is empty.
func Open(ctx context.Context, redirect string) (*Page, error) {
	p := &Page{url: redirect, path: "/callback", arrived: make(chan url.Values), ended: make(chan struct{})}
	address := "127.0.0.1:0"
	if redirect != "" {
		u, err := url.Parse(redirect)
		if err != nil {
			return nil, err
		}
		address, p.path = u.Host, u.Path
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if redirect == "" {
		p.url = "http://" + listener.Addr().String() + p.path
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: timeout, WriteTimeout: timeout}
	go func() {
		defer close(p.ended)
		_ = p.server.Serve(listener) // it ends with Close
	}()
	return p, nil
}

// URL returns the redirect URL.
func (p *Page) URL() string { return p.url }

// Close ends the server.
func (p *Page) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if p.server.Shutdown(ctx) != nil { // lets the browser read the page
		_ = p.server.Close()
	}
	<-p.ended
}

// ServeHTTP takes a redirect. It shows the same page for expected and other redirects.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.URL.Path != p.path {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	_, _ = io.WriteString(w, "You can close this window; the terminal shows the result.\n")
	select {
	case p.arrived <- r.URL.Query():
	case <-r.Context().Done():
	}
}

// Wait returns the query of the redirect with a state. Others are ignored, since any page can
// redirect the browser here.
func (p *Page) Wait(ctx context.Context, state string) (url.Values, error) {
	for {
		select {
		case query := <-p.arrived:
			if HasState(query, state) {
				return query, nil
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// HasState reports whether a redirect has the state of a login.
func HasState(query url.Values, state string) bool {
	return subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(state)) == 1
}
