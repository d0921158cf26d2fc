package a2a_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend/a2a/call"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/internal/testkit/a2asdk"
)

// jsCall returns a call to a server of the JavaScript SDKs.
func jsCall(s *a2asdk.Server, text string) *call.Request {
	return &call.Request{
		CardURL: s.URL + "/.well-known/agent-card.json", Headers: map[string]string{"Authorization": "Bearer " + token, "X-Tenant": "acme-corp"},
		Text: text, ContextID: "talk-7", AllowPrivate: []string{"localhost", "127.0.0.0/8", "::1"},
	}
}

func TestAJavaScriptAgentIsCalledAsItsCardSays(t *testing.T) {
	t.Parallel()
	a2asdk.ForEach(t, func(t *testing.T, version a2asdk.Version, transport string) {
		for name, streaming := range map[string]bool{"streaming": true, "polling": false} {
			s := a2asdk.NewServer(t, version, a2asdk.ServerOptions{Streaming: streaming, Token: token, Transports: []string{transport}})
			for text, want := range map[string]string{"echo hello": "hello", "stream 3": "0;1;2;", "message hi": "hi"} {
				if got, err := jsCall(s, text).Ask(t.Context()); err != nil || got != want {
					t.Errorf("%s: %q is answered with %q, %v", name, text, got, err)
				}
			}
			for text, want := range map[string]string{"fail badly": client.CodeRemoteFailed, "ask who?": call.CodeInputRequired} {
				got, err := jsCall(s, text).Ask(t.Context())
				failed, ok := errors.AsType[*client.PeerError](err)
				if !ok || failed.Code != want || strings.Contains(err.Error(), token) {
					t.Errorf("%s: %q is answered with %q, %v", name, text, got, err)
				}
			}
			s.Await("request", func(h a2asdk.Happening) bool { // unanswerable requests do not wait
				return strings.HasSuffix(h.Path, ":cancel") || strings.Contains(strings.ToLower(h.Method), "cancel")
			})
			for _, h := range s.Happened("request") {
				if h.Headers["authorization"] != "Bearer "+token || h.Headers["x-tenant"] != "acme-corp" {
					t.Errorf("%s: %s %s shows %v", name, h.Method, h.Path, h.Headers)
				}
			}
			for _, h := range s.Happened("started") {
				if h.ContextID != "talk-7" {
					t.Errorf("%s: %q is said in the conversation %q", name, h.Text, h.ContextID)
				}
			}
		}
	})
}
