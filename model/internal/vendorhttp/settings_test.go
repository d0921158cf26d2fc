package vendorhttp

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/redact"
)

// checkFindings checks that there is one finding at path, or no finding for an empty path, and that
// it contains no secret.
func checkFindings(t *testing.T, what any, list diag.List, path, text string) {
	t.Helper()
	switch {
	case path == "" && len(list) == 0:
	case len(list) != 1 || list[0].Path != path || !strings.Contains(list[0].Message, text) || list[0].Severity != diag.Error:
		t.Errorf("%v: the findings are %v, want one at %q that says %q", what, list, path, text)
	case strings.Contains(list[0].Error(), "secret"):
		t.Errorf("%v: the finding tells a secret: %v", what, list[0])
	}
}

func TestCheckBaseURL(t *testing.T) {
	for raw, text := range map[string]string{
		"":                    "",
		"http://[::1]:80/v1":  "",
		"https://example.com": "",
		"api.example.com/v1":  "http://",
		"ftp://x":             "http://",
		"http://":             "names no host",
		"http://:80":          "names no host",
		"http://x:99999":      "port that is not from 1 to 65535",
		"http://x:0":          "port that is not from 1 to 65535",
		"http://u:secret@x":   "user or password",
		"http://x?secret=1":   "query",
		"http://x?":           "query",
		"http://x#secret":     "fragment",
		"http://x/%zzsecret":  "does not parse",
	} {
		path := ""
		if text != "" {
			path = "base_url"
		}
		checkFindings(t, raw, CheckBaseURL(raw), path, text)
	}
}

func TestAddressesWithoutASchemeGetOne(t *testing.T) {
	for raw, hint := range map[string]string{
		"127.0.0.1:8080/v1":  "write http://127.0.0.1:8080/v1",
		"localhost:11434":    "write http://localhost:11434",
		"LocalHost:11434":    "write http://LocalHost:11434",
		"192.168.1.7/v1":     "write http://192.168.1.7/v1",
		"api.example.com/v1": "write https://api.example.com/v1",
		"user:secret@x":      "",
		"?secret":            "",
	} {
		if list := CheckBaseURL(raw); len(list) != 1 || list[0].Hint != hint {
			t.Errorf("%s: %v, want the hint %q", raw, list, hint)
		}
	}
}

func TestCheckHeaders(t *testing.T) {
	for _, tt := range []struct{ name, value, path, text string }{
		{"X-A", "b c\td", "", ""},
		{"Authorization", "Bearer x", "", ""},
		{"X-A", "secret\r\nX-B: c", "headers.X-A", "line break"},
		{"X-A", "secret\x7f", "headers.X-A", "control character"},
		{"X-A", redact.Placeholder, "headers.X-A", "placeholder"},
		{"", "secret", `headers[""]`, "invalid header name"},
		{"X A", "secret", `headers["X A"]`, "invalid header name"},
		{"X-Ä", "secret", `headers["X-Ä"]`, "invalid header name"},
		{"host", "secret", "headers.host", "set by the runtime"},
		{"content-type", "secret", "headers.content-type", "set by the runtime"},
		{"x-api-key", "secret", "headers.x-api-key", "contradicts"},
	} {
		checkFindings(t, tt.name, checkHeaders(map[string]string{tt.name: tt.value}, reservedHeader{"X-Api-Key", "api_key"}), tt.path, tt.text)
	}
	if list := checkHeaders(map[string]string{"X-Api-Key": "k"}, reservedHeader{}); len(list) != 0 {
		t.Errorf("a key in a header alone gives %v", list)
	}
}

func TestCheckSecret(t *testing.T) {
	checkFindings(t, "a key", CheckSecret("api_key", "api_key", "k"), "", "")
	checkFindings(t, "no key", CheckSecret("api_key", "api_key", ""), "", "")
	checkFindings(t, "a line", CheckSecret("api_key", "api_key", "secret\n"), "api_key", "line break")
	checkFindings(t, "hidden", CheckSecret("api_key", "api_key", redact.Placeholder), "api_key", "placeholder")
}
