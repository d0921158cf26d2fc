package agentruns

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
)

func TestAttachmentsReachTheModel(t *testing.T) {
	t.Parallel()
	c := composing(t)
	input := c.must(t, `{"systemPrompt":"s","messages":[{"role":"user","content":"look","attachments":[
		{"type":"input_file","mimeType":"application/pdf","filename":"a.pdf","data":"aGk="},
		{"type":"input_file_url","url":"https://a.example/cat.png","mimeType":"image/png"}]}]}`).Input
	if len(input) != 1 || len(input[0].Parts) != 3 {
		t.Fatalf("the input is %+v", input)
	}
	file, image := input[0].Parts[1], input[0].Parts[2]
	if file.Type != model.PartFile || string(file.Blob.Data) != "hi" || file.Blob.Name != "a.pdf" || image.Type != model.PartImage || image.Blob.URI != "https://a.example/cat.png" {
		t.Errorf("the files are %+v and %+v", file.Blob, image.Blob)
	}
	shown, err := json.Marshal(spokenTexts(input))
	if want := `[{"role":"user","content":"look","attachments":[{"type":"input_file","mimeType":"application/pdf","filename":"a.pdf","size":2},{"type":"input_file_url","mimeType":"image/png","url":"https://a.example/cat.png"}]}]`; err != nil || string(shown) != want {
		t.Errorf("sessions show %s, %v", shown, err)
	}
	for attachment, want := range map[string]string{
		`{"type":"x"}`:                                      "attachments[0].type is",
		`{"type":"input_file","data":"aGk="}`:               "mimeType is required",
		`{"type":"input_file","mimeType":"a/b","data":"?"}`: "data must be base64",
		`{"type":"input_file","mimeType":"a/b","data":"aGk=","url":"https://a.b/c"}`: "url belongs to the type input_file_url",
		`{"type":"input_file_url","url":"http://a.example/x"}`:                       "url must be an https address",
		`{"type":"input_file_url","url":"file:///etc/passwd"}`:                       "url must be an https address",
		`{"type":"input_file_url","url":"https://a.example/x","data":"aGk="}`:        "data belongs to the type input_file",
	} {
		f, err := decodeBody([]byte(`{"systemPrompt":"s","messages":[{"role":"user","content":"look","attachments":[` + attachment + `]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readRequest(f, forRun); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %s", attachment, err, want)
		}
	}
	f, err := decodeBody([]byte(`{"systemPrompt":"s","messages":[{"role":"system","content":"look","attachments":[{"type":"input_file_url","url":"https://a.example/x"}]},{"role":"user","content":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readRequest(f, forRun); err == nil || !strings.Contains(err.Error(), "only messages of the user have files") {
		t.Errorf("a file of the system gives %v", err)
	}
}

func TestToolBudgetsAndLabelsAreConfigured(t *testing.T) {
	t.Parallel()
	c := composing(t, func(d *registry.Draft) {
		d.Models.Put("named", &spec.Model{ID: "named", ProviderID: "main", UpstreamModel: "gpt-x", Label: "House model"})
	})
	c.settings.ToolBudgets = map[string]int{"weather": 7, "absent": 1}
	budgets := c.must(t, `{"systemPrompt":"s","prompt":"p"}`).Overrides.ToolBudgets
	if len(budgets) != 1 || budgets["weather"].MaxCalls != 7 {
		t.Errorf("the budgets are %v", budgets)
	}
	list := modelsOf(c.set, "").list
	if !slices.ContainsFunc(list, func(m modelInfo) bool { return m.declared == "named" && m.Label == "House model" }) {
		t.Errorf("the models are %+v", list)
	}
}
