package docs_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
)

// cardURL matches the address of an agent in its card.
var cardURL = regexp.MustCompile(`https:[^"]*assistant`)

const embeddedConfig = `version: 1
providers:
  demo: {type: scripted}
models:
  default: {provider_id: demo, upstream_model: demo}
agents:
  assistant: {model_id: default}
store: {driver: memory}
server: {public_url: "https://example.com/agents"}
`

func Example_app() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := dir + "/config.yaml"
	if err := os.WriteFile(path, []byte(embeddedConfig), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	if err := mountAgents(context.Background(), path); err != nil {
		fmt.Println(err)
	}
	// Output:
	// assistant
	// 200 https://example.com/agents/a2a/assistant
}

//docs:region app

func mountAgents(ctx context.Context, path string) error {
	agents, err := app.Open(ctx, app.Options{Files: []string{path}, Components: shipped.Components()})
	if err != nil {
		return err // an *app.ConfigError lists all mistakes by line
	}
	mux := http.NewServeMux()
	mux.Handle("/agents/", http.StripPrefix("/agents", agents.Handler()))

	// A program calls http.ListenAndServe here.
	own := httptest.NewServer(mux)
	defer own.Close()
	defer agents.Shutdown(ctx) // hands back turns and ends streams before the server stops

	for _, id := range agents.Runtime().Revision().Set().Agents.IDs() {
		fmt.Println(id)
	}
	return showCard(ctx, own.URL+"/agents/a2a/assistant/.well-known/agent-card.json")
}

//docs:end

// showCard prints the agent's address in a card.
func showCard(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	fmt.Println(resp.StatusCode, cardURL.FindString(string(text)))
	return nil
}
