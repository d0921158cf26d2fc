package rawjson_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

func TestValuesAreComparedByValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a": [1, "x", null, true]}`, `{"a":[1.0,"x",null,true]}`, true},
		{`1e2`, `100`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`{"id": 9007199254740993}`, `{"id":9007199254740993}`, true},
		{`0.1`, `0.2`, false},
		{`1`, `"1"`, false},
		{`[1]`, `[1, 2]`, false},
		{`{"a": null}`, `{}`, false},
		{`{"a": {}}`, `{"a": []}`, false},
		{`{bad`, `{bad`, false},
		{`1 2`, `1`, false},
	} {
		if rawjson.Equal([]byte(c.a), []byte(c.b)) != c.same || rawjson.Equal([]byte(c.b), []byte(c.a)) != c.same {
			t.Errorf("%s and %s: %t", c.a, c.b, !c.same)
		}
	}
}
