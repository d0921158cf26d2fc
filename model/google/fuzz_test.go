package google

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

// FuzzStream feeds bytes for a stream to the translator, with and without a
// function of ours. Whatever a server sends, there is no panic, the events are
// in order, the function does not show, and the answer ends once: with one
// finish, or with one error.
func FuzzStream(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "streams", "*.sse"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		stream, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(strings.Contains(file, "output"), stream)
	}
	f.Fuzz(func(t *testing.T, form bool, stream []byte) {
		req := hello()
		if form {
			req = formed()
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
			if ev.Type == model.EventToolCallStart && (ev.Name == "" || form && ev.Name == outputFunction) {
				t.Fatalf("a call starts with the name %q", ev.Name)
			}
		}
		if answer.Finished == failed {
			t.Fatalf("finished is %v, failed is %v", answer.Finished, failed)
		}
	})
}
