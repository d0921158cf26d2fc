package model

import (
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/usage"
)

// Arguments that look like many objects, none of which ends, are read a few times only.
func TestRepairingArgumentsIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"nested":       strings.Repeat(`{"a":`, repairLimit/5),
		"a long end":   strings.Repeat(`{"a":`, 9000) + `"` + strings.Repeat("x", repairLimit-46_000),
		"one by one":   strings.Repeat(`{"a":1}`, repairLimit/7-1) + "x",
		"more objects": "{x" + strings.Repeat(`{"a":1}`, repairLimit/7-2),
	} {
		if used := usage.Of(func() { repairArguments([]byte(text)) }); used.CPU > time.Second {
			t.Errorf("%s: it took %s", name, used.CPU)
		}
	}
	whole := `{"a":[` + strings.Repeat(`{"b":1},`, 300) + `{}]}`
	if got, repair := repairArguments([]byte(whole + whole)); repair != RepairRepeated || string(got) != whole {
		t.Errorf("%q: %.40s", repair, got)
	}
}

// TestArgumentsThatWereCutOffAreNotRepaired has the beginnings of objects, which contain
// whole objects.
func TestArgumentsThatWereCutOffAreNotRepaired(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"filter":{"filter":{"id":7}}`, `{"q":{"q":"x"}`, `{"a":[{"a":1}`, `{"a":1,"b":{}`} {
		if got, repair := repairArguments([]byte(text)); repair != "" || string(got) != text {
			t.Errorf("%s became %s (%s)", text, got, repair)
		}
	}
	for text, want := range map[string]Repair{`{"q"{"q":"x"}`: RepairCumulative, `{"q":"x"}{"q":"x"}`: RepairRepeated, `{}{"q":"x"}`: RepairRepeated} {
		if got, repair := repairArguments([]byte(text)); repair != want || string(got) != `{"q":"x"}` {
			t.Errorf("%s became %s (%s)", text, got, repair)
		}
	}
}

func TestArgumentsAreRepaired(t *testing.T) {
	t.Parallel()
	const object = `{"q":"one"}`
	for text, want := range map[string]struct {
		object string
		repair Repair
	}{
		"```json\n" + object + "\n```":        {object, RepairTrimmed},
		"``` " + object + "```":               {object, RepairTrimmed},
		object + "}":                          {object, RepairTrimmed},
		object + "]}\n":                       {object, RepairTrimmed},
		object + "<|tool_call_end|>":          {object, RepairTrimmed},
		object + "</tool_call>":               {object, RepairTrimmed},
		object + "\n```":                      {object, RepairTrimmed},
		"{\"q\":\"a\nb\"}":                    {`{"q":"a\u000ab"}`, RepairEscaped},
		"{\n\t\"q\": \"a\tb\\\"\r\"\n}":       {"{\n\t\"q\": \"a\\u0009b\\\"\\u000d\"\n}", RepairEscaped},
		"{\"q\":\"a\\\nb\"}":                  {`{"q":"a\\\u000ab"}`, RepairEscaped},
		object + " and more":                  {object + " and more", ""},
		object + `{"q":"two"}`:                {object + `{"q":"two"}`, ""},
		object + `]{"q":"two"}`:               {object + `]{"q":"two"}`, ""},
		"```json\n" + object + "\n```\nDone.": {"```json\n" + object + "\n```\nDone.", ""},
		"```python\nlook(1)\n```":             {"```python\nlook(1)\n```", ""},
		"{\"q\":\"a\nb":                       {"{\"q\":\"a\nb", ""},
	} {
		if got, repair := repairArguments([]byte(text)); repair != want.repair || string(got) != want.object {
			t.Errorf("%q became %q (%s)", text, got, repair)
		}
	}
}
