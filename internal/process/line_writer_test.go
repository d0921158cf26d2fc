package process

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLinesAreHandedOverWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxLine)
	for name, tt := range map[string]struct{ writes, want []string }{
		"in pieces":    {[]string{"a", "b\nc", "d\r\n", "\n  \ne"}, []string{"ab", "cd", "e"}},
		"too long":     {[]string{long + "y\nz\n"}, []string{long, "y", "z"}},
		"just as long": {[]string{long, "\nz"}, []string{long, "z"}},
		"endless":      {[]string{long, long, "y"}, []string{long, long, "y"}},
		"not text":     {[]string{"a\xffb\n"}, []string{"a\uFFFDb"}},
		"nothing":      {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			w := NewLineWriter(func(line string) { got = append(got, line) })
			for _, text := range tt.writes {
				if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
					t.Errorf("Write returns %d, %v", n, err)
				}
			}
			w.Flush()
			if !slices.Equal(got, tt.want) {
				t.Errorf("the lines are %.60q, want %.60q", got, tt.want)
			}
		})
	}
}

func TestTooManyLinesAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []string
		w := NewLineWriter(func(line string) { got = append(got, line) })
		_, _ = w.Write([]byte(strings.Repeat("x\n", lineBurst+5)))
		if len(got) != lineBurst {
			t.Fatalf("there are %d lines, want %d", len(got), lineBurst)
		}
		time.Sleep(time.Second)
		_, _ = w.Write([]byte("y\n"))
		if last := got[lineBurst:]; !slices.Equal(last, []string{"[5 lines dropped]", "y"}) {
			t.Errorf("the last lines are %q", last)
		}
	})
}
