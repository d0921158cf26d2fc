package openai

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

// FuzzStream feeds bytes for a stream to both translators. Whatever a server
// sends, there is no panic, the events are in order, and the answer ends once:
// with one finish, or with one error. Run it with -fuzzminimizetime 1x: the
// HTTP client below covers its code a little differently each time, which
// keeps the minimizer busy for nothing.
func FuzzStream(f *testing.F) {
	for i, folder := range []string{"responses", "chat"} {
		files, err := filepath.Glob(filepath.Join("testdata", folder, "*.sse"))
		if err != nil || len(files) == 0 {
			f.Fatalf("no recordings in %s: %v", folder, err)
		}
		for _, file := range files {
			stream, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(i == 1, stream)
		}
	}
	f.Fuzz(func(t *testing.T, chat bool, stream []byte) {
		api := Responses
		if chat {
			api = ChatCompletions
		}
		answer := model.Answer{}
		failed := false
		for ev, err := range replaying(t, api, bytes.NewReader(stream)).Stream(context.Background(), hello()) {
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
			if ev.Type == model.EventToolCallStart && (ev.ID == "" || ev.Name == "") {
				t.Fatalf("call %d starts without an id or a name", ev.Index)
			}
		}
		if answer.Finished == failed {
			t.Fatalf("finished is %v, failed is %v", answer.Finished, failed)
		}
	})
}
