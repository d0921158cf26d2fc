package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
)

// vendorAnswer is how a server answers the nth request, counted from 1.
type vendorAnswer func(w http.ResponseWriter, body string, n int)

func refuses(status int, body string) vendorAnswer {
	return func(w http.ResponseWriter, _ string, _ int) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// streamsChat answers with the text in chunks, or with a call if tools are offered.
func streamsChat(w http.ResponseWriter, body string, chunks ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	if strings.Contains(body, `"note_word"`) {
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"note_word","arguments":"{\"word\":\"apple\"}"}}]}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
		return
	}
	for _, c := range chunks {
		fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"content":%q}}]}`+"\n\n", c)
	}
	_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4}}`+"\n\ndata: [DONE]\n\n")
}

func answersWell(w http.ResponseWriter, body string, _ int) {
	streamsChat(w, body, "one, ", "two")
}

// TestDoctorSaysWhatIsWrongWithAProvider simulates each way in which a provider fails and checks
// doctor's output and exit code.
func TestDoctorSaysWhatIsWrongWithAProvider(t *testing.T) {
	const notFound = `{"error":{"message":"Not Found"}}`
	for name, tt := range map[string]struct {
		answer vendorAnswer
		// provider has additional fields of the provider, and path is appended to the address.
		provider, path string
		code           int
		want           []string
	}{
		"a server that works": {
			answersWell, "api: chat_completions", "/v1", command.OK,
			[]string{
				"ok       text request: POST http://SERVER/v1/chat/completions with", "messages, model", `ok       text answer: "one, two" in 2 pieces`,
				"ok       stream", "ok       usage: 9 tokens in, 4 out", `ok       tool answer: the call note_word {"word":"apple"}`, "0 errors, 0 warnings",
			},
		},
		"a limit that the server states": {
			func(w http.ResponseWriter, body string, n int) {
				if body == "" {
					refuses(http.StatusOK, `{"data":[{"id":"m-1","max_model_len":32768}]}`)(w, body, n)
					return
				}
				answersWell(w, body, n)
			}, "api: chat_completions", "/v1", command.OK,
			[]string{"ok       context_window: the server states 32768, which turns use"},
		},
		"a wrong key": {
			refuses(http.StatusUnauthorized, `{"error":{"message":"Incorrect API key"}}`), "api: chat_completions", "/v1", command.Failed,
			[]string{"error    text answer: ", "HTTP 401", "right would be: a valid key in ${DOCTOR_KEY}, which providers.p.api_key takes it from"},
		},
		"a wrong key in a header": {
			refuses(http.StatusUnauthorized, `{"error":{"message":"no"}}`), "api: chat_completions, headers: {X-Key: \"${OTHER_KEY}\"}", "/v1", command.Failed,
			[]string{"right would be: a valid key in ${OTHER_KEY}, which providers.p.headers takes it from"},
		},
		"settings of an agent": {
			func(w http.ResponseWriter, body string, n int) {
				if strings.Contains(body, `"temperature":0.3`) && strings.Contains(body, `"prompt_cache_key":"doctor"`) {
					refuses(http.StatusBadRequest, `{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","param":"temperature"}}`)(w, body, n)
					return
				}
				answersWell(w, body, n)
			}, "api: chat_completions", "/v1", command.OK,
			[]string{"prompt_cache_key, stream, stream_options, temperature", "sent again with no temperature"},
		},
		"no Responses API": {
			refuses(http.StatusNotFound, notFound), "api: responses", "/v1", command.Failed, []string{"right would be: api: chat_completions"},
		},
		"no Chat Completions": {
			refuses(http.StatusNotFound, notFound), "api: chat_completions", "/v1", command.Failed, []string{"right would be: api: responses"},
		},
		"no version in the address": {
			refuses(http.StatusNotFound, notFound), "api: chat_completions", "", command.Failed, []string{"right would be: a base_url that ends in /v1"},
		},
		"a path given twice": {
			refuses(http.StatusNotFound, notFound), "api: chat_completions", "/v1/v1", command.Failed, []string{"right would be: a path without /v1 twice"},
		},
		"a redirect": {
			func(w http.ResponseWriter, _ string, _ int) {
				w.Header().Set("Location", "https://api.example/v1/chat/completions?key=x")
				w.WriteHeader(http.StatusPermanentRedirect)
			}, "api: chat_completions", "", command.Failed,
			[]string{"set base_url to https://api.example/v1\n", "right would be: providers.p.base_url without a redirect"},
		},
		"a model without tools": {
			func(w http.ResponseWriter, body string, n int) {
				if strings.Contains(body, `"note_word"`) {
					refuses(http.StatusBadRequest, `{"error":{"message":"registry.ollama.ai/library/x does not support tools"}}`)(w, body, n)
					return
				}
				answersWell(w, body, n)
			}, "api: chat_completions", "/v1", command.Failed,
			[]string{"right would be: a model that can call tools, as models.m.upstream_model"},
		},
		"an unknown model": {
			refuses(http.StatusNotFound, `{"error":{"message":"The model m-1 does not exist","code":"model_not_found"}}`), "api: chat_completions", "/v1", command.Failed,
			[]string{"right would be: a model that the provider serves, as models.m.upstream_model; it is m-1"},
		},
		"no credit": {
			refuses(http.StatusPaymentRequired, `{"error":{"message":"Insufficient Balance"}}`), "api: chat_completions", "/v1", command.Failed,
			[]string{"HTTP 402", "right would be: a key of an account that has credit left"},
		},
		"Chat Completions at the Responses API": {
			refuses(http.StatusOK, `{"choices":[{"index":0,"message":{"content":"one"},"finish_reason":"stop"}]}`), "api: responses", "/v1", command.Failed,
			[]string{"set api: chat_completions"},
		},
		"no quota": {
			refuses(http.StatusTooManyRequests, `{"error":{"message":"quota","code":"insufficient_quota"}}`), "api: chat_completions", "/v1", command.Failed,
			[]string{"HTTP 429", "right would be: a key with quota left"},
		},
		"a field that is rejected": {
			func(w http.ResponseWriter, body string, n int) {
				if strings.Contains(body, `"stream_options"`) {
					refuses(http.StatusBadRequest, `{"error":{"message":"bad field","param":"stream_options"}}`)(w, body, n)
					return
				}
				answersWell(w, body, n)
			}, "api: chat_completions", "/v1", command.OK,
			[]string{"warning  text request: ", "HTTP 400", "sent again with no stream_options", "warning  rejected fields: stream_options", "request: {omit: […]} on providers.p", "0 errors, 2 warnings"},
		},
		"a request that cannot be helped": {
			refuses(http.StatusBadRequest, `{"error":{"message":"bad field","param":"messages"}}`), "api: chat_completions", "/v1", command.Failed,
			[]string{"error    text answer: ", "HTTP 400", "right would be: a request that the server takes; leave out the field"},
		},
		"a document instead of a stream": {
			func(w http.ResponseWriter, _ string, _ int) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"one"},"finish_reason":"stop"}]}`)
			}, "api: chat_completions", "/v1", command.OK,
			[]string{"warning  stream: the server sent a JSON document instead of a stream", "warning  usage: the server reports no tokens", `warning  tool answer: no call, but the text "one"`},
		},
		"one piece": {
			func(w http.ResponseWriter, body string, _ int) { streamsChat(w, body, "one, two") }, "api: chat_completions", "/v1", command.OK,
			[]string{"warning  stream: the whole text came in one piece"},
		},
		"an answer without anything": {
			func(w http.ResponseWriter, _ string, _ int) { streamsChat(w, "") }, "api: chat_completions", "/v1", command.Failed,
			[]string{"error    text answer: ", "empty_answer", "right would be: a text or a tool call"},
		},
		"a page of a gateway": {
			func(w http.ResponseWriter, _ string, _ int) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, "<html>sign in</html>")
			}, "api: chat_completions", "/v1", command.Failed, []string{"error    text answer: "},
		},
		"no server": {
			nil, "api: chat_completions", "/v1", command.Failed, []string{"right would be: an answer from SERVER; check providers.p.base_url"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DOCTOR_KEY", "sk-of-the-doctor-1234567890")
			t.Setenv("OTHER_KEY", "other-of-the-doctor-1234567890")
			n := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				n++
				tt.answer(w, string(body), n)
			}))
			defer server.Close()
			if tt.answer == nil {
				server.Close()
			}
			file := filepath.Join(t.TempDir(), "config.yaml")
			text := fmt.Sprintf("version: 1\nproviders:\n  p: {type: openai, api_key: \"${DOCTOR_KEY}\", base_url: %q, %s}\n"+
				"models:\n  m: {provider_id: p, upstream_model: m-1}\nagents:\n  a: {model_id: m, temperature: 0.3}\n", server.URL+tt.path, tt.provider)
			if strings.Contains(tt.provider, "headers:") {
				text = strings.Replace(text, `api_key: "${DOCTOR_KEY}", `, "", 1)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			code := run(t.Context(), []string{"doctor", file, "--provider", "p"}, terminal.Streams{Out: &out, Err: &errs})
			shown := strings.ReplaceAll(out.String(), strings.TrimPrefix(server.URL, "http://"), "SERVER")
			if code != tt.code {
				t.Errorf("the exit code is %d: %s", code, errs.String())
			}
			for _, want := range tt.want {
				if !strings.Contains(shown, want) {
					t.Errorf("%q is not shown in\n%s", want, shown)
				}
			}
			if strings.Contains(shown, "sk-of-the-doctor") {
				t.Errorf("the key is shown in\n%s", shown)
			}
		})
	}
}

func TestDoctorRejectsProvidersThatAreNotThere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "version: 1\nproviders: {p: {type: scripted}, lonely: {type: scripted}, broken: {type: openai, base_url: \"http://x/v1/chat/completions\"}}\n" +
		"models: {m: {provider_id: p, upstream_model: x}}\nagents: {a: {model_id: m}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--provider q":           `no provider "q"`,
		"--provider lonely":      "no model has provider_id: lonely",
		"--provider p --model n": `provider "p" has no model "n"; it has m`,
		"--provider broken":      "base_url ends in /chat/completions",
		"--model m":              "--model needs --provider",
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"doctor", file}, strings.Fields(args)...), terminal.Streams{Out: &out, Err: &errs})
		if code == command.OK || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit code %d, %s", args, code, errs.String())
		}
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"doctor", file, "--provider", "p"}, terminal.Streams{Out: &out, Err: &errs}); code != command.OK || !strings.Contains(out.String(), "provider p (model m: x)") {
		t.Errorf("exit code %d, %s%s", code, out.String(), errs.String())
	}
}

func TestAMessageAboutAnUnknownIDListsTheKnownOnes(t *testing.T) {
	t.Parallel()
	for want, ids := range map[string][]string{
		"there is none": nil, "there is only demo": {"demo"}, "there are demo, other": {"demo", "other"},
	} {
		if got := listKnown(ids); got != want {
			t.Errorf("%q: %s", ids, got)
		}
	}
}
