package jsonlines_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/jsonlines"
)

func TestOnlyMessagesAreRead(t *testing.T) {
	t.Parallel()
	const message = `{"jsonrpc":"2.0","id":1}`
	for name, tt := range map[string]struct {
		in, want string
		other    []string
	}{
		"messages":              {message + "\n" + message + "\r\n\n", message + "\n" + message + "\n", nil},
		"text around":           {"hello\n" + message + "\nbye", message + "\n", []string{"hello", "bye"}},
		"other values":          {"1\n\"x\"\nnull\n{}\n{\"level\":\"info\",\"id\":1}\n{\n", "", []string{"1", `"x"`, "null", "{}", `{"level":"info","id":1}`, "{"}},
		"a broken message":      {`{"jsonrpc":"2.0"` + "\n", `{"jsonrpc":"2.0"` + "\n", nil},
		"no version":            {`{"id":1,"result":{}}` + "\n", `{"id":1,"result":{}}` + "\n", nil},
		"no break at the end":   {message, message + "\n", nil},
		"longer than a buffer":  {`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 9000) + "\"}\n", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 9000) + "\"}\n", nil},
		"a batch":               {"[" + message + "]\n", "[" + message + "]\n", nil},
		"a broken batch, empty": {"[1\n", "", []string{"[1"}},
	} {
		var other []string
		got, err := io.ReadAll(jsonlines.NewReader(strings.NewReader(tt.in), 1<<20, func(line string) { other = append(other, line) }))
		if err != nil || string(got) != tt.want || !slices.Equal(other, tt.other) {
			t.Errorf("%s: %q, other %q, %v", name, got, other, err)
		}
	}
	if _, err := io.ReadAll(jsonlines.NewReader(strings.NewReader(strings.Repeat("x", 100)), 99, func(string) {})); !errors.Is(err, jsonlines.ErrTooLong) {
		t.Errorf("a line above the limit: %v", err)
	}
}
