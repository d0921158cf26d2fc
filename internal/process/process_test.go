package process

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"unicode/utf8"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAProgramSeesFewVariables(t *testing.T) {
	t.Setenv("RUNTIME_API_KEY", "s3cr3t")
	t.Setenv("HOME", "/home/me")
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("TMPDIR", "/tmp")
	t.Setenv("PATH", "/bin")
	got := Environment(map[string]string{"HOME": "/elsewhere", "A": "b"})
	if want := []string{"A=b", "HOME=/elsewhere", "LANG=C.UTF-8", "PATH=/bin", "TMPDIR=/tmp"}; !slices.Equal(got, want) {
		t.Errorf("the environment is %q, want %q", got, want)
	}
}

func TestWhereAProgramIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	there := filepath.Join(dir, "bin", "there")
	if err := os.Mkdir(filepath.Dir(there), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(there, []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // it must be executable
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plain"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := map[string]string{"PATH": "bin" + string(filepath.ListSeparator) + filepath.Dir(there)}
	for _, tt := range []struct{ name, want, err string }{
		{"there", there, ""},
		{"bin/there", there, ""},
		{there, there, ""},
		{"./plain", "", `command "./plain" cannot be run: permission denied`},
		{"./none", "", `command "./none" cannot be run: no such file or directory`},
		{"none", "", `command "none" is not installed: not found in PATH`},
	} {
		got, err := Find(tt.name, dir, path)
		if _, typed := errors.AsType[*StartError](err); got != tt.want || typed != (tt.err != "") || typed && err.Error() != tt.err {
			t.Errorf("%s is at %q (%v), want %q (%s)", tt.name, got, err, tt.want, tt.err)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	check := func(chunks [][]byte) bool {
		const limit = 16
		w := &Tail{Limit: limit}
		var all []byte
		for _, chunk := range chunks {
			if n, err := w.Write(chunk); n != len(chunk) || err != nil {
				return false
			}
			all = append(all, chunk...)
		}
		return string(w.kept) == string(all[max(len(all)-limit, 0):]) && w.cut == (len(all) > limit) && utf8.ValidString(w.Text())
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
	w := &Tail{Limit: 6}
	_, _ = w.Write([]byte("aéé é\n"))
	if got := w.Text(); got != "[…] é é" || strings.Contains(got, "a") {
		t.Errorf("the text is %q", got)
	}
}
