package mend

import (
	"encoding/json"
	"testing"
)

func TestSchemasOfOtherDialectsAreUnderstood(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		`{"type":"object","properties":null,"required":null}`:                                                                               `{"type":"object"}`,
		`{"properties":{"a":{"type":"object","properties":null,"required":null}}}`:                                                          `{"properties":{"a":{"type":"object"}}}`,
		`{"properties":{"a":{"type":"string","nullable":true}}}`:                                                                            `{"properties":{"a":{"type":["string","null"]}}}`,
		`{"properties":{"a":{"type":"string","enum":["x"],"nullable":true}}}`:                                                               `{"properties":{"a":{"type":["string","null"],"enum":["x",null]}}}`,
		`{"items":{"type":["string","null"],"nullable":true}}`:                                                                              `{"items":{"type":["string","null"]}}`,
		`{"anyOf":[{"type":"string","nullable":true},{"$ref":"#/$defs/x"}],"$defs":{"x":{"required":null}}}`:                                `{"anyOf":[{"type":["string","null"]},{"$ref":"#/$defs/x"}],"$defs":{"x":{}}}`,
		`{"properties":{"nullable":{"type":"string","const":null,"default":null}}}`:                                                         `{"properties":{"nullable":{"type":"string","const":null,"default":null}}}`,
		`{"properties":{"a":{"type":"number","minimum":1,"exclusiveMinimum":true}}}`:                                                        `{"properties":{"a":{"type":"number","exclusiveMinimum":1}}}`,
		`{"properties":{"a":{"maximum":1,"exclusiveMaximum":false},"b":{"exclusiveMaximum":true}}}`:                                         `{"properties":{"a":{"maximum":1},"b":{}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`:                                         `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`,
		`{"$schema":"http://json-schema.org/draft-03/schema#","properties":{"a":{"required":true}}}`:                                        `{"properties":{"a":{}},"required":["a"]}`,
		`{"properties":{"a":{"required":true},"b":{"required":false},"c":{"required":"d"}},"required":["b"]}`:                               `{"properties":{"a":{},"b":{},"c":{"required":["d"]}},"required":["b","a"]}`,
		`{"properties":{"required":{"type":"boolean","required":true},"title":{"type":"string"}}}`:                                          `{"properties":{"required":{"type":"boolean"},"title":{"type":"string"}},"required":["required"]}`,
		`{"required":true,"type":["object","null"],"title":5,"description":["x"],"properties":{"a":{"type":["object","null"],"title":{}}}}`: `{"type":"object","properties":{"a":{"type":["object","null"]}}}`,
		`{"type":"object","nullable":true}`:                                                                                                 `{"type":"object"}`,
		`{"properties":{"a":{"$ref":"https://x.example/a.json#/b","description":"An a."}}}`:                                                 `{"properties":{"a":{"description":"An a. It must satisfy the schema https://x.example/a.json#/b."}}}`,
		`{"$ref":"other.json","$defs":{"x":{}}}`:                                                                                            `{"type":"object","$defs":{"x":{}},"description":"It must satisfy the schema other.json."}`,
		`{"$id":"https://x.example/s","properties":{"a":{"$ref":"https://x.example/s#/$defs/x"}},"$defs":{"x":{}}}`:                         `{"$id":"https://x.example/s","properties":{"a":{"$ref":"https://x.example/s#/$defs/x"}},"$defs":{"x":{}}}`,
		`{"properties":{"a":{"$ref":"http://json-schema.org/draft-07/schema#"},"b":{"$ref":"#/x"}}}`:                                        `{"properties":{"a":{"$ref":"http://json-schema.org/draft-07/schema#"},"b":{"$ref":"#/x"}}}`,
		`{"properties":{"a":{"$ref":"item.json"}},"$defs":{"i":{"$id":"item.json"}}}`:                                                       `{"properties":{"a":{"$ref":"item.json"}},"$defs":{"i":{"$id":"item.json"}}}`,
		`{"type":"string","nullable":false}`:                                                                                                `{"type":"string","nullable":false}`,
		`{"default":{"required":null}}`:                                                                                                     `{"default":{"required":null}}`,
		`null`:                                                                                                                              ``, `"null"`: `"null"`, `[null]`: `[null]`,
	} {
		if got := Schema(json.RawMessage(sent)); string(got) != want {
			t.Errorf("%s becomes %s, want %s", sent, got, want)
		}
	}
}

// FuzzSchema checks that schemas stay JSON, that mending them twice changes nothing,
// and that schemas that seem to need no mending are not changed by it.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"string","nullable":true,"enum":["b"]}},"required":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		once := Schema(raw)
		if twice := Schema(once); string(twice) != string(once) {
			t.Errorf("%q becomes %q, then %q", raw, once, twice)
		}
		if len(once) > 0 && !json.Valid(once) {
			t.Errorf("%q becomes %q", raw, once)
		}
		if mended := mendDocument(once); len(once) > 0 && !needsMending(once) && string(mended) != string(once) {
			t.Errorf("%q seems to need no mending, but becomes %q", once, mended)
		}
	})
}
