package docs_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
)

//docs:region config

// houseConfig configures a provider of type house. The tags define the schema, the reference and
// the checks.
type houseConfig struct {
	BaseURL string `json:"base_url" doc:"Where the models of the house are."`
	APIKey  string `json:"api_key,omitempty" secret:"true" doc:"The key, if they ask for one."`
}

// houseKind returns the kind for provider type house.
func houseKind() model.ProviderKind {
	return spec.NewKind("house", "Asks the models of the house.",
		func(s model.Settings, c *houseConfig) (model.Executor, error) {
			return &house{id: s.ID, config: c, client: http.DefaultClient}, nil // nothing is reached yet
		})
}

//docs:end

//docs:region stream

// house is a model.Executor. It keeps no state between calls.
type house struct {
	id     string
	config *houseConfig
	client *http.Client
}

// Stream sends the request and yields the answer line by line as it arrives.
func (h *house) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		lines, err := h.ask(ctx, req)
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		defer lines.Close()
		scanner := bufio.NewScanner(lines)
		for scanner.Scan() {
			var line struct {
				Text string `json:"text"`
				Done bool   `json:"done"`
				Used int    `json:"used"`
			}
			if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
				yield(model.Event{}, h.failure(model.Provider, 0, err))
				return
			}
			if line.Done {
				yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop, Usage: &model.Usage{Output: line.Used}}, nil)
				return
			}
			if !yield(model.Event{Type: model.EventText, Delta: line.Text}, nil) {
				return // the caller has enough
			}
		}
		// The answer ended without its last line.
		yield(model.Event{}, h.failure(model.StreamInterrupted, 0, cmp.Or(scanner.Err(), io.ErrUnexpectedEOF)))
	}
}

//docs:end

//docs:region errors

// ask sends the request and returns the lines of the answer.
func (h *house) ask(ctx context.Context, req *model.Request) (io.ReadCloser, error) {
	type message struct{ Role, Text string }
	body := struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
	}{Model: req.Model}
	for i := range req.Messages {
		body.Messages = append(body.Messages, message{string(req.Messages[i].Role), req.Messages[i].Text()})
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, h.failure(model.InvalidRequest, 0, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.config.BaseURL+"/chat", bytes.NewReader(data))
	if err != nil {
		return nil, h.failure(model.InvalidRequest, 0, err)
	}
	r.Header.Set("Authorization", "Bearer "+h.config.APIKey)
	resp, err := h.client.Do(r)
	switch {
	case ctx.Err() != nil:
		return nil, model.AsError(ctx.Err()) // Canceled or Timeout
	case err != nil:
		return nil, h.failure(model.Provider, 0, err)
	case resp.StatusCode == http.StatusOK:
		return resp.Body, nil
	}
	_ = resp.Body.Close()
	class := model.Provider
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		class = model.Unauthorized
	case http.StatusTooManyRequests:
		class = model.RateLimited
	case http.StatusNotFound:
		class = model.ModelNotFound
	case http.StatusBadRequest:
		class = model.InvalidRequest
	}
	return nil, h.failure(class, resp.StatusCode, nil)
}

// failure returns an error of a class, which decides whether the call is retried.
func (h *house) failure(class model.ErrorClass, status int, cause error) *model.Error {
	text := http.StatusText(status)
	if cause != nil {
		text = cause.Error()
	}
	return &model.Error{Class: class, Provider: h.id, Status: status, Message: text, Err: cause}
}

//docs:end

// serveHouse simulates the house's models: busy at first, then talkative.
func serveHouse() *httptest.Server {
	asked := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, "{\"text\":\"Good \"}\n{\"text\":\"morning.\"}\n{\"done\":true,\"used\":3}\n")
	}))
}

func Example_provider() {
	models := serveHouse()
	defer models.Close()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := dir + "/config.yaml"
	text := `version: 1
providers:
  ours: {type: house, base_url: "` + models.URL + `"}
models:
  default: {provider_id: ours, upstream_model: small}
agents:
  greeter: {model_id: default, sections: {retry: {backoff_base: 1ms}}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	if err := greet(context.Background(), path); err != nil {
		fmt.Println(err)
	}
	// Output: Good morning. (3 tokens, 1 retry)
}

func greet(ctx context.Context, path string) error {
	//docs:region use
	components := shipped.Components()
	components.Kinds.Providers = append(components.Kinds.Providers, houseKind())
	file, _, err := config.Load([]string{path}, config.Options{Kinds: components.ConfigKinds()})
	if err != nil {
		return err
	}
	rt, err := components.NewBuilder(nil).WithConfig(file).Build()
	if err != nil {
		return err
	}
	//docs:end
	defer rt.Close()
	retries := 0
	result, err := rt.Run(ctx, runtime.Prompt("greeter", "Hello."), event.SinkFunc(func(e event.Event) {
		if _, ok := e.Data.(*event.ModelRetry); ok {
			retries++
		}
	}))
	if err != nil {
		return err
	}
	fmt.Printf("%s (%d tokens, %d retry)\n", result.Response, result.Usage.Output, retries)
	return nil
}
