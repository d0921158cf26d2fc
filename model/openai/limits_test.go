package openai

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

func TestLimitsOfServersAreFound(t *testing.T) {
	for name, tt := range map[string]struct {
		answers map[string]string
		want    model.Limits
	}{
		"OpenRouter":       {map[string]string{"/v1/models": `{"data":[{"id":"x"},{"id":"m","context_length":200000,"top_provider":{"context_length":131072,"max_completion_tokens":8192}}]}`}, model.Limits{ContextWindow: 131072, MaxOutputTokens: 8192}},
		"OpenRouter, null": {map[string]string{"/v1/models": `{"data":[{"id":"m","context_length":200000,"top_provider":{"context_length":null,"max_completion_tokens":null}}]}`}, model.Limits{ContextWindow: 200000}},
		"vLLM":             {map[string]string{"/v1/models": `{"object":"list","data":[{"id":"m","max_model_len":32768}]}`}, model.Limits{ContextWindow: 32768}},
		"Groq":             {map[string]string{"/v1/models": `{"data":[{"id":"m","context_window":131072,"max_completion_tokens":32768}]}`}, model.Limits{ContextWindow: 131072, MaxOutputTokens: 32768}},
		"Mistral":          {map[string]string{"/v1/models": `{"data":[{"id":"m","max_context_length":262144}]}`}, model.Limits{ContextWindow: 262144}},
		"LM Studio": {map[string]string{
			"/v1/models": `{"data":[{"id":"m"}]}`, "/api/v0/models": `{"data":[{"id":"m","max_context_length":131072,"loaded_context_length":4096}]}`,
		}, model.Limits{ContextWindow: 4096}},
		"Ollama":                {map[string]string{"/v1/models": `{"data":[{"id":"m"}]}`, "/api/show": `{"model_info":{"llama.context_length":131072}}`}, model.Limits{}},
		"Ollama with num_ctx":   {map[string]string{"/v1/models": `{"data":[]}`, "/api/show": `{"parameters":"stop \"a b\"\nnum_ctx     8192\n","model_info":{"llama.context_length":131072}}`}, model.Limits{ContextWindow: 8192}},
		"Ollama without a list": {map[string]string{"/api/show": `{"parameters":"num_ctx 16384","model_info":{"llama.context_length":131072}}`}, model.Limits{ContextWindow: 16384}},
		"llama.cpp":             {map[string]string{"/v1/models": `{"data":[{"id":"m","meta":{"n_ctx_train":131072}}]}`, "/props": `{"default_generation_settings":{"n_ctx":16384}}`}, model.Limits{ContextWindow: 16384}},
		"Together":              {map[string]string{"/v1/models": `[{"id":"m","context_length":131072}]`}, model.Limits{ContextWindow: 131072}},
		"odd types":             {map[string]string{"/v1/models": `{"data":[null,1,{"id":7},{"id":"m","max_model_len":"32768","top_provider":"x"}]}`}, model.Limits{ContextWindow: 32768}},
		"another model":         {map[string]string{"/v1/models": `{"data":[{"id":"n","max_model_len":1}]}`}, model.Limits{}},
		"a negative limit":      {map[string]string{"/v1/models": `{"data":[{"id":"m","max_model_len":-1}]}`}, model.Limits{}},
		"no JSON":               {map[string]string{"/v1/models": `<html>`}, model.Limits{}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, ok := tt.answers[r.URL.Path]
				if !ok || r.Header.Get("Authorization") != "Bearer k" {
					w.WriteHeader(http.StatusNotFound)
				}
				_, _ = io.WriteString(w, body)
			}))
			defer server.Close()
			e, err := newExecutor(model.Settings{ID: t.Name()}, &Config{BaseURL: server.URL + "/v1", APIKey: "k", API: ChatCompletions}, server.Client().Transport)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := e.Limits(t.Context(), "m"); err != nil || got != tt.want {
				t.Errorf("%+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

// TestServersAreAskedForLimitsOnce counts the requests of several executors of one provider.
func TestServersAreAskedForLimitsOnce(t *testing.T) {
	var requests atomic.Int32
	down := atomic.Bool{}
	down.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"id":"a","max_model_len":32768},{"id":"b","max_model_len":4096}]}`)
	}))
	defer server.Close()
	asking := func() *Executor {
		e, err := newExecutor(model.Settings{ID: t.Name()}, &Config{BaseURL: server.URL + "/v1", API: ChatCompletions}, server.Client().Transport)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if got, err := asking().Limits(t.Context(), "a"); err == nil {
		t.Errorf("a server that is down states %+v", got)
	}
	down.Store(false)
	requests.Store(0)
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "a", "b"} {
		e := asking()
		all.Go(func() {
			if got, err := e.Limits(t.Context(), name); err != nil || got.ContextWindow == 0 {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		})
	}
	all.Wait()
	if n := requests.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestVendorsWithoutStatedLimitsAreNotAsked(t *testing.T) {
	for _, dialect := range []string{"openai", "deepseek", "xai"} {
		e := offline(t, Config{Dialect: dialect}, func(r *http.Request) (*http.Response, error) {
			t.Errorf("%s is asked for %s", dialect, r.URL)
			return nil, io.EOF
		})
		if got, err := e.Limits(t.Context(), "m"); err != nil || got != (model.Limits{}) {
			t.Errorf("%s states %+v, %v", dialect, got, err)
		}
	}
}

// TestLimitsAreAskedForAgainWithOtherCredentials fixes a wrong key.
func TestLimitsAreAskedForAgainWithOtherCredentials(t *testing.T) {
	for _, key := range []string{"wrong", "right"} {
		e := offline(t, Config{API: ChatCompletions, BaseURL: "https://keyed.example/v1", APIKey: key}, func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != "/v1/models" {
				t.Errorf("a server with TLS is asked for %s", r.URL)
			}
			status := http.StatusUnauthorized
			if r.Header.Get("Authorization") == "Bearer right" {
				status = http.StatusOK
			}
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"data":[{"id":"m","max_model_len":9000}]}`)), Request: r}, nil
		})
		got, err := e.Limits(t.Context(), "m")
		if want := map[string]int{"right": 9000}[key]; err != nil || got.ContextWindow != want {
			t.Errorf("%s: %+v, %v", key, got, err)
		}
	}
}
