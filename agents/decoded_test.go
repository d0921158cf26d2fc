package agents

import (
	"encoding/json"
	"math/big"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// shelf has a field of each kind that a copy must inspect.
type shelf struct {
	Name    string `json:"name"`
	Count   int    `json:",omitempty"`
	Weight  float64
	Open    bool
	Bytes   []byte            `json:"bytes"`
	Words   []string          `json:"words"`
	Few     []string          `json:"few,omitempty"`
	Labels  map[string]string `json:"labels"`
	Numbers map[int][]int     `json:"numbers,omitempty"`
	Pair    [2]book
	Books   []book
	Best    *book `json:"best,omitempty"`
	Deeper  **book
	Next    *shelf
	Any     any
	Number  json.Number
}

type book struct {
	Title string
	Pages int
}

// drawShelf draws a value whose text may be invalid UTF-8.
func drawShelf(t *rapid.T, depth int) *shelf {
	text := rapid.OneOf(rapid.String(), rapid.Just(`\ufffd`), rapid.Just("\xff"))
	books := rapid.Custom(func(t *rapid.T) book { return book{text.Draw(t, "title"), rapid.Int().Draw(t, "pages")} })
	s := &shelf{
		Name: text.Draw(t, "name"), Count: rapid.Int().Draw(t, "count"),
		Weight: rapid.Float64Range(-1e9, 1e9).Draw(t, "weight"), Open: rapid.Bool().Draw(t, "open"),
		Bytes: rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"), Words: rapid.SliceOf(text).Draw(t, "words"),
		Few: rapid.SliceOf(text).Draw(t, "few"), Labels: rapid.MapOf(text, text).Draw(t, "labels"),
		Numbers: rapid.MapOf(rapid.Int(), rapid.SliceOf(rapid.Int())).Draw(t, "numbers"),
		Pair:    [2]book{books.Draw(t, "first"), books.Draw(t, "second")}, Books: rapid.SliceOf(books).Draw(t, "books"),
		Number: json.Number(rapid.SampledFrom([]string{"", "0", "-1.50", "1e400"}).Draw(t, "number")),
		Any: rapid.SampledFrom([]any{
			nil, true, "text", json.Number("1.0"), 1, 1.5, []any{"a", nil}, []any(nil), map[string]any{"a": []any{false}},
			map[string]any(nil), map[string]any{"a": 1}, []string{"a"}, book{"a", 1}, &book{"a", 1}, time.Second, big.NewInt(1),
		}).Draw(t, "any"),
	}
	if rapid.Bool().Draw(t, "nils") {
		s.Bytes, s.Words, s.Few, s.Labels, s.Numbers, s.Books = nil, nil, nil, nil, nil, nil
	}
	if rapid.Bool().Draw(t, "best") {
		s.Best = &book{"best", 1}
		s.Deeper = rapid.SampledFrom([]**book{nil, new(*book), &s.Best}).Draw(t, "deeper")
	}
	if depth > 0 && rapid.Bool().Draw(t, "next") {
		s.Next = drawShelf(t, depth-1)
	}
	return s
}

func TestPropertyAKeptStateIsTheDecodedOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := drawShelf(t, 2)
		raw, err := encodeCustom(state)
		if err != nil {
			t.Skip("it cannot be encoded")
		}
		var kept decodedState[shelf]
		kept.put(raw, state)
		got, err := kept.take(raw)
		if err != nil {
			t.Fatal(err)
		}
		want, err := decodeCustom[shelf](raw)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("kept %+v, decoded %+v, of %s", got, want, raw)
		}
	})
}

// State retained by the code must not leak into later states.
func TestAKeptStateBelongsToNobodyElse(t *testing.T) {
	state := shelf{
		Words: []string{"a"}, Labels: map[string]string{"a": "a"}, Books: []book{{"a", 1}}, Best: &book{"a", 1},
		Any: map[string]any{"a": []any{"a"}}, Number: "1",
	}
	raw, err := encodeCustom(&state)
	if err != nil {
		t.Fatal(err)
	}
	want, err := decodeCustom[shelf](raw)
	if err != nil {
		t.Fatal(err)
	}
	var kept decodedState[shelf]
	kept.put(raw, &state)
	if kept.last.Load() == nil {
		t.Fatal("it was not kept")
	}
	mutate := func(s *shelf) {
		s.Words[0], s.Labels["a"], s.Books[0].Title, s.Best.Title = "b", "b", "b", "b"
		s.Any.(map[string]any)["a"].([]any)[0] = "b"
	}
	mutate(&state)
	for range 2 {
		got, err := kept.copyOf(raw)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		mutate(&got)
	}
}

func TestStatesThatAreDecodedToSomethingElseAreNotKept(t *testing.T) {
	for name, isKept := range map[string]func() bool{
		"a field without encoding": func() bool {
			return keeps(struct {
				A int `json:"-"`
			}{1})
		},
		"an unexported field":  func() bool { return keeps(struct{ a int }{1}) },
		"a struct in a struct": func() bool { return keeps(struct{ book }{book{"a", 1}}) },
		"fields of one name": func() bool {
			return keeps(struct {
				A int
				B int `json:"A"`
			}{1, 2})
		},
		"fields that differ in case": func() bool {
			return keeps(struct {
				A int
				B int `json:"a"`
			}{1, 2})
		},
		"a number as a string": func() bool {
			return keeps(struct {
				A int `json:",string"`
			}{1})
		},
		"a zero that is left out": func() bool {
			return keeps(struct {
				A []int `json:",omitzero"`
			}{[]int{}})
		},
		"a time":                 func() bool { return keeps(struct{ A time.Time }{time.Now()}) },
		"encoded JSON":           func() bool { return keeps(struct{ A json.RawMessage }{json.RawMessage("1")}) },
		"a key with an encoding": func() bool { return keeps(map[time.Time]int{time.Now(): 1}) },
		"an odd name": func() bool {
			return keeps(struct {
				A int `json:"a b"`
			}{1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			if isKept() {
				t.Error("it was kept")
			}
		})
	}
	if !keeps(map[string]any{"a": []any{"b", json.Number("1"), nil, true}}) || !keeps(&book{"a", 1}) {
		t.Error("a state that is decoded to itself was not kept")
	}
}

// keeps reports whether a state is kept once it was encoded.
func keeps[S any](state S) bool {
	raw, err := encodeCustom(state)
	if err != nil {
		return false
	}
	var kept decodedState[S]
	kept.put(raw, &state)
	return kept.last.Load() != nil
}
