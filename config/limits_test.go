package config_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/testkit/usage"
)

// filled returns a text slightly below the maximum size that repeats part.
func filled(before, part, after string) string {
	return before + strings.Repeat(part, (4_999_000-len(before)-len(after))/len(part)) + after
}

// bombs are files that are hostile in one way each.
func bombs() map[string]string {
	var laughs strings.Builder
	laughs.WriteString("version: 1\na0: &a0 [x, x]\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	var merges strings.Builder
	merges.WriteString("version: 1\nx: &x {")
	for i := range 2000 {
		fmt.Fprintf(&merges, "k%d: 1, ", i)
	}
	merges.WriteString("}\n")
	for i := range 2000 {
		fmt.Fprintf(&merges, "m%d: {<<: *x}\n", i)
	}
	var ladder strings.Builder
	ladder.WriteString("version: 1\na0: &a0 [x]\n")
	for i := 1; i < 200; i++ {
		fmt.Fprintf(&ladder, "a%d: &a%d [*a%d]\n", i, i, i-1)
	}
	return map[string]string{
		"5 MB":              "version: 1\n" + strings.Repeat("#", 5_000_000),
		"deep flow":         "version: 1\nagents: " + strings.Repeat("[", 10_000),
		"deep closed flow":  "version: 1\nagents: " + strings.Repeat("{a: ", 10_000) + strings.Repeat("}", 10_000),
		"deep block":        "version: 1\nagents:\n  " + strings.Repeat("- ", 10_000),
		"deep aliases":      ladder.String(),
		"alias bomb":        laughs.String(),
		"text bomb":         "version: 1\na: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 100) + "]\n",
		"merge bomb":        merges.String(),
		"merge list bomb":   "version: 1\na: &a {b: 1}\nc: {<<: [" + strings.Repeat("*a, ", 400_000) + "]}\n",
		"flow values":       filled("version: 1\na: [", "a,", "]"),
		"root flow values":  filled("{a: [", "a,", "]}"),
		"root list":         filled("[", "a,", "]"),
		"flow keys":         filled("{version: 1,", "a,", "}"),
		"lists":             filled("version: 1\na: [", "[],", "]"),
		"mappings":          filled("version: 1\na: [", "{},", "]"),
		"pairs":             filled("version: 1\n", "a: b\n", ""),
		"items":             filled("version: 1\na:\n", "-\n", ""),
		"question marks":    filled("version: 1\n", "?\n", ""),
		"anchors":           filled("version: 1\na:\n", "- &a\n", ""),
		"unclosed quote":    filled("version: 1\na: \"", "b\n ", ""),
		"unset variables":   filled("version: 1\nagents:\n  a:\n    delegates:\n", "    - ${A}\n", ""),
		"references":        filled("version: 1\nagents: {a: {model_id: \"", "${A", "\"}}"),
		"growing variables": filled("version: 1\nagents: {a: {model_id: \"", "${BIG}", "\"}}"),
		"unknown fields":    "version: 1\nagents:\n  a:\n" + manyKeys(200_000),
		"number keys":       "version: 1\na: {" + numbered(100_000, "%d: x, ") + "}\n",
		"repeated keys":     "version: 1\na: {" + strings.Repeat("k: x, ", 100_000) + "}\n",
		"repeated ids":      "version: 1\nagents: {" + strings.Repeat("k: {}, ", 100_000) + "}\n",
		"one line":          "version: 1\nagents: {a: {model_id: m, " + numbered(50_000, "é%d: [x, y, {ü: z}], ") + "}}\n",
		"one line of lists": "version: 1\nagents: {a: {delegates: [" + numbered(50_000, "[é, %d], ") + "]}}\n",
		"secrets":           "version: 1\nproviders: {a: {" + numbered(100_000, "k%d_token: \"sé\", ") + "}}\n",
		"ids":               "version: 1\nagents:\n" + manyKeys(200_000),
	}
}

func numbered(n int, part string) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, part, i)
	}
	return out.String()
}

func manyKeys(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "    kéy/%d: {}\n", i)
	}
	return out.String()
}

// Whatever a file contains, it is rejected soon and in little memory.
func TestBombs(t *testing.T) {
	if raceEnabled {
		t.Skip("time and memory mean nothing with the race detector: make plain runs it without")
	}
	big := strings.Repeat("x", 1000)
	opts := options(map[string]string{"BIG": big})
	for name, text := range bombs() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			start := usage.CPUTime()
			file, list := config.Parse([]config.Source{{Name: "c.yaml", Data: []byte(text)}}, opts)
			list = file.Complete(list, nil)
			file.Source("c.yaml")
			elapsed := usage.CPUTime() - start
			runtime.ReadMemStats(&after)
			if !list.HasErrors() && list.Count(diag.Warning) == 0 {
				t.Error("nothing was found")
			}
			if len(list) > 1001 {
				t.Errorf("%d diagnostics", len(list))
			}
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 600 {
				t.Errorf("%d MB were allocated", allocated)
			} else {
				t.Logf("%v, %d MB, %d diagnostics, first %s", elapsed, allocated, len(list), first(list))
			}
			// On an idle machine it takes less than two seconds, including concurrent garbage
			// collection.
			if elapsed > 15*time.Second {
				t.Errorf("it took %v", elapsed)
			}
		})
	}
}

func first(list diag.List) string {
	if len(list) == 0 {
		return "none"
	}
	return list[0].Error()
}

func TestFileSize(t *testing.T) {
	t.Parallel()
	head := "version: 1\n#"
	for size, want := range map[int]int{4_999_999: 0, 5_000_000: 1, 5_000_001: 1} {
		_, list := parseDocument(t, head+strings.Repeat("x", size-len(head)))
		if len(list) != want {
			t.Errorf("%d bytes: %s", size, shows(list))
		}
		if want == 1 && (list[0].Code != diag.InvalidYAML || !strings.Contains(list[0].Hint, "split it: several files may be given")) {
			t.Errorf("%d bytes: %s", size, shows(list))
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	nested := func(n int) string {
		return "version: 1\nagents: {a: {model_id: m, sections: {x: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "}}}\n"
	}
	if _, list := parseDocument(t, nested(90)); len(list) > 0 {
		t.Error(shows(list))
	}
	if _, list := parseDocument(t, nested(101)); len(list) != 1 || list[0].Code != diag.InvalidYAML {
		t.Error(shows(list))
	}
}

func TestManyDiagnostics(t *testing.T) {
	t.Parallel()
	_, list := parseDocument(t, "version: 1\nagents:\n  a:\n    model_id: m\n"+manyKeys(1500))
	if len(list) != 1001 {
		t.Fatalf("%d diagnostics", len(list))
	}
	last := list[len(list)-1]
	if last.Message != "the file has more than 1000 problems; those from here on are not shown" || last.Line == 0 || last.Severity != diag.Error {
		t.Errorf("the last is %v in line %d", last, last.Line)
	}
}
