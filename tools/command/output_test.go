package command

import (
	"strings"
	"testing"
	"testing/quick"
	"unicode/utf8"
)

func TestHeadKeepsTheBeginning(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		writes []string
		want   string
	}{
		{nil, ""},
		{[]string{"a", "", "b"}, "ab"},
		{[]string{strings.Repeat("x", 64)}, strings.Repeat("x", 64)},
		{[]string{strings.Repeat("x", 60), "12345"}, strings.Repeat("x", 64-23) + "\n[cut: 65 bytes in all]"},
		{[]string{strings.Repeat("é", 300), "y"}, strings.Repeat("é", 20) + "\n[cut: 601 bytes in all]"},
		{[]string{"a\xffb"}, "a\uFFFDb"},
	} {
		h := head{limit: 64}
		for _, w := range tt.writes {
			if n, err := h.Write([]byte(w)); n != len(w) || err != nil {
				t.Fatalf("Write gave %d, %v", n, err)
			}
		}
		if got := h.text(); got != tt.want || len(got) > 64 {
			t.Errorf("%q: text is %q, want %q", tt.writes, got, tt.want)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	check := func(chunks [][]byte) bool {
		const limit = 16
		w := tail{limit: limit}
		var all []byte
		for _, chunk := range chunks {
			if n, err := w.Write(chunk); n != len(chunk) || err != nil {
				return false
			}
			all = append(all, chunk...)
		}
		return string(w.kept) == string(all[max(len(all)-limit, 0):]) && w.cut == (len(all) > limit) && utf8.ValidString(w.text())
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
	w := tail{limit: 6}
	_, _ = w.Write([]byte("aéé é\n"))
	if got, want := w.text(), "[…] é é"; got != want {
		t.Errorf("text is %q, want %q", got, want)
	}
}
