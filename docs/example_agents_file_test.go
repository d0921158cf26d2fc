package docs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
)

const fileWithDesk = `version: 1
providers:
  demo: {type: scripted}
models:
  default: {provider_id: demo, upstream_model: demo}
agents:
  desk: {model_id: default, system_prompt: You are the refund desk.}
store: {driver: memory}
server: {public_url: "https://example.com", allow_unauthenticated: true}
`

const fileOnSQLite = `version: 1
providers:
  demo: {type: scripted}
models:
  default: {provider_id: demo, upstream_model: demo}
agents:
  desk: {model_id: default}
store: {driver: sqlite, dsn: ./desk.db}
server: {public_url: "https://example.com", allow_unauthenticated: true}
`

func Example_agentOnSQLite() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := dir + "/config.yaml"
	if err := os.WriteFile(path, []byte(fileOnSQLite), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(greetFromDesk(context.Background(), path))
	_, err = os.Stat(dir + "/desk.db")
	fmt.Println(err)
	// Output:
	// echo: hello <nil>
	// <nil>
}

// visits is the custom state of the agent desk.
type visits struct {
	Count int `json:"count"`
}

func Example_agentsOfAFile() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := dir + "/config.yaml"
	if err := os.WriteFile(path, []byte(fileWithDesk), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	if err := serveDesk(context.Background(), path); err != nil {
		fmt.Println(err)
	}
	// Output:
	// echo: hello
	// {"count":1}
	// over HTTP: 200, with {"count":2}
}

//docs:region file

// openWithDesk opens a configuration whose agent desk is driven by code.
func openWithDesk(ctx context.Context, path string) (*app.App, *agents.Agent[visits], error) {
	desk, err := agents.Coded("desk", func(ctx context.Context, t *agents.Turn[visits]) (*agents.Result, error) {
		if err := t.Update(func(v *visits) error { v.Count++; return nil }); err != nil {
			return nil, err
		}
		return t.Generate(ctx, agents.Prompt{})
	}, agents.Options[visits]{})
	if err != nil {
		return nil, nil, err
	}
	components := shipped.Components()
	if err := components.AddAgents(desk); err != nil {
		return nil, nil, err
	}
	opened, err := app.Open(ctx, app.Options{Files: []string{path}, Components: components})
	return opened, desk, err
}

//docs:end

//docs:region bootstrap

// greetFromDesk opens one agent whose conversations are kept in SQLite, and runs a turn.
func greetFromDesk(ctx context.Context, path string) (string, error) {
	desk, err := agents.Declared("desk", agents.Options[visits]{})
	opened, err2 := app.Open(ctx, app.Options{Files: []string{path}, Components: shipped.Components(), Agents: []agents.Definition{desk}})
	if err := errors.Join(err, err2); err != nil {
		return "", err
	}
	defer opened.Shutdown(ctx)
	output, err := desk.RunText(ctx, agents.FromSession("ann"), "hello")
	return output.Text(), err
}

//docs:end

// serveDesk uses the agent in the process and over HTTP.
func serveDesk(ctx context.Context, path string) error {
	opened, desk, err := openWithDesk(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Shutdown(ctx) }()
	output, err := desk.RunText(ctx, agents.FromSession("mine"), "hello")
	if err != nil {
		return err
	}
	fmt.Println(output.Text())
	kept, err := desk.GetSnapshot(ctx, output.SnapshotID)
	if err != nil {
		return err
	}
	fmt.Printf("{\"count\":%d}\n", kept.State.Custom.Count)

	server := httptest.NewServer(opened.Handler())
	defer server.Close()
	body := `{"data": {"message": {"content": [{"text": "hello"}]}}}`
	for range 2 {
		status, answer, err := post(ctx, server.URL+"/agents/desk", body)
		if err != nil {
			return err
		}
		_, session, _ := strings.Cut(answer, `"sessionId":"`)
		session, _, _ = strings.Cut(session, `"`)
		body = `{"data": {"message": {"content": [{"text": "hello"}]}}, "init": {"sessionId": "` + session + `"}}`
		if status != http.StatusOK {
			return fmt.Errorf("%d: %s", status, answer)
		}
		if _, answer, err = post(ctx, server.URL+"/agents/desk/getSnapshot", `{"data": {"sessionId": "`+session+`"}}`); err != nil {
			return err
		}
		if strings.Contains(answer, `{"count":2}`) {
			fmt.Printf("over HTTP: %d, with {\"count\":2}\n", status)
		}
	}
	return nil
}

// post sends a request and returns the response's status and body.
func post(ctx context.Context, url, body string) (status int, answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(read), err
}
