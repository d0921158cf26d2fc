package anthropic

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// FuzzStream feeds bytes for a stream to the translator, with and without a
// report. Whatever a server sends, there is no panic, the events are in order,
// and the answer ends once: with one finish, or with one error. Run it with
// -fuzzminimizetime 1x: the HTTP client below covers its code a little
// differently each time, which keeps the minimizer busy for nothing.
func FuzzStream(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.sse"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		stream, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for i, schema := range []string{"", citySchema, listSchema} {
			if i == 0 || strings.Contains(file, "report") {
				f.Add(schema, stream)
			}
		}
	}
	f.Fuzz(func(t *testing.T, schema string, stream []byte) {
		req := hello()
		if _, _, err := reportSchema([]byte(schema)); err == nil {
			req.Output = &spec.OutputSchema{Schema: []byte(schema)}
		}
		answer := model.Answer{}
		failed := false
		for ev, err := range replaying(t, bytes.NewReader(stream)).Stream(context.Background(), req) {
			if failed {
				t.Fatal("something follows an error")
			}
			if err != nil {
				if _, ok := err.(*model.Error); !ok { //nolint:errorlint // the contract wants the type itself
					t.Fatalf("the error is a %T", err)
				}
				failed = true
				continue
			}
			if err := answer.Add(&ev); err != nil {
				t.Fatal(err)
			}
			if ev.Type == model.EventToolCallStart && (ev.ID == "" || ev.Name == "" || req.Output != nil && ev.Name == reportName) {
				t.Fatalf("call %d starts as %+v", ev.Index, ev)
			}
			if u := ev.Usage; u != nil && (u.CacheRead+u.CacheWrite > u.Input || u.Reasoning > u.Output) {
				t.Fatalf("the usage %+v does not add up", *u)
			}
		}
		if answer.Finished == failed {
			t.Fatalf("finished is %v, failed is %v", answer.Finished, failed)
		}
	})
}
