package openai

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// redactor keeps secrets out of messages. Servers like to repeat the key they
// did not accept.
type redactor struct{ secrets *strings.Replacer }

const (
	// shortestKey and shortestHeader are the lengths below which a value is no
	// secret but a word such as "x" or "true", that would riddle messages.
	shortestKey    = 4
	shortestHeader = 8
	// messageLimit is the longest message, in bytes.
	messageLimit = 1 << 10
)

// vendorKey matches the vendor's keys, also where only their ends are shown.
var vendorKey = regexp.MustCompile(`\bsk-[\w*-]{8,}`)

func newRedactor(c *Config) redactor {
	var secrets []string
	if len(c.APIKey) >= shortestKey {
		secrets = append(secrets, c.APIKey)
	}
	for _, value := range c.Headers {
		if len(value) >= shortestHeader {
			secrets = append(secrets, value)
		}
		// The credential of "Bearer x" is a secret by itself.
		if _, credential, ok := strings.Cut(value, " "); ok && len(credential) >= shortestHeader {
			secrets = append(secrets, credential)
		}
	}
	// A secret that begins another one must not leave the other's rest behind.
	slices.SortFunc(secrets, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	pairs := make([]string, 0, 2*len(secrets))
	for _, secret := range secrets {
		pairs = append(pairs, secret, redacted)
	}
	return redactor{secrets: strings.NewReplacer(pairs...)}
}

// clean returns text without secrets, cut to a length fit for a message.
func (r redactor) clean(text string) string {
	text = vendorKey.ReplaceAllString(r.secrets.Replace(text), redacted)
	if len(text) <= messageLimit {
		return text
	}
	cut := messageLimit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
