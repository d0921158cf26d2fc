package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"golang.org/x/tools/txtar"
)

// vendorMessage is a message in a Chat Completions request.
type vendorMessage struct {
	Role      string                       `json:"role"`
	Content   json.RawMessage              `json:"content"`
	Reasoning *string                      `json:"reasoning_content"`
	Calls     []map[string]json.RawMessage `json:"tool_calls"`
}

// vendorRefusals are checks for requests that servers reject, by case name.
var vendorRefusals = map[string]func(messages []vendorMessage) string{
	"assistant-without-content": func(messages []vendorMessage) string {
		for _, m := range messages {
			if m.Role == "assistant" && m.Content == nil {
				return "missing field content"
			}
		}
		return ""
	},
	"reasoning-not-sent-back": func(messages []vendorMessage) string {
		for _, m := range messages {
			if m.Role == "assistant" && m.Reasoning == nil {
				return "missing field reasoning_content"
			}
		}
		return ""
	},
	"signature-of-call-not-sent-back": func(messages []vendorMessage) string {
		for _, m := range messages {
			for _, call := range m.Calls {
				if string(call["extra_content"]) != `{"google":{"thought_signature":"U0lH"}}` {
					return "missing thought_signature"
				}
			}
		}
		return ""
	},
	"shortened-request-too-long": func(messages []vendorMessage) string {
		for _, m := range messages {
			if strings.Contains(string(m.Content), "left out to fit the context window") {
				return "This model's maximum context length is 4000 tokens."
			}
		}
		return ""
	},
	"task-trimmed-away": func(messages []vendorMessage) string {
		for _, m := range messages {
			if m.Role == "user" && strings.Contains(string(m.Content), "zebras") {
				return ""
			}
		}
		return "the request does not say what to do"
	},
}

// vendorBodyRefusals are checks of whole requests that servers reject, by case name.
var vendorBodyRefusals = map[string]func(body string) string{
	"strict-server-unknown-fields": func(body string) string {
		if strings.Contains(body, `"stream_options"`) || strings.Contains(body, `"prompt_cache_key"`) || strings.Contains(body, `"max_completion_tokens"`) {
			return "Extra inputs are not permitted: stream_options, prompt_cache_key, max_completion_tokens"
		}
		return ""
	},
	"anthropic-top-level-oneof": func(body string) string {
		var request struct {
			Tools []struct {
				Schema map[string]json.RawMessage `json:"input_schema"`
			} `json:"tools"`
		}
		if json.Unmarshal([]byte(body), &request) != nil || len(request.Tools) == 0 || request.Tools[0].Schema["oneOf"] != nil {
			return "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
		}
		return ""
	},
}

// TestInputsOfVendorsHaveTheRightResult runs a turn against a server that answers from a case file.
// Each case is modeled on a user's report.
func TestInputsOfVendorsHaveTheRightResult(t *testing.T) {
	files, err := filepath.Glob("testdata/vendors/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			var bodies []string
			for _, f := range archive.Files {
				if parts[f.Name] = string(f.Data); strings.HasPrefix(f.Name, "body-") {
					bodies = append(bodies, string(f.Data))
				}
			}
			server := httptest.NewServer(playVendor(name, parts["content_type"], bodies))
			defer server.Close()
			config := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(config, []byte(strings.ReplaceAll(parts["config.yaml"], "VENDOR", server.URL)), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			code := run(t.Context(), []string{"run", config, "a", "Count the zebras."}, terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			exit, want, _ := strings.Cut(strings.TrimSpace(parts["want"]), ": ")
			if fmt.Sprintf("exit %d", code) != exit || !strings.Contains(out.String()+errs.String(), want) {
				t.Errorf("exit %d, want %s with %q: %s%s", code, exit, want, out.String(), errs.String())
			}
		})
	}
}

// playVendor answers the nth request with the nth body, or with the last one. A body with leading
// comments arrives slowly.
func playVendor(name, contentType string, bodies []string) http.Handler {
	asked := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Messages []vendorMessage `json:"messages"`
		}
		sent, err := io.ReadAll(r.Body)
		if err == nil && vendorBodyRefusals[name] == nil {
			err = json.Unmarshal(sent, &request)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if refuse := vendorBodyRefusals[name]; refuse != nil && refuse(string(sent)) != "" {
			http.Error(w, fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error"}}`, refuse(string(sent))), http.StatusBadRequest)
			return
		}
		if refuse := vendorRefusals[name]; refuse != nil {
			if why := refuse(request.Messages); why != "" {
				http.Error(w, fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error"}}`, why), http.StatusBadRequest)
				return
			}
		}
		body := bodies[min(asked, len(bodies)-1)]
		asked++
		w.Header().Set("Content-Type", "text/event-stream")
		if contentType != "" {
			w.Header().Set("Content-Type", strings.TrimSpace(contentType))
		}
		for frame := range strings.SplitAfterSeq(body, "\n\n") {
			_, _ = io.WriteString(w, frame)
			if strings.HasPrefix(body, ": ping") {
				_ = http.NewResponseController(w).Flush()
				waitOrEnd(r, 400*time.Millisecond)
			}
		}
	})
}

// waitOrEnd waits for d or until the client disconnects.
func waitOrEnd(r *http.Request, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}
