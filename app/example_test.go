package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
)

const withAgent = `version: 1
providers:
  demo: {type: scripted}
models:
  default: {provider_id: demo, upstream_model: demo}
agents:
  assistant: {model_id: default}
store: {driver: memory}
server: {public_url: "https://example.com/agents"}
`

// Example serves configured agents below /agents on a program's own server.
func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(withAgent), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	agents, err := app.Open(ctx, app.Options{Files: []string{file}, Components: shipped.Components()})
	if err != nil {
		fmt.Println(err) // an *app.ConfigError lists every mistake with its line
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/agents/", http.StripPrefix("/agents", agents.Handler()))
	server := httptest.NewServer(mux)
	fmt.Println(getStatus(ctx, server.URL+"/agents/a2a/assistant/.well-known/agent-card.json"))

	// First the turns are handed back and the streams end, then the server ends.
	if err := agents.Shutdown(ctx); err != nil {
		fmt.Println(err)
	}
	server.Close()
	// Output: 200 OK
}

func getStatus(ctx context.Context, url string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	return resp.Status
}
