package vendorhttp

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var testPattern = regexp.MustCompile(`\bsk-[\w*-]{8,}`)

func TestSecretsAreCleanedAway(t *testing.T) {
	r := newRedactor("key-secret-1", map[string]string{
		"X-Gateway": "gateway-secret-1", "X-Longer": "gateway-secret-1-and-more", "X-Other": "Token other-secret-2", "X-Short": "v1",
	}, testPattern)
	text := "bad key key-secret-1 and sk-proj-****abcd via gateway-secret-1 or gateway-secret-1-and-more with other-secret-2 at v1"
	if got, want := r.clean(text), "bad key *** and *** via *** or *** with *** at v1"; got != want {
		t.Errorf("the text becomes %q, want %q", got, want)
	}
}

func TestShortValuesAreNoSecrets(t *testing.T) {
	r := newRedactor("x", map[string]string{"X-A": "true", "X-B": "a b"}, testPattern)
	if got := r.clean("x is true, a b"); got != "x is true, a b" {
		t.Errorf("the text becomes %q", got)
	}
}

// TestCleanKeepsNoSecretAndNoHalfCharacter covers any text around a secret.
func TestCleanKeepsNoSecretAndNoHalfCharacter(t *testing.T) {
	const secret = "0123456789"
	r := newRedactor(secret, nil, testPattern)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "before") + secret + strings.Repeat(rapid.String().Draw(t, "after"), rapid.IntRange(0, 100).Draw(t, "times"))
		got := r.clean(text)
		if strings.Contains(got, secret) || len(got) > messageLimit+len("…") || !utf8.ValidString(got) {
			t.Fatalf("the text becomes %q", got)
		}
	})
}
