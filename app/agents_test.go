package app_test

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/snapshottest"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	agentsapi "github.com/agentruntime/agentruntime/server/agents"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store/driver"
	"github.com/agentruntime/agentruntime/store/memory"
)

const file = `version: 1
providers: {demo: {type: scripted}}
models: {default: {provider_id: demo, upstream_model: demo}}
agents: {plain: {model_id: default}}
store: {driver: memory}
server: {public_url: "https://example.com", allow_unauthenticated: true}
`

// components returns the components of a program with the agents API.
func components() app.Components {
	return app.Components{
		Kinds: config.Kinds{Providers: []model.ProviderKind{scripted.Kind()}}, Stores: []driver.Driver{memory.Driver()},
		Surfaces: []component.Surface{agentsapi.Component()},
	}
}

// open opens a configuration and returns the URL it is served at.
func open(t *testing.T, c app.Components, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := app.Open(t.Context(), app.Options{Files: []string{path}, Components: c})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(opened.Handler())
	t.Cleanup(func() {
		if err := opened.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return server.URL
}

// counter is the custom state of the agents of these tests.
type counter struct {
	Turns int `json:"turns"`
}

// count is the code of an agent without a model.
func count(ctx context.Context, t *agents.Turn[counter]) (*agents.Result, error) {
	if t.Input()[0].Text() == "wait" {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return &agents.Result{Text: "counted"}, t.Update(func(c *counter) error { c.Turns++; return nil })
}

// TestAgentsOfGoCodeAreServedBesideThoseOfAFile covers each store mode and clients that find the
// agents on the server.
func TestAgentsOfGoCodeAreServedBesideThoseOfAFile(t *testing.T) {
	c, list := components(), []agents.Definition(nil)
	made := make(map[string]*agents.Agent[counter])
	for name, o := range map[string]agents.Options[counter]{"kept": {}, "client": {ClientManaged: true}, "own": {Snapshots: snapshottest.NewMemory()}} {
		agent, err := agents.Custom(name, count, o)
		if err != nil {
			t.Fatal(err)
		}
		made[name], list = agent, append(list, agent)
	}
	if err := c.AddAgents(list...); err != nil {
		t.Fatal(err)
	}
	url := open(t, c, file)
	for name, want := range map[string]string{"kept": "counted", "client": "counted", "own": "counted", "plain": "echo: hello"} {
		remote, err := agents.NewRemote(agents.RemoteSettings{URL: url + "/agents/" + name})
		if err != nil {
			t.Fatal(err)
		}
		out, err := agents.Bind[counter](remote).RunText(t.Context(), agents.Source{}, "hello")
		if err != nil || out.Text() != want || (out.State != nil) != (name == "client") || name == "client" && out.State.Custom.Turns != 1 {
			t.Errorf("%s: %v, %+v", name, err, out)
		}
	}
	// The end of the program ends a detached turn of an agent with its own store.
	if out, err := made["own"].Detach(t.Context(), agents.Source{}, agents.Text("wait"), agents.DetachOptions{}); err != nil || out.FinishReason != wire.FinishDetached {
		t.Errorf("%v, %+v", err, out)
	}
}

// TestAgentsOfGoCodeAreUsedWithoutTheAgentsAPI: the API may be disabled.
func TestAgentsOfGoCodeAreUsedWithoutTheAgentsAPI(t *testing.T) {
	c := components()
	agent, err := agents.Custom("kept", count, agents.Options[counter]{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddAgents(agent); err != nil {
		t.Fatal(err)
	}
	url := open(t, c, strings.Replace(file, "allow_unauthenticated: true", "allow_unauthenticated: true, agents: {enabled: false}", 1))
	out, err := agent.As(service.Operator()).RunText(t.Context(), agents.Source{}, "hello")
	if err != nil || out.Text() != "counted" {
		t.Errorf("%v, %+v", err, out)
	}
	remote, err := agents.NewRemote(agents.RemoteSettings{URL: url + "/agents/kept"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agents.Bind[counter](remote).RunText(t.Context(), agents.Source{}, "hello"); err == nil {
		t.Error("the agents API is disabled and answers")
	}
}

func TestTwoAgentsOfOneNameAreRefused(t *testing.T) {
	c := components()
	agent, err := agents.Custom("kept", count, agents.Options[counter]{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddAgents(agent, agent); err == nil {
		t.Errorf("got %v", err)
	}
}
