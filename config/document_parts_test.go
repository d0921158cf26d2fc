package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawEntries draws members of an object in any order.
func drawEntries(t *rapid.T, name string, ids, values []string) []string {
	drawn := rapid.Permutation(ids).Draw(t, name)[:rapid.IntRange(0, len(ids)).Draw(t, name+" count")]
	for i, id := range drawn {
		drawn[i] = fmt.Sprintf("%q:%s", id, rapid.SampledFrom(values).Draw(t, name+" "+id))
	}
	return drawn
}

// drawConfig draws a configuration with entries in any order.
func drawConfig(t *rapid.T, name string) string {
	const model = `{"provider_id":"p","upstream_model":"u"}`
	models := append(drawEntries(t, name+" models", []string{"n", "o"}, []string{model, `{"provider_id":"p","upstream_model":"v"}`}), `"m":`+model)
	text := `{"version":1,"providers":{"p":{"type":"vendor","api_key":"${KEY}"}},"models":{` + strings.Join(models, ",") + `}`
	if agents := drawEntries(t, name+" agents", []string{"a", "b", "c", "d.e"}, []string{`{"model_id":"m"}`, `{"model_id":"m","system_prompt":"{\"a\":[1]}"}`}); len(agents) > 0 {
		text += `,"agents":{` + strings.Join(agents, ",") + `}`
	}
	if rapid.Bool().Draw(t, name+" has tenants") {
		text += fmt.Sprintf(`,"tenants":{"cache":%d}`, rapid.IntRange(1, 2).Draw(t, name+" cache"))
	}
	return text + "}"
}

func TestPartsOfDocumentsDifferAsTheDocumentsDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var files [2]*config.File
		var documents [2][]byte
		for i, name := range []string{"before", "after"} {
			text := drawConfig(t, name)
			file, found := config.Parse([]config.Source{{Name: "d", Data: []byte(text)}}, options(map[string]string{"KEY": "the-key-of-the-vendor"}))
			if found.HasErrors() {
				t.Fatalf("%s: %v", text, found)
			}
			document, err := file.Document()
			if err != nil {
				t.Fatal(err)
			}
			files[i], documents[i] = file, document
		}
		want, err := resolve.CompareDocuments(documents[0], documents[1])
		if err != nil {
			t.Fatal(err)
		}
		old, fresh, err := config.ComparedParts(files[0], files[1])
		if err != nil {
			t.Fatal(err)
		}
		got, err := resolve.CompareDocuments(old, fresh)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%s\n%s\n%s\n%s\n(-documents +parts):\n%s%v", documents[0], documents[1], old, fresh, diff, err)
		}
	})
}
