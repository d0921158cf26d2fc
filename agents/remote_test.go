package agents_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/internal/testkit/agentstest"
	"github.com/agentruntime/agentruntime/server"
	surface "github.com/agentruntime/agentruntime/server/agents"
)

// anybody is alice.
type anybody struct{}

func (anybody) Authenticate(*http.Request) (*server.Principal, error) {
	return &server.Principal{Caller: agentstest.Caller, KeyID: "alice"}, nil
}

// serveHTTP serves a set over HTTP until the test ends, and returns the URL of its agents.
func serveHTTP(t *testing.T, set *agents.Set) string {
	t.Helper()
	front, err := surface.New(surface.Settings{Agents: set})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Settings{Authenticator: anybody{}, Address: "127.0.0.1:0", Limits: server.Limits{MaxBodyBytes: 1 << 20}})
	if err == nil {
		err = srv.Mount(t.Context(), front)
	}
	if err == nil {
		err = srv.Listen(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(t.Context()) }()
	t.Cleanup(func() {
		if err := errors.Join(<-ended, srv.Shutdown(t.Context())); err != nil {
			t.Log(err)
		}
	})
	return srv.LocalURL() + "/agents/"
}

// TestARemoteAgentIsUsedLikeALocalOne has the same conversation with an agent in this
// process and over HTTP.
func TestARemoteAgentIsUsedLikeALocalOne(t *testing.T) {
	p := newPlace(t)
	set, err := agents.NewSet(agents.Settings{Service: p.service, Agents: []agents.Definition{p.agent}})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	handle, err := agents.NewRemote(agents.RemoteSettings{URL: serveHTTP(t, set) + "book", Client: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	for name, agent := range map[string]*agents.Agent[ledger]{"local": p.agent.As(agentstest.Caller), "remote": agents.Bind[ledger](handle)} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			talk, err := agent.Connect(ctx, agents.FromSession(name))
			if err != nil {
				t.Fatal(err)
			}
			var last *agents.Output[ledger]
			for _, text := range []string{"hello", "to fail", "work"} {
				if err := talk.SendText(ctx, text); err != nil {
					t.Fatal(err)
				}
				chunks := 0
				for _, err := range talk.Chunks(ctx) {
					if err != nil {
						t.Fatal(err)
					}
					chunks++
				}
				if last, err = talk.Output(ctx); err != nil || chunks == 0 || (last.Error != nil) != strings.HasSuffix(text, "fail") {
					t.Fatalf("%s: %v, %+v, %d chunks", text, err, last, chunks)
				}
			}
			kept, err := agent.GetSnapshot(ctx, last.SnapshotID)
			if err != nil || kept.State.Custom.Turns != 2 || talk.SessionID() != name {
				t.Errorf("%v, %+v, session %q", err, kept, talk.SessionID())
			}
			begun, err := agent.Detach(ctx, agents.FromSession(name), agents.Text("hello"), agents.DetachOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if kept, err = agent.WaitForSnapshot(ctx, begun.SnapshotID); err != nil || kept.State.Custom.Turns != 3 {
				t.Errorf("%v, %+v", err, kept)
			}
			if status, err := agent.Abort(ctx, begun.SnapshotID); err != nil || status != wire.SnapshotCompleted {
				t.Errorf("%v, %s", err, status)
			}
			_, err = agent.RunText(ctx, agents.FromSnapshot("none"), "hello")
			if e, ok := errors.AsType[*wire.Error](err); !ok || e.Status != wire.StatusNotFound {
				t.Errorf("a snapshot that does not exist: %v", err)
			}
		})
	}
}

func TestRepliesOfRemoteServersKeepTheirStatus(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]wire.Error{
		"DATA_LOSS: lost":             {Status: wire.StatusDataLoss, Message: "lost"},
		"ERROR: the database is down": {Status: wire.StatusInternal, Message: "ERROR: the database is down"},
		"INTERNAL":                    {Status: wire.StatusInternal, Message: "INTERNAL"},
	} {
		peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, reply, http.StatusInternalServerError) }))
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		handle, err := agents.NewRemote(agents.RemoteSettings{URL: peer.URL + "/desk", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		_, err = handle.GetSnapshot(t.Context(), &wire.GetSnapshotRequest{SnapshotID: "s"})
		peer.Close()
		if got, ok := errors.AsType[*wire.Error](err); !ok || got.Status != want.Status || got.Message != want.Message {
			t.Errorf("%q is the error %v", reply, err)
		}
	}
}
