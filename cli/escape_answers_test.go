package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/internal/testkit/escapetest"
)

// describedAnswers answers requests according to a server's description, with an attack in every
// text.
type describedAnswers struct {
	paths   map[string]map[string]any
	schemas map[string]any
}

func newDescribedAnswers(t *testing.T) *describedAnswers {
	t.Helper()
	w := newTown(t)
	var document struct {
		Paths      map[string]map[string]any
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal([]byte(w.ask(t, http.MethodGet, "/openapi.json", "").body), &document); err != nil {
		t.Fatal(err)
	}
	return &describedAnswers{document.Paths, document.Components.Schemas}
}

func (d *describedAnswers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		w.Header().Set("Content-Type", "text/event-stream")
		text, _ := json.Marshal(escapetest.Text) //nolint:errchkjson // a text
		for i, data := range []string{`"event_type":"run_start","agent_id":` + string(text), `"event_type":"text_delta","delta":"` + escapetest.Attack + `"`, `"event_type":"run_finish","status":"failed","termination":{"type":"error","detail":` + string(text) + `},"error":{"message":` + string(text) + `}`} {
			fmt.Fprintf(w, "id: %d\ndata: {\"seq\":%d,\"time\":\"2026-01-01T00:00:00Z\",\"turn_id\":\"t\",%s}\n\n", i+1, i+1, data)
		}
		return
	}
	for template, methods := range d.paths {
		pattern := regexp.MustCompile(`\\\{[^/]*?\\\}`).ReplaceAllString(regexp.QuoteMeta(template), `[^/]+`)
		operation, ok := methods[strings.ToLower(r.Method)].(map[string]any)
		if !ok || !regexp.MustCompile(`^`+pattern+`$`).MatchString(r.URL.Path) {
			continue
		}
		responses, _ := operation["responses"].(map[string]any)
		for _, status := range []int{200, 201, 202, 204} {
			response, ok := responses[fmt.Sprint(status)].(map[string]any)
			if !ok {
				continue
			}
			content, _ := response["content"].(map[string]any)
			media, _ := content["application/json"].(map[string]any)
			schema, _ := media["schema"].(map[string]any)
			if status != http.StatusNoContent && (len(schema) == 0 || r.Method == http.MethodDelete && responses["204"] != nil) {
				continue // events, or an undocumented answer
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			if r.URL.Query().Get("after") == "" || r.URL.Query().Get("after") == "0" {
				_ = json.NewEncoder(w).Encode(d.valueOf(schema, 0))
			} else { // the list ends
				_, _ = w.Write([]byte(`{"events":[],"turns":[],"sessions":[],"runs":[],"schedules":[],"triggers":[],"tenants":[],"revisions":[]}`))
			}
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

// valueOf returns a value of a schema with an attack in every text.
func (d *describedAnswers) valueOf(schema any, depth int) any {
	s, _ := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		s, _ = d.schemas[strings.TrimPrefix(ref, "#/components/schemas/")].(map[string]any)
	}
	for _, union := range []string{"allOf", "anyOf", "oneOf"} {
		if list, ok := s[union].([]any); ok && len(list) > 0 {
			merged := map[string]any{}
			for _, one := range list {
				value := d.valueOf(one, depth+1)
				object, isObject := value.(map[string]any)
				if !isObject || union != "allOf" {
					return value
				}
				maps.Copy(merged, object)
			}
			own := maps.Clone(s)
			delete(own, union)
			if object, ok := d.valueOf(own, depth+1).(map[string]any); ok {
				maps.Copy(merged, object)
			}
			return merged
		}
	}
	if values, ok := s["enum"].([]any); ok {
		for _, good := range []any{"succeeded", "error"} {
			if slices.Contains(values, good) {
				return good
			}
		}
		return values[0]
	}
	kind := s["type"]
	if kinds, ok := kind.([]any); ok {
		kind = slices.DeleteFunc(slices.Clone(kinds), func(one any) bool { return one == "null" })[0]
	}
	switch {
	case s["const"] != nil:
		return s["const"]
	case kind == "string" && s["format"] == "date-time":
		return "2026-01-01T00:00:00Z"
	case kind == "string":
		return "x" + escapetest.Text
	case kind == "integer" || kind == "number":
		return 7
	case kind == "boolean":
		return true
	case kind == "array":
		return []any{d.valueOf(s["items"], depth+1)}
	case depth > 12:
		return nil
	}
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	for name, property := range properties {
		switch name {
		case "next", "next_after":
		default:
			out[name] = d.valueOf(property, depth+1)
			switch _, isText := out[name].(string); {
			case isText && momentName.MatchString(name):
				out[name] = "2026-01-01T00:00:00Z"
			case isText && name == "hash":
				out[name] = "0123456789abcdef" // commands send it
			}
		}
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok {
		out["k"+escapetest.Text] = d.valueOf(more, depth+1)
	}
	return out
}

// momentName matches time fields.
var momentName = regexp.MustCompile(`(^|_)(at|time|before)$|(At|Time|Run|For)$`)

// TestNoAnswerOfAServerControlsTheTerminal runs each command against a server that accepts all
// requests and answers with attacks.
func TestNoAnswerOfAServerControlsTheTerminal(t *testing.T) {
	server := httptest.NewServer(newDescribedAnswers(t))
	t.Cleanup(server.Close)
	t.Chdir(filesIn(t, map[string]string{"config.yaml": attackConfig, "replies.yaml": attackReplies, "export.json": `{"version":1,"exported_at":"2026-01-01T00:00:00Z","session":{"id":"x","agent_id":"a","state":"active","created_at":"2026-01-01T00:00:00Z"}}`}))
	for _, path := range slices.Sorted(maps.Keys(attackedCommands)) {
		for _, line := range attackedCommands[path] {
			if !strings.Contains(line, "--server SERVER") || strings.Contains(line, "bad.yaml") {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			var out, errs bytes.Buffer
			in := `{"x": "y"}`
			if path == "sessions import" {
				in = readAll(t, "export.json")
			}
			code := run(ctx, strings.Fields(strings.ReplaceAll(line, "SERVER", server.URL)), terminal.Streams{In: strings.NewReader(in), Out: &out, Err: &errs})
			ended := ctx.Err()
			cancel()
			shown := out.String() + errs.String()
			if !escapetest.IsInert(shown) {
				t.Errorf("%s controls the terminal: %q", line, shown)
			}
			if strings.Contains("\n"+shown, "\n"+escapetest.ForgedLine) {
				t.Errorf("%s lets others forge a line: %s", line, shown)
			}
			if ended != nil {
				t.Errorf("%s does not end: %s", line, shown)
			}
			if !strings.Contains(shown, escapetest.Mark) && !slices.Contains(silentAnswers, line) {
				t.Errorf("%s does not show the attack: exit code %d, %q", line, code, shown)
			}
		}
	}
}

// silentAnswers are command lines that show no foreign text, or whose answer the server does not
// describe.
var silentAnswers = []string{
	"apply config.yaml --server SERVER", "eval add --server SERVER x", "explain a --server SERVER", "login ESC --server SERVER", "revisions diff 7 8 --server SERVER", "sessions export --server SERVER S",
	"tenants variables delete acme X --server SERVER", "turns cancel --server SERVER x", "turns resolve --server SERVER x call --approve", "turns transcript --server SERVER x",
	"workflows publish --server SERVER --type x --source y", "workflows runs answer x call --server SERVER --approve",
	"workflows schedules create --server SERVER --cron @daily --agent a --prompt Go", "workflows schedules delete x --server SERVER",
	"workflows triggers create --server SERVER --type x --agent a --prompt Go", "workflows triggers delete x --server SERVER",
}
