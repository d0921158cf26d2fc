package redact_test

import (
	"maps"
	"testing"

	"github.com/agentruntime/agentruntime/internal/redact"
)

func TestURLHidesUserAndParameters(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                               "",
		"https://a.example/p":            "https://a.example/p",
		"https://a.example/p?":           "https://a.example/p?",
		"https://a.example?key=x&b=y;c=": "https://a.example?key=***&b=***;c=",
		"https://a.example/?secret":      "https://a.example/?***",
		"https://a.example/p#part":       "https://a.example/p#part",
		"https://a.example/p#token=x":    "https://a.example/p#token=***",
		"https://me:pw@a.example/@x":     "https://me:***@a.example/@x",
		"https://a:b@c:d@a.example":      "https://a:***@a.example",
		"https://longtoken@a.example":    "https://***@a.example",
		"ssh://git@a.example/x":          "ssh://git@a.example/x",
		"https://${A}:${B}@a.example/${C}?d=${file:e?f&g}&h={{i}}&j=k{{l}}": "https://${A}:${B}@a.example/${C}?d=${file:e?f&g}&h={{i}}&j=***",
		"${tenant.BASE}/x?key=${tenant.KEY}&y=${Z:-secret}":                 "${tenant.BASE}/x?key=${tenant.KEY}&y=***",
		"/card.json?key=x":              "/card.json?key=***",
		"--url=https://a.example?key=x": "--url=https://a.example?key=***",
	} {
		if got := redact.URL(in); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

func TestIsURL(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"https://a?b=c", "--url=https://a?b=c", "${HOST}/x?y=z", "postgres://a:b@c", "https://a#b=c"} {
		if !redact.IsURL("", text) {
			t.Errorf("%q is no URL", text)
		}
	}
	for _, text := range []string{"", "see https://a?b=c", "what?", "a@b.example", "/(?i)rm=x/", "https://a"} {
		if redact.IsURL("tool", text) {
			t.Errorf("%q is a URL", text)
		}
	}
	if !redact.IsURL("card_url", "/card?key=x") {
		t.Error("a relative URL is none")
	}
}

func TestParametersKeepsReferences(t *testing.T) {
	t.Parallel()
	got := redact.Parameters(map[string]string{"a": "b", "c": "{{d}}", "e": "${tenant.F}", "g": "{{h}}i"})
	if want := map[string]string{"a": "***", "c": "{{d}}", "e": "${tenant.F}", "g": "***"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzURL(f *testing.F) {
	f.Add("https://a:b@c/?d=e&f#g=h")
	f.Add("${a}{{b?}}://&@?=#")
	f.Fuzz(func(t *testing.T, text string) {
		shown := redact.URL(text)
		if again := redact.URL(shown); again != shown {
			t.Errorf("%q becomes %q, and that %q", text, shown, again)
		}
	})
}
