package docs_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/anthropic"
	"github.com/agentruntime/agentruntime/model/bedrock"
	"github.com/agentruntime/agentruntime/model/google"
	"github.com/agentruntime/agentruntime/model/openai"
)

// contentKinds are the kinds of content that users and tools send.
var contentKinds = []struct {
	name string
	part model.Part
}{
	{"text", model.Text("words of the content")},
	{"image/png", bytesOf("image/png", "\x89PNG\r\n\x1a\n")},
	{"image/svg+xml", bytesOf("image/svg+xml", "<svg/>")},
	{"image/tiff", bytesOf("image/tiff", "II*\x00")},
	{"image, by URL", model.Part{Type: model.PartImage, Blob: &model.Blob{MediaType: "image/png", URI: "https://files.example/content"}}},
	{"application/pdf", bytesOf("application/pdf", "%PDF-1.7")},
	{"PDF, by URL", model.Part{Type: model.PartFile, Blob: &model.Blob{MediaType: "application/pdf", URI: "https://files.example/content"}}},
	{"text/csv", bytesOf("text/csv", "a,b,content")},
	{"application/json", bytesOf("application/json", `{"content":1}`)},
	{"audio/wav", bytesOf("audio/wav", "RIFF\xff\xff")},
	{"audio/mpeg", bytesOf("audio/mpeg", "ID3\xff")},
	{"video/mp4", bytesOf("video/mp4", "ftyp\xff")},
	{"application/gzip", bytesOf("application/gzip", "\x1f\x8b\xff")},
}

func bytesOf(media, data string) model.Part {
	part := model.Part{Type: model.PartFile, Blob: &model.Blob{MediaType: media, Name: "content", Data: []byte(data)}}
	if strings.HasPrefix(media, "image/") {
		part.Type = model.PartImage
	}
	return part
}

// contentVendors returns the vendors, each with the model that reads the most kinds.
func contentVendors(t *testing.T, address string) map[string]model.Executor {
	t.Helper()
	made := func(e model.Executor, err error) model.Executor {
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	return map[string]model.Executor{
		"`openai`, `responses`":        made(openai.New(model.Settings{ID: "p"}, &openai.Config{BaseURL: address})),
		"`openai`, `chat_completions`": made(openai.New(model.Settings{ID: "p"}, &openai.Config{BaseURL: address, API: openai.ChatCompletions})),
		"`anthropic`":                  made(anthropic.New(model.Settings{ID: "p"}, &anthropic.Config{BaseURL: address})),
		"`bedrock`":                    made(bedrock.New(model.Settings{ID: "p"}, &bedrock.Config{BaseURL: address, Region: "us-east-1", APIKey: "key"})),
		"`google`":                     made(google.New(model.Settings{ID: "p"}, &google.Config{BaseURL: address})),
	}
}

// contentTable returns the handling of each kind of content, according to the vendors' requests.
func contentTable(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	vendors := contentVendors(t, server.URL)
	names := []string{"`openai`, `responses`", "`openai`, `chat_completions`", "`anthropic`", "`google`", "`bedrock`"}
	var out strings.Builder
	fmt.Fprintf(&out, "\n| Content | From | %s |\n|---|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, kind := range contentKinds {
		for _, from := range []string{"user", "tool"} {
			fmt.Fprintf(&out, "| %s | %s |", kind.name, from)
			for _, name := range names {
				fmt.Fprintf(&out, " %s |", fateOf(t, vendors[name], from, kind.part))
			}
			out.WriteString("\n")
		}
	}
	return out.String() + "\n"
}

// fateOf returns how a request represents a part.
func fateOf(t *testing.T, exec model.Executor, from string, part model.Part) string {
	t.Helper()
	messages := []model.Message{{Role: model.RoleUser, Parts: []model.Part{model.Text("before"), part, model.Text("after")}}}
	if from == "tool" {
		messages = []model.Message{
			model.User("call"),
			{Role: model.RoleAssistant, Parts: []model.Part{{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "1", Name: "x", Arguments: []byte(`{}`)}}}},
			{Role: model.RoleTool, Parts: []model.Part{{Type: model.PartToolResult, ToolResult: &model.ToolResult{
				CallID: "1", Name: "x", Content: []model.Part{model.Text("before"), part, model.Text("after")},
			}}}},
		}
	}
	var body string
	ctx := model.WithExchanges(t.Context(), func(x *model.Exchange) { body = string(x.Body) })
	for _, err := range exec.Stream(ctx, &model.Request{Model: "gemini-3-pro", Messages: messages}) {
		_ = err // the server has no paths
	}
	if first, last := strings.Index(body, "before"), strings.Index(body, "after"); body != "" && (first < 0 || last < first) {
		t.Errorf("%s, from %s: the texts around the content are lost or in another order: %s", from, part.Type, body)
	}
	if strings.Contains(body, "beforeafter") {
		t.Errorf("%s, from %s: the texts are not separated: %s", from, part.Type, body)
	}
	if mark := placeIn(&part, body); mark != "" {
		if at := strings.Index(body, mark); at < strings.Index(body, "before") || at > strings.Index(body, "after") {
			t.Errorf("%s, from %s: the content is not between the texts: %s", from, part.Type, body)
		}
	}
	switch {
	case body == "":
		return "`invalid_request`"
	case part.Blob == nil:
		return "sent"
	case part.Blob.URI != "" && strings.Contains(body, part.Blob.URI) && !strings.Contains(body, "left out"):
		return "the URL"
	case len(part.Blob.Data) > 0 && strings.Contains(body, base64.StdEncoding.EncodeToString(part.Blob.Data)):
		return "the bytes"
	case len(part.Blob.Data) > 0 && strings.Contains(strings.ReplaceAll(body, `\"`, `"`), string(part.Blob.Data)):
		return "as text"
	default:
		return "a note"
	}
}

// placeIn returns the evidence of a part in a body: a mark, the bytes or the URL; empty if the part
// is absent.
func placeIn(part *model.Part, body string) string {
	if part.Blob == nil {
		return ""
	}
	for _, form := range []string{fmt.Sprintf("[%s 1]", part.Type), "which cannot be shown", base64.StdEncoding.EncodeToString(part.Blob.Data), part.Blob.URI} {
		if form != "" && strings.Contains(body, form) {
			return form
		}
	}
	return ""
}

// TestTheTableOfContentIsFresh keeps the table of content kinds and vendors up to date and verifies
// that no tool content fails a request.
func TestTheTableOfContentIsFresh(t *testing.T) {
	table := contentTable(t)
	for line := range strings.Lines(table) {
		if strings.Contains(line, "| tool |") && strings.Contains(line, "invalid_request") {
			t.Errorf("a result fails a request: %s", line)
		}
	}
	checkGenerated(t, "guides/providers.md", map[string]string{"content": table})
}
