package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSymbolsBelongToPackages(t *testing.T) {
	var weights table
	for symbol, want := range map[string]string{
		"main.main":                                   "main",
		"net/http.(*Client).Do":                       "net/http",
		"type:.eq.net/url.URL":                        "net/url",
		"gopkg.in/yaml%2ev3.Unmarshal":                "gopkg.in/yaml.v3",
		"slices.SortFunc[go.shape.[]example.com/a.B]": "slices",
		"go:itab.*bytes.Buffer,io.Writer":             "bytes",
		"runtime":                                     "",
	} {
		if got := weights.packageOf(symbol); got != want {
			t.Errorf("%s belongs to %q, want %q", symbol, got, want)
		}
	}
}

func TestTheTableIsRewrittenBelowItsHeading(t *testing.T) {
	weights := table{rows: map[string]*row{
		"a": {module: "a", packages: 2, bytes: 500_000, compile: 1500 * time.Millisecond}, "b": {module: "b", packages: 1}, "c": {module: "c", packages: 1, bytes: 4000},
	}}
	file := filepath.Join(t.TempDir(), "page.md")
	for _, text := range []string{"before\n" + heading + "old\n\n## After\n", ""} {
		if text != "" {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := rewrite(file, weights.text()); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := "before\n" + heading + "\n| Module | Packages | Compile, CPU s | Code and data, KB |\n|---|---:|---:|---:|\n" +
			"| `a` | 2 | 1.5 | 500 |\n| 2 others | 2 | 0.0 | 4 |\n| **All** | 4 | 1.5 | 504 |\n\n## After\n"
		if string(got) != want {
			t.Errorf("the file is\n%s\nwant\n%s", got, want)
		}
	}
	if err := rewrite(os.DevNull, ""); err == nil || !strings.Contains(err.Error(), "Weights") {
		t.Errorf("a file without the heading gives %v", err)
	}
}
