package process

import (
	"strings"
	"testing"
)

func TestHeadKeepsTheBeginning(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		writes []string
		want   string
	}{
		{nil, "[no output]"},
		{[]string{"a\x00b"}, "[3 bytes of output: only text is shown]"},
		{[]string{"a", "", "b"}, "ab"},
		{[]string{strings.Repeat("x", 64)}, strings.Repeat("x", 64)},
		{[]string{strings.Repeat("x", 60), "12345"}, strings.Repeat("x", 64-23) + "\n[cut: 65 bytes in all]"},
		{[]string{strings.Repeat("é", 300), "y"}, strings.Repeat("é", 20) + "\n[cut: 601 bytes in all]"},
		{[]string{"a\xffb"}, "a\uFFFDb"},
	} {
		h := Head{Limit: 64}
		for _, w := range tt.writes {
			if n, err := h.Write([]byte(w)); n != len(w) || err != nil {
				t.Fatalf("Write gave %d, %v", n, err)
			}
		}
		if got := h.Text(); got != tt.want || len(got) > 64 {
			t.Errorf("%q: text is %q, want %q", tt.writes, got, tt.want)
		}
	}
}
