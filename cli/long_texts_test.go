package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// withLongTexts returns a JSON document once for each text and name in it, with that text or name
// replaced by a long one.
func withLongTexts(value any, long string) (all []any) {
	switch v := value.(type) {
	case string:
		return []any{long}
	case []any:
		for i := range v {
			for _, one := range withLongTexts(v[i], long) {
				changed := slices.Clone(v)
				changed[i] = one
				all = append(all, changed)
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			renamed := maps.Clone(v)
			delete(renamed, name)
			renamed[long] = v[name]
			all = append(all, renamed)
			for _, one := range withLongTexts(v[name], long) {
				changed := maps.Clone(v)
				changed[name] = one
				all = append(all, changed)
			}
		}
	}
	return all
}

// TestErrorsRepeatLittleOfARequest puts a long text into each field of every route's requests: an
// error repeats at most its beginning.
func TestErrorsRepeatLittleOfARequest(t *testing.T) {
	const size, most = 100_000, 20_000
	w := newTown(t)
	long, tried := strings.Repeat("a", size), 0
	for _, route := range w.Routes() {
		asks := rows[route.Pattern].asks
		if len(asks) == 0 || asks[0].form || !strings.Contains(asks[0].request, "\n") {
			continue
		}
		line, body, _ := strings.Cut(w.make(t, asks[0].request).fill(asks[0].request, "acme"), "\n")
		method, path, _ := strings.Cut(line, " ")
		var document any
		if err := json.Unmarshal([]byte(body), &document); err != nil {
			continue // a non-JSON body
		}
		for _, changed := range withLongTexts(document, long) {
			if rpc, ok := changed.(map[string]any); ok && rpc["id"] == long {
				continue // JSON-RPC must repeat it
			}
			data, err := json.Marshal(changed)
			if err != nil {
				t.Fatal(err)
			}
			tried++
			headers := []http.Header{bearer(w.token(t, "acme", "ann", w.scopes...)), {"If-Match": {"none"}, "A2a-Version": {"1.0"}}}
			got := w.ask(t, method, path, string(data), headers...)
			if got.status >= http.StatusBadRequest && len(got.body) > most {
				t.Errorf("%s: %.200s: %d with %d bytes: %.300s", route.Pattern, strings.ReplaceAll(string(data), long, "LONG"), got.status, len(got.body), got.body)
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d requests were tried", tried)
	}
	for i, line := range strings.Split(w.log.String(), "\n") {
		if len(line) > most {
			t.Errorf("line %d of the log has %d bytes: %.300s", i, len(line), fmt.Sprint(line))
		}
	}
}
