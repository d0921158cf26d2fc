package anthropic

import (
	"net/http"
	"testing"

	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

// TestHeaders checks that configured headers can add to the SDK's headers and override them.
func TestHeaders(t *testing.T) {
	headers := map[string]string{"anthropic-version": "2030-01-01", "anthropic-beta": "b1,b2"}
	e := offline(t, Config{Headers: headers}, func(r *http.Request) (*http.Response, error) {
		for name, want := range headers {
			if got := r.Header.Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("header %s is %q, want %q", name, got, want)
			}
		}
		return vendortest.StreamResponse(r, streamOf(t, "text")), nil
	})
	if _, failure := vendortest.Ask(t, e, hello()); failure != nil {
		t.Fatal(failure)
	}
}
