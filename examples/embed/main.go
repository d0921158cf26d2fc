// Command embed is a Go program with embedded agents: it composes a runtime, keeps turns in SQLite,
// and serves the agents beside its own routes. It needs no key: the model is a script, replaceable
// by model/openai and others.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/a2a"
	"github.com/agentruntime/agentruntime/server/agentruns"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"github.com/agentruntime/agentruntime/tools"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cmp.Or(os.Getenv("ADDRESS"), "127.0.0.1:8090"))
	if err != nil {
		return err
	}
	log.Printf("serving http://%s", listener.Addr())
	return serve(ctx, listener, cmp.Or(os.Getenv("DATABASE"), "embed.db"))
}

// order is the input of the tool. The tool's JSON Schema is derived from it.
type order struct {
	ID string `json:"id" jsonschema:"The number of the order."`
}

// newRuntime declares the agents. The error lists all problems with them.
func newRuntime() (*runtime.AgentRuntime, error) {
	shop, err := scripted.New(scripted.Script{Replies: []scripted.Reply{
		{ToolCalls: []model.ToolCall{{Name: "order_status", Arguments: []byte(`{"id": "A-17"}`)}}},
		{Text: "Your order has been shipped."},
	}})
	if err != nil {
		return nil, err
	}
	return builder.New().
		WithProvider("shop", shop).
		WithModel(spec.Model{ID: "default", ProviderID: "shop", UpstreamModel: "shop"}).
		WithTool("order_status", &tools.Func[order, string]{
			Description: "Looks up the status of an order.",
			Effect:      tools.Read,
			Run:         func(_ context.Context, in order) (string, error) { return in.ID + " was shipped today", nil },
		}).
		WithAgentSpec(spec.Agent{ID: "support", ModelID: "default", SystemPrompt: "You help customers.", AllowedTools: spec.Names{"order_status"}}).
		Build()
}

// serve serves the agents below /agents, and the program's own routes, until ctx ends.
func serve(ctx context.Context, listener net.Listener, database string) (err error) {
	agents, err := newRuntime()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agents.Close()) }()
	records, err := sqlite.Open(ctx, store.Settings{DSN: database})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	turns := service.New(service.Settings{
		Runtime: agents, Store: records, Dispatcher: local.New(local.Settings{Concurrency: 8}), TurnTools: agentruns.NewTurnTools(agentruns.TurnToolsSettings{}),
	})
	if err := turns.Start(ctx); err != nil {
		return err
	}
	defer turns.Close()

	url := fmt.Sprintf("http://%s/agents", listener.Addr())
	surfaces, err := mountSurfaces(ctx, turns, url)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/agents/", http.StripPrefix("/agents", surfaces.Handler()))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the shop") })

	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// First stop turns, then end the streams, for which http.Server would wait.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	surfaces.BeginDrain()
	return errors.Join(turns.Drain(grace), surfaces.Shutdown(grace), web.Shutdown(grace))
}

// mountSurfaces returns the surfaces through which clients and other agents reach the agents.
// Without an Authenticator it serves only requests from this machine.
func mountSurfaces(ctx context.Context, turns *service.Service, url string) (*server.Server, error) {
	s, err := server.New(server.Settings{PublicURL: url})
	if err != nil {
		return nil, err
	}
	direct, err := native.New(server.SurfaceSettings{Service: turns})
	if err != nil {
		return nil, err
	}
	runs, err := agentruns.New(agentruns.Settings{Service: turns, PublicURL: url})
	if err != nil {
		return nil, err
	}
	peers, err := a2a.New(a2a.Settings{Service: turns, PublicURL: url, Authenticator: s, Open: true})
	if err != nil {
		return nil, err
	}
	for _, surface := range []server.Surface{direct, runs, peers} {
		if err := s.Mount(ctx, surface); err != nil {
			return nil, err
		}
	}
	return s, nil
}
