package redact_test

import (
	"maps"
	"strings"
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

func TestJSONStaysJSON(t *testing.T) {
	t.Parallel()
	hide := strings.NewReplacer("s3cr3t", "***", `"abc"`, `"***"`, "12345678", "***").Replace
	for in, want := range map[string]string{
		``:                              ``,
		`{"b": 1, "a": "x"}`:            `{"b": 1, "a": "x"}`,
		`{"b": 1, "a": "\u0073\u003c"}`: `{"b": 1, "a": "\u0073\u003c"}`,
		`{"k":"<s3cr3t>"}`:              `{"k":"<***>"}`,
		`{"s3cr3t":[12345678.5,true]}`:  `{"***":["***.5",true]}`,
		`{"k":"\u00733cr3t"}`:           `{"k":"***"}`,
		`["abc",{"k":"abcd"}]`:          `["***",{"k":"abcd"}]`,
		`{"cut off": "s3cr3t`:           `{"cut off": "***`,
	} {
		if got := string(redact.JSON([]byte(in), hide)); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}
