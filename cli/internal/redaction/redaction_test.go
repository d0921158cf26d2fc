package redaction

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestRedactJSON redacts texts without changing the document's structure.
func TestRedactJSON(t *testing.T) {
	redact := strings.NewReplacer(`s3"cret`, "${A}", `"pw"`, `"${B}"`, "777", "${C}", "<&>", "${D}").Replace
	for _, test := range []struct{ in, want string }{
		{`{"a":"b"}`, `{"a":"b"}`},
		{`{"a":"x s3\"cret y"}`, `{"a":"x ${A} y"}`},
		{`{"pw":"pw","n":777,"t":"777"}`, `{"pw":"${B}","n":777,"t":"${C}"}`},
		{`{"list":["pw","\\","<&>","\u003c"]}`, `{"list":["${B}","\\","${D}","\u003c"]}`},
		{`{"kind":"pw","x":{"status":"pw","y":"pw"}}`, `{"kind":"pw","x":{"status":"pw","y":"${B}"}}`},
		{`"pw"`, `"${B}"`},
		{``, ``},
		{`"`, `"`},
		{`"a\`, `"a\`},
	} {
		if got := string(JSON([]byte(test.in), redact)); got != test.want {
			t.Errorf("redactJSON(%s) = %s, want %s", test.in, got, test.want)
		}
	}
}

// FuzzRedactJSON checks that valid JSON stays valid.
func FuzzRedactJSON(f *testing.F) {
	f.Add(`{"a":["b",1,{"c":"d\"e"}]}`, "b")
	f.Fuzz(func(t *testing.T, document, secret string) {
		redact := func(text string) string {
			if secret == "" {
				return text
			}
			return strings.ReplaceAll(text, secret, "***")
		}
		got := JSON([]byte(document), redact)
		if json.Valid([]byte(document)) && !json.Valid(got) {
			t.Errorf("%q became %q", document, got)
		}
	})
}
