package plugins_test

import (
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Everything below that settings may be made of, each in every place where JSON
// can reach it.
type (
	leaf struct {
		N    int             `json:"n"`
		List []int           `json:"list"`
		Map  map[string]int  `json:"map"`
		Raw  json.RawMessage `json:"raw,omitempty"`
	}
	embedded struct {
		Own []string `json:"own"`
	}
	Embedded struct {
		Theirs map[string]*leaf `json:"theirs"`
	}
	settingsTree struct {
		embedded
		*Embedded
		Leaf    leaf              `json:"leaf"`
		Pointer *leaf             `json:"pointer"`
		Double  **leaf            `json:"double"`
		Leaves  []leaf            `json:"leaves"`
		Refs    []*leaf           `json:"refs"`
		Lists   map[string][]leaf `json:"lists"`
		Maps    []map[string]leaf `json:"maps"`
		Array   [2]*leaf          `json:"array"`
		Arrays  [2][]int          `json:"arrays"`
		Any     any               `json:"any"`
		Into    any               `json:"into"`
		Big     *big.Int          `json:"big"`
		At      time.Time         `json:"at"`
		hidden  *leaf
	}
)

// drawLeaf draws a leaf with room in its lists, which decoding writes into first.
func drawLeaf(t *rapid.T) leaf {
	l := leaf{N: rapid.IntRange(0, 9).Draw(t, "n")}
	if rapid.Bool().Draw(t, "has list") {
		l.List = append(make([]int, 0, 4), rapid.SliceOfN(rapid.IntRange(0, 9), 0, 3).Draw(t, "list")...)
	}
	if rapid.Bool().Draw(t, "has map") {
		l.Map = rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), rapid.IntRange(0, 9), 0, 2).Draw(t, "map")
	}
	if rapid.Bool().Draw(t, "has raw") {
		l.Raw = append(make(json.RawMessage, 0, 16), `{"x":1}`...)
	}
	return l
}

func drawTree(t *rapid.T) settingsTree {
	ref := func() *leaf {
		if !rapid.Bool().Draw(t, "set") {
			return nil
		}
		l := drawLeaf(t)
		return &l
	}
	s := settingsTree{Leaf: drawLeaf(t), Pointer: ref(), Array: [2]*leaf{ref(), ref()}, hidden: ref()}
	s.Own = append(make([]string, 0, 4), "x")
	if rapid.Bool().Draw(t, "embeds") {
		s.Embedded = &Embedded{Theirs: map[string]*leaf{"a": ref(), "b": ref()}}
	}
	double := ref()
	s.Double = &double
	for range rapid.IntRange(0, 2).Draw(t, "leaves") {
		s.Leaves, s.Refs = append(s.Leaves, drawLeaf(t)), append(s.Refs, ref())
		s.Maps = append(s.Maps, map[string]leaf{"a": drawLeaf(t)})
	}
	s.Lists = map[string][]leaf{"a": {drawLeaf(t)}}
	s.Arrays = [2][]int{{1, 2}, append(make([]int, 0, 2), 3)}
	s.Any = rapid.SampledFrom([]any{nil, 1.0, map[string]any{"a": []any{1.0}}}).Draw(t, "any")
	if into := ref(); into != nil {
		s.Into = into
	}
	s.Big = big.NewInt(rapid.Int64().Draw(t, "big"))
	s.At = time.Unix(rapid.Int64Range(0, 1e9).Draw(t, "at"), 0).UTC()
	return s
}

// drawSection draws a section: some fields of a tree.
func drawSection(t *rapid.T) json.RawMessage {
	data, err := json.Marshal(drawTree(t))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch rapid.IntRange(0, 2).Draw(t, "keeps "+name) {
		case 0:
			delete(fields, name)
		case 1:
			if rapid.IntRange(0, 4).Draw(t, "nulls "+name) == 0 {
				fields[name] = json.RawMessage("null")
			}
		}
	}
	if data, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	return data
}

// same compares trees with what they hide.
func same(t *rapid.T, what string, want, got settingsTree) {
	t.Helper()
	numbers := cmp.Comparer(func(a, b *big.Int) bool { return a == nil && b == nil || a != nil && b != nil && a.Cmp(b) == 0 })
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(settingsTree{}), numbers); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// twice draws one tree twice, so that what is expected shares nothing with what
// is given away.
func twice(t *rapid.T) (given, kept settingsTree) {
	seed := rapid.Int().Draw(t, "seed")
	return rapid.Custom(drawTree).Example(seed), rapid.Custom(drawTree).Example(seed)
}

// TestPropertySectionsShareNothingWithTheDefaults decodes sections one after
// another over the same defaults. None may see or change what another has.
func TestPropertySectionsShareNothingWithTheDefaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		defaults, kept := twice(rt)
		decode := plugins.DecodeInto(defaults)
		var results, before []settingsTree
		for range rapid.IntRange(1, 4).Draw(rt, "sections") {
			raw := drawSection(rt)
			got, list := decode(raw)
			again, _ := decode(raw)
			if list.HasErrors() {
				rt.Fatal(list)
			}
			results, before = append(results, got), append(before, again)
		}
		bare, _ := decode(nil)
		same(rt, "the settings of an agent without the section", kept, bare)
		same(rt, "the defaults", kept, defaults)
		for i := range results {
			same(rt, "a section after others", before[i], results[i])
		}
		results = append(results, before...)
		results = append(results, bare, defaults)
		for i := range results {
			for k := range i {
				if shared := sharing(reflect.ValueOf(results[i]), reflect.ValueOf(results[k]), "settings"); shared != "" {
					rt.Fatalf("two agents share %s", shared)
				}
			}
		}
	})
}

// sharing returns the first place at which two values have memory in common that
// JSON reaches.
func sharing(a, b reflect.Value, path string) string {
	if a.Kind() != b.Kind() || a.Type() != b.Type() || a.Type() == reflect.TypeFor[time.Time]() {
		return ""
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if a.IsNil() || b.IsNil() {
			return ""
		}
		if a.Pointer() == b.Pointer() && (a.Kind() != reflect.Slice || a.Cap() > 0) {
			return path
		}
	default:
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !a.IsNil() && !b.IsNil() {
			return sharing(a.Elem(), b.Elem(), path)
		}
	case reflect.Slice, reflect.Array:
		for i := range min(a.Len(), b.Len()) {
			if shared := sharing(a.Index(i), b.Index(i), path+"[]"); shared != "" {
				return shared
			}
		}
	case reflect.Map:
		for _, key := range a.MapKeys() {
			if other := b.MapIndex(key); other.IsValid() {
				if shared := sharing(a.MapIndex(key), other, path+"."+key.String()); shared != "" {
					return shared
				}
			}
		}
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).Name == "hidden" {
				continue // no JSON reaches it
			}
			if shared := sharing(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name); shared != "" {
				return shared
			}
		}
	default:
	}
	return ""
}

func TestHowASectionIsDecodedOverDefaults(t *testing.T) {
	t.Parallel()
	type rule struct {
		Tool     string `json:"tool"`
		Behavior string `json:"behavior"`
	}
	type base struct {
		Extra []string `json:"extra"`
	}
	type settings struct {
		*base
		Rules  []rule `json:"rules"`
		Nested *struct{ A, B int }
		Limits map[string]int `json:"limits"`
	}
	defaults := settings{
		base: &base{Extra: []string{"x"}}, Rules: []rule{{"*", "deny"}}, Nested: &struct{ A, B int }{1, 2}, Limits: map[string]int{"a": 1},
	}
	for raw, want := range map[string]string{
		`{}`:                        `{"extra":["x"],"rules":[{"tool":"*","behavior":"deny"}],"Nested":{"A":1,"B":2},"limits":{"a":1}}`,
		`{"rules":[{"tool":"wc"}]}`: `{"extra":["x"],"rules":[{"tool":"wc","behavior":""}],"Nested":{"A":1,"B":2},"limits":{"a":1}}`,
		`{"rules":[]}`:              `{"extra":["x"],"rules":[],"Nested":{"A":1,"B":2},"limits":{"a":1}}`,
		`{"rules":null}`:            `{"extra":["x"],"rules":null,"Nested":{"A":1,"B":2},"limits":{"a":1}}`,
		`{"Nested":{"B":3}}`:        `{"extra":["x"],"rules":[{"tool":"*","behavior":"deny"}],"Nested":{"A":1,"B":3},"limits":{"a":1}}`,
		`{"limits":{"b":2}}`:        `{"extra":["x"],"rules":[{"tool":"*","behavior":"deny"}],"Nested":{"A":1,"B":2},"limits":{"a":1,"b":2}}`,
		`{"extra":["y","z"]}`:       `{"extra":["y","z"],"rules":[{"tool":"*","behavior":"deny"}],"Nested":{"A":1,"B":2},"limits":{"a":1}}`,
	} {
		got, list := plugins.DecodeInto(defaults)(json.RawMessage(raw))
		if list.HasErrors() {
			t.Fatal(list)
		}
		data, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}

// TestDefaultsThatReferToThemselves has defaults with a cycle, which JSON cannot
// say but Go can.
func TestDefaultsThatReferToThemselves(t *testing.T) {
	t.Parallel()
	type ring struct {
		N    int   `json:"n"`
		Next *ring `json:"next"`
	}
	defaults := &ring{N: 1}
	defaults.Next = defaults
	got, list := plugins.DecodeInto(defaults)(json.RawMessage(`{"n":2}`))
	if list.HasErrors() || got.N != 2 || got.Next != got || defaults.N != 1 {
		t.Errorf("got %d, its own next %t; the defaults have %d, %v", got.N, got.Next == got, defaults.N, list)
	}
}

// TestSectionsAreDecodedConcurrently is for the race detector.
func TestSectionsAreDecodedConcurrently(t *testing.T) {
	t.Parallel()
	decode := plugins.DecodeInto(rapid.Custom(drawTree).Example(7))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, raw := range []string{`{"leaf":{"map":{"a":1}},"big":7,"lists":{"b":[]}}`, `{"theirs":{"a":null},"own":["y"]}`} {
				if _, list := decode(json.RawMessage(raw)); list.HasErrors() {
					t.Error(strings.TrimSpace(list.Err().Error()))
				}
			}
		})
	}
	wg.Wait()
}
