package rawjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"pgregory.net/rapid"
)

func TestAmbiguousKeys(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 1000)
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf(`"key%d":%d`, i, i)
	}
	for raw, want := range map[string]string{
		`{}`:                                          "",
		`null`:                                        "",
		`"{\"a\":1,\"a\":2}"`:                         "",
		`["a","a","A"]`:                               "",
		`{"a":"A","b":"a"}`:                           "",
		`{"a":{"b":1},"c":{"b":1}}`:                   "",
		`[{"a":1},{"A":1}]`:                           "",
		`{"a":1,"a":2}`:                               `the key "a" is there twice`,
		`{"a":1,"\u0061":2}`:                          `the key "a" is there twice`,
		`{"amount":5 , "AMOUNT" : 5000}`:              `the keys "amount" and "AMOUNT" differ only in case`,
		`{"x":[{"a":[1,{}],"A":2}]}`:                  `the keys "a" and "A" differ only in case`,
		`{"s":1,"ſ":2}`:                               `the keys "s" and "ſ" differ only in case`,
		`{"k":1,"\u212a":2}`:                          "the keys \"k\" and \"\u212a\" differ only in case",
		`{"\ud800":1,"\ud801":2}`:                     `the key "�" is there twice`,
		`{"":1,"":2}`:                                 `the key "" is there twice`,
		`{"` + long + `":1,"` + long + `":2}`:         `the key "` + clip.Text(long) + `" is there twice`,
		"{" + strings.Join(many, ",") + `}`:           "",
		"{" + strings.Join(many, ",") + `,"KEY7":1}`:  `the keys "key7" and "KEY7" differ only in case`,
		"{" + strings.Join(many, ",") + `,"key39":1}`: `the key "key39" is there twice`,
	} {
		err := rawjson.AmbiguousKeys([]byte(raw))
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && got != want {
			t.Errorf("%s: got %v, want %q", raw, err, want)
		}
	}
}

// TestPropertyOneValueReachesAField verifies that encoding/json finds at most one value for a field
// in an object with unambiguous keys.
func TestPropertyOneValueReachesAField(t *testing.T) {
	t.Parallel()
	letter := rapid.SampledFrom([]string{"s", "S", "ſ", "k", "K", "\u212a", "é", "É", `\u0073`})
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(letter, 1, 2), func(l []string) string { return strings.Join(l, "") }), 0, 24).Draw(rt, "keys")
		pairs := make([]string, len(names))
		fits := 0
		for i, name := range names {
			pairs[i] = fmt.Sprintf(`"%s":%d`, name, i+1)
			var one struct{ SK int }
			if err := json.Unmarshal([]byte("{"+pairs[i]+"}"), &one); err != nil {
				rt.Fatal(err)
			}
			if one.SK != 0 {
				fits++
			}
		}
		if raw := "{" + strings.Join(pairs, ",") + "}"; fits > 1 && rawjson.AmbiguousKeys([]byte(raw)) == nil {
			rt.Fatalf("%d keys of %s fit one field", fits, raw)
		}
	})
}
