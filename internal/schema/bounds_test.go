package schema_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/internal/testkit/usage"
)

// bombSize is the size of a bomb in bytes.
const bombSize = 64 << 10

// repeat returns a text of bomb size: a format, in which %d is a number, repeated between a
// beginning and an end.
func repeat(begin, format, separator, end string) string {
	return repeatSome(bombSize, begin, format, separator, end)
}

// repeatSome is like repeat, but repeats the format at most n times.
func repeatSome(n int, begin, format, separator, end string) string {
	var out strings.Builder
	out.WriteString(begin)
	for i := 0; ; i++ {
		piece := strings.ReplaceAll(format, "%d", strconv.Itoa(i))
		if i > 0 {
			piece = separator + piece
		}
		if i == n || out.Len()+len(piece)+len(end) > bombSize {
			out.WriteString(end)
			return out.String()
		}
		out.WriteString(piece)
	}
}

// nest returns a text that repeats a beginning and an end around a middle.
func nest(begin, middle, end string, depth int) string {
	return strings.Repeat(begin, depth) + middle + strings.Repeat(end, depth)
}

// doubling returns a schema whose levels each refer twice to the next.
func doubling(keyword, level string, levels int) string {
	var defs []string
	for i := range levels {
		next := fmt.Sprintf(`{"$ref":"#/$defs/l%d"}`, i+1)
		defs = append(defs, fmt.Sprintf(`"l%d":`+level, i, keyword, next, next))
	}
	return fmt.Sprintf(`{"$ref":"#/$defs/l0","$defs":{%s,"l%d":{"const":1}}}`, strings.Join(defs, ","), levels)
}

// chainOf returns a schema of n references, each to the next.
func chainOf(n int) string {
	var defs strings.Builder
	for i := range n {
		fmt.Fprintf(&defs, `"x%d":{"$ref":"#/$defs/x%d"},`, i, i+1)
	}
	return fmt.Sprintf(`{"$ref":"#/$defs/x0","$defs":{%s"x%d":{}}}`, defs.String(), n)
}

// bombs are expensive schemas and values. stopped names the limit that must stop each; empty if its
// size bounds its cost.
var bombs = map[string]struct{ schema, value, stopped string }{
	"alternatives that double": {doubling("anyOf", `{"%s":[%s,%s]}`, 26), `2`, "alternatives"},
	"oneOf that doubles":       {doubling("oneOf", `{"%s":[%s,%s]}`, 26), `2`, "alternatives"},
	"allOf that doubles":       {doubling("allOf", `{"%s":[%s,%s]}`, 26), `2`, "alternatives"},
	"a recursive schema": {
		`{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[{"items":{"$ref":"#/$defs/n"},"maxItems":0},{"items":{"$ref":"#/$defs/n"},"maxItems":0},{"type":"string"}]}}}`,
		nest("[", "1", "]", 400), "steps",
	},
	"a recursive schema with properties": {
		`{"anyOf":[{"type":"object","properties":{"a":{"$ref":"#"}},"required":["x"]},{"type":"object","properties":{"a":{"$ref":"#"}},"required":["y"]},{"type":"null"}]}`,
		nest(`{"a":`, "1", "}", 60), "",
	},
	"not over a recursive schema": {
		`{"not":{"items":{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"not":{"$ref":"#"}}]}}}`, nest("[", "1", "]", 300), "steps",
	},
	"levels of properties that double": {doubling("oneOf", `{"properties":{"a":{"%s":[%s,%s]}}}`, 60), nest(`{"a":`, "1", "}", 60), "steps"},
	"a schema that refers to itself":   {`{"$ref":"#"}`, `1`, "itself"},
	"references in a circle":           {`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"$ref":"#/$defs/a"},true]}}}`, `1`, "itself"},
	"a long chain of references":       {chainOf(200), `1`, "leads through"},
	"many forms and many elements":     {repeatSome(4990, `{"items":{"anyOf":[`, `{"const":%d}`, ",", `]}}`), repeat("[", "-%d", ",", "]"), "steps"},
	"many plain forms":                 {repeatSome(4990, `{"items":{"anyOf":[`, `{"enum":["%d"]}`, ",", `]}}`), repeat("[", `"x%d"`, ",", "]"), "steps"},
	"a large enumeration":              {repeat(`{"items":{"enum":[`, `%d`, ",", `]}}`), repeat("[", "-%d", ",", "]"), "steps"},
	"many empty forms":                 {repeat(`{"allOf":[`, `{}`, ",", `]}`), `1`, "objects and booleans"},
	"many properties":                  {repeatSome(4990, `{"properties":{`, `"%d":{}`, ",", `},"x":1}`), repeat("{", `"%d":1`, ",", "}"), ""},
	"many required properties":         {repeat(`{"items":{"required":[`, `"%d"`, ",", `]}}`), repeat("[", "{}", ",", "]"), "steps"},
	"patterns of properties": {
		repeat(`{"patternProperties":{`, `"(a|b)*%d$":{}`, ",", `}}`), repeat("{", `"aaaa%d":1`, ",", "}"), "expressions",
	},
	"patterns of some properties": {
		`{"patternProperties":{"` + strings.Repeat(`(a?){100}`, 10) + `":{}}}`, repeat("{", `"aaaaaaaaaaaaaaaaaaaaaaa%d":1`, ",", "}"), "steps",
	},
	"a pattern with repetitions":     {`{"pattern":"` + strings.Repeat("x{1000}", 9000) + `"}`, `"x"`, "bytes"},
	"patterns with repetitions":      {repeat(`{"anyOf":[`, `{"pattern":"x{1000}%d"}`, ",", `]}`), `"x"`, "expressions"},
	"a slow pattern":                 {`{"pattern":"` + strings.Repeat(`(x?){100}`, 10) + `y"}`, `"` + strings.Repeat("x", 1<<20) + `"`, "steps"},
	"classes of characters":          {`{"pattern":"` + strings.Repeat(`[\\pL\\pN]`, 6000) + `"}`, `"x"`, "bytes"},
	"nested schemas":                 {nest(`{"not":`, "{}", "}", 8000), `1`, "nested"},
	"nested lists of schemas":        {nest(`{"allOf":[`, "{}", "]}", 60), `1`, ""},
	"nested values of an annotation": {`{"x":` + nest("[", "1", "]", 9000) + `}`, `1`, "nested"},
	"a long key with many parts":     {repeatSome(4990, `{"properties":{"`+strings.Repeat("k", 30000)+`":{"anyOf":[`, `{}`, ",", `]}}}`), `1`, "JSON Pointers"},
	"many identifiers":               {repeatSome(999, `{"$defs":{`, `"%d":{"$id":"i%d"}`, ",", `}}`), `1`, ""},
	"many anchors":                   {repeatSome(999, `{"$defs":{`, `"%d":{"$anchor":"i%d"}`, ",", `}}`), `1`, ""},
	"references to unknown places":   {repeatSome(999, `{"anyOf":[`, `{"$ref":"#/x/%d"}`, ",", `],"x":[`+strings.Repeat("{},", 2000)+`{}],"allOf":[`+strings.Repeat("{},", 1900)+`{}]}`), `1`, ""},
	"many references": {
		repeatSome(999, `{"$defs":{"a":{"type":"null"}},"anyOf":[`, `{"$ref":"#/$defs/a"}`, ",", `]}`), `1`, "",
	},
	"an invalid schema with many errors": {repeat(`{"properties":{`, `"%d":{"type":1}`, ",", `}}`), `1`, "must be one of"},
	"a value with many errors":           {`{"items":{"type":"string","pattern":"a"}}`, repeat("[", "%d", ",", "]"), ""},
	"unknown keys":                       {repeatSome(4990, `{"additionalProperties":false,"x":1,"properties":{`, `"k%d":{}`, ",", `}}`), repeat("{", `"q%d":1`, ",", "}"), ""},
	"numbers with exponents":             {`{"items":{"type":"integer","multipleOf":1e-999}}`, repeat("[", "1.%de999", ",", "]"), "steps"},
	"a long number":                      {`{"multipleOf":3}`, strings.Repeat("9", bombSize), "range"},
	"unique lists":                       {`{"uniqueItems":true}`, repeat("[", "%d", ",", "]"), ""},
	"unique short lists": {
		`{"items":{"uniqueItems":true},"x":1}`, `[[` + strings.TrimSuffix(strings.Repeat(repeat("[", "7", ",", "]")+",", 20), ",") + `]]`, "steps",
	},
	"unevaluated properties": {
		repeatSome(1600, `{"unevaluatedProperties":false,"allOf":[`, `{"properties":{"%d":{}}}`, ",", `]}`), repeat("{", `"%d":1`, ",", "}"), "steps",
	},
	"dynamic references": {
		`{"$dynamicAnchor":"n","items":{"anyOf":[{"$dynamicRef":"#n"},{"$dynamicRef":"#n"}],"maxItems":0}}`, nest("[", "1", "]", 400), "",
	},
	"another draft": {
		`{"$schema":"http://json-schema.org/draft-04/schema#","items":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]},"maxItems":1,"not":{"type":"string"}}`,
		nest("[", "1,2", "]", 400), "steps",
	},
	"a deep value": {`{"items":{"$ref":"#"}}`, nest("[", "", "]", 9000), "nested"},
}

// The worst schemas and values of 64 KB are rejected or validated in bounded time and memory.
func TestSchemaBombsAreBounded(t *testing.T) {
	for name, bomb := range bombs {
		t.Run(name, func(t *testing.T) {
			var found []schema.Violation
			var err error
			used := usage.Of(func() {
				var s *schema.Schema
				if s, err = schema.Compile([]byte(bomb.schema)); err == nil {
					found, err = s.ValidateJSON(t.Context(), []byte(bomb.value))
				}
			})
			t.Logf("%v, %d MB, %d violations, %v", used.CPU, used.Allocated>>20, len(found), err)
			if used.CPU > 2*time.Second {
				t.Errorf("it took %v", used.CPU)
			}
			if used.Allocated > 384<<20 {
				t.Errorf("it allocated %d MB", used.Allocated>>20)
			}
			if bomb.stopped == "" && err != nil || bomb.stopped != "" && (err == nil || !strings.Contains(err.Error(), bomb.stopped)) {
				t.Errorf("error %v, want one that says %q", err, bomb.stopped)
			}
			if err != nil && len(err.Error()) > 5000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// A validation ends with its context.
func TestAValidationEndsWithItsContext(t *testing.T) {
	t.Parallel()
	bomb := bombs["a recursive schema"]
	s, err := schema.Compile([]byte(bomb.schema))
	if err != nil {
		t.Fatal(err)
	}
	reason := errors.New("the turn was canceled")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if _, err := s.ValidateJSON(ctx, []byte(bomb.value)); !errors.Is(err, reason) {
		t.Errorf("error %v, want %v", err, reason)
	}
	// The schema stays usable after an interrupted validation.
	if found, err := s.ValidateJSON(t.Context(), []byte(`"x"`)); err != nil || found != nil {
		t.Errorf("the next validation: %v, %v", found, err)
	}
	if _, err := s.ValidateJSON(t.Context(), []byte(bomb.value)); !errors.As(err, new(*schema.LimitError)) {
		t.Errorf("error %v, want a limit", err)
	}
}

// Concurrent validations with one schema do not share their steps.
func TestValidationsAtTheSameTimeCountTheirOwnSteps(t *testing.T) {
	t.Parallel()
	s, err := schema.Compile([]byte(`{"items":{"$ref":"#/$defs/n"},"$defs":{"n":{"pattern":"^[0-9]+$"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	value := []byte(repeat("[", `"%d"`, ",", "]"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 2 {
				if found, err := s.ValidateJSON(t.Context(), value); err != nil || found != nil {
					t.Errorf("%v, %v", found, err)
				}
			}
		})
	}
	all.Wait()
}

// Realistic large schemas and values are not rejected.
func TestLargeSchemasAreAccepted(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]struct{ schema, value string }{
		"a union of 100 shapes": {
			`{"$defs":{` + strings.TrimSuffix(strings.Repeat(`"x":{},`, 1), ",") + `},"items":{"oneOf":[` + shapes(100) + `]}}`,
			"[" + strings.TrimSuffix(strings.Repeat(`{"kind":"k70","value":7},`, 200), ",") + "]",
		},
		"a tree": {
			`{"$defs":{"n":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/n"}}},"required":["name"]}},"$ref":"#/$defs/n"}`,
			nest(`{"name":"x","children":[`, "", "]}", 60),
		},
		"a megabyte of rows": {
			`{"type":"array","items":{"$ref":"#/$defs/row"},"$defs":{"row":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string","pattern":"^[a-z]+$"},"tags":{"type":"array","items":{"enum":["a","b","c"]}}},"required":["id"],"additionalProperties":false}}}`,
			"[" + strings.TrimSuffix(strings.Repeat(`{"id":12345,"name":"somebody","tags":["a","c"]},`, 22000), ",") + "]",
		},
		"a schema of schemas": {`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, object},
	} {
		s, err := schema.Compile([]byte(ok.schema))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if found, err := s.ValidateJSON(t.Context(), []byte(ok.value)); err != nil || found != nil {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

// shapes returns object schemas that differ in the constant of a property.
func shapes(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"type":"object","properties":{"kind":{"const":"k%d"},"value":{"type":["integer","string"]}},"required":["kind"]}`, i)
	}
	return strings.Join(list, ",")
}
