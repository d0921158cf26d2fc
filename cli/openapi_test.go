package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/openapitest"
)

// TestTheServerDescribesAllThatItAnswers compares the described operations of the server and their
// requirements with a list, so that the API does not change by accident. With -update it rewrites
// the list.
func TestTheServerDescribesAllThatItAnswers(t *testing.T) {
	w := newTown(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.LocalURL()+"/openapi.json", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := openapitest.Validate(text); err != nil {
		t.Error(err)
	}
	var document struct {
		Info  struct{ Version string }
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &document); err != nil || document.Info.Version != silentProgram().version() {
		t.Errorf("it is of %q, %v", document.Info.Version, err)
	}
	var operations []string
	for path, item := range document.Paths {
		for method, raw := range item {
			var operation struct{ Security []map[string][]string }
			if method == "parameters" {
				continue
			}
			if err := json.Unmarshal(raw, &operation); err != nil {
				t.Fatal(err)
			}
			needs := "public"
			if len(operation.Security) > 0 {
				needs = strings.Join(operation.Security[0]["bearer"], " ")
			}
			operations = append(operations, strings.TrimSpace(path+" "+strings.ToUpper(method)+" "+needs)+"\n")
		}
	}
	slices.Sort(operations)
	golden := filepath.Join("testdata", "openapi.txt")
	got := strings.Join(operations, "")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || got != string(want) {
		t.Errorf("it describes\n%s\nnot\n%s (%v)", got, want, err)
	}
}

// TestPagesOfOtherSitesReadEveryDocumentedHeader compares the response headers in the server's
// description with the headers exposed by CORS.
func TestPagesOfOtherSitesReadEveryDocumentedHeader(t *testing.T) {
	w := newTown(t, "  listen: 127.0.0.1:0", "  listen: 127.0.0.1:0\n  cors_origins: [\"https://app.example\"]")
	// A page may read these headers of every response.
	readable := []string{"cache-control", "content-language", "content-length", "content-type", "expires", "last-modified", "pragma"}
	got := w.answer(t, http.MethodGet, "/openapi.json", "", http.Header{"Origin": {"https://app.example"}})
	for name := range strings.SplitSeq(got.header.Get("Access-Control-Expose-Headers"), ", ") {
		readable = append(readable, strings.ToLower(name))
	}
	var document any
	if err := json.Unmarshal([]byte(got.body), &document); err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	var collect func(value any)
	collect = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, one := range v {
				collect(one)
			}
		case map[string]any:
			_, response := v["description"]
			headers, _ := v["headers"].(map[string]any)
			for name := range headers {
				if response && !strings.HasPrefix(name, "$") {
					documented[strings.ToLower(name)] = true
				}
			}
			for _, one := range v {
				collect(one)
			}
		}
	}
	collect(document)
	for name := range documented {
		if !slices.Contains(readable, name) {
			t.Errorf("the header %s is documented, but a page of another site cannot read it", name)
		}
	}
	if len(documented) < 5 || !documented["x-next-after"] {
		t.Errorf("the documented headers are %v", documented)
	}
}
