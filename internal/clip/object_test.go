package clip_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/clip"
)

func TestAnObjectIsMadeToFit(t *testing.T) {
	t.Parallel()
	encode := func(v any) []byte {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	numbers := make([]int, 1<<19)
	many := map[string]any{}
	for i := range 100_000 {
		many[fmt.Sprint(i)] = i
	}
	const size = 256 << 10
	for name, v := range map[string]map[string]any{
		"a text":        {"text": strings.Repeat("x", 1<<20), "id": "call_1"},
		"control":       {"text": strings.Repeat("\x01", 1<<20), "id": "call_1"},
		"wide":          {"text": strings.Repeat("界", 1<<20), "id": "call_1"},
		"many texts":    {"list": strings.Split(strings.Repeat("some words,", 100_000), ","), "id": "call_1"},
		"numbers":       {"list": numbers, "id": "call_1"},
		"lists":         {"list": []any{numbers[:100_000], numbers[:100_000], numbers[:100_000]}, "id": "call_1"},
		"an object":     {"object": many, "id": "call_1"},
		"a long number": {"n": json.Number(strings.Repeat("1", 1<<20)), "id": "call_1"},
		"a long name":   {"o": map[string]any{strings.Repeat("n", 1<<20): 1}, "id": "call_1"},
	} {
		raw := encode(v)
		fit := clip.Object(raw, size)
		var got map[string]any
		if err := json.Unmarshal(fit, &got); err != nil || len(fit) > size || got[clip.Marker] != true || got["id"] != "call_1" {
			t.Errorf("%s: %d bytes, %v, %.80s", name, len(fit), err, fit)
		}
		if again := clip.Object(raw, size); !bytes.Equal(again, fit) {
			t.Errorf("%s: another time it is another", name)
		}
		if text, ok := got["text"].(string); ok && (!strings.HasSuffix(text, "…") || strings.ContainsRune(text, '\ufffd') || !strings.HasPrefix(v["text"].(string), strings.TrimSuffix(text, "…"))) {
			t.Errorf("%s: the text is %.40q", name, text)
		}
	}
	if small := []byte(`{ "a":1 }`); &clip.Object(small, size)[0] != &small[0] {
		t.Error("what fits is not left alone")
	}
}
