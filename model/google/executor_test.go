package google

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

// TestURL checks the URL for a model's name.
func TestURL(t *testing.T) {
	for _, tt := range []struct {
		config      Config
		model, want string
	}{
		{Config{}, "gemini-x", "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"},
		{Config{}, "models/gemini-x", "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"},
		{Config{}, "tunedModels/mine", "https://generativelanguage.googleapis.com/v1beta/tunedModels/mine:streamGenerateContent?alt=sse"},
		{Config{APIVersion: "v1alpha"}, "gemini-x", "https://generativelanguage.googleapis.com/v1alpha/models/gemini-x:streamGenerateContent?alt=sse"},
		{Config{BaseURL: "http://localhost:1"}, "a b?key=c#d%2e", "http://localhost:1/v1beta/models/a%20b%3Fkey=c%23d%252e:streamGenerateContent?alt=sse"},
	} {
		asked := ""
		e := offline(t, tt.config, func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			return vendortest.StreamResponse(r, bytes.NewReader(vendor.Recorded(t, "text"))), nil
		})
		req := hello()
		req.Model = tt.model
		if _, failure := vendortest.Ask(t, e, req); failure != nil || asked != tt.want {
			t.Errorf("%q of %+v is asked at %s (%v), want %s", tt.model, tt.config, asked, failure, tt.want)
		}
	}
	for _, name := range []string{"", "/", "models/", "../files/x", "models/../../x", "./x"} {
		req := hello()
		req.Model = name
		e := offline(t, Config{}, nil)
		if _, failure := vendortest.Ask(t, e, req); failure == nil || failure.Class != model.InvalidRequest {
			t.Errorf("the model %q gives %v", name, failure)
		}
	}
}
