package redact_test

import (
	"maps"
	"testing"

	"github.com/agentruntime/agentruntime/internal/redact"
)

func TestValuesHidesACopy(t *testing.T) {
	t.Parallel()
	headers := map[string]string{"Authorization": "Bearer x", "Empty": ""}
	if got, want := redact.Values(headers), map[string]string{"Authorization": "***", "Empty": "***"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if headers["Authorization"] != "Bearer x" {
		t.Error("the original is changed")
	}
	if redact.Values(nil) != nil {
		t.Error("nil becomes a map")
	}
}

func TestTextHidesWhatIsThere(t *testing.T) {
	t.Parallel()
	if redact.Text("") != "" || redact.Text("x") != redact.Placeholder {
		t.Errorf("got %q and %q", redact.Text(""), redact.Text("x"))
	}
}
