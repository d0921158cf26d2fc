package vendorhttp

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDocumentsThatAreCutOffAreClosed(t *testing.T) {
	for cut, want := range map[string]string{
		`{"detail":[{"loc":["body","x"],"msg":"no","input":{"messages":[{"role":"us`: `{"detail":[{"loc":["body","x"],"msg":"no","input":{"messages":[{"role":"us"}]}}]}`,
		`{"detail":[{"msg":"no","input":{"mess`:                                      `{"detail":[{"msg":"no"}]}`,
		`{"detail":[{"msg":"no"},{"msg":`:                                            `{"detail":[{"msg":"no"}]}`,
		`{"error":{"message":"long \`:                                                `{"error":{"message":"long "}}`,
		`{"error":{"message":"long`:                                                  `{"error":{"message":"long"}}`,
		`{"error":{"code":[1,2],"x":tru`:                                             `{"error":{"code":[1,2]}}`,
		`{"error":"whole"}`:                                                          `{"error":"whole"}`,
		`plain text, with a comma`:                                                   `plain text, with a comma`,
		`<html>{`:                                                                    `<html>{`,
		`]]]{"a":1,`:                                                                 `]]]{"a":1,`,
		``:                                                                           ``,
	} {
		if got := string(closeDocument([]byte(cut))); got != want {
			t.Errorf("%s becomes %s", cut, got)
		}
	}
}

// TestEveryPrefixOfADocumentCanBeClosed cuts a document at each byte.
func TestEveryPrefixOfADocumentCanBeClosed(t *testing.T) {
	const document = `{"detail":[{"type":"x\"\\","loc":["body",0,{"a":[]}],"msg":"é \u00e9","n":-1.5e3,"t":true,"z":null},{}],"more":"]}"}`
	for i := 1; i < len(document); i++ {
		if got := closeDocument([]byte(document[:i])); !json.Valid(got) && i > strings.Index(document, `:"x`)+1 {
			t.Errorf("%s becomes %s", document[:i], got)
		}
	}
}
