package vendorhttp

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/redact"
)

// redactor removes secrets from messages. Servers often repeat a key they did not accept. Make it
// with newRedactor.
type redactor struct {
	secrets *strings.Replacer
	keys    *regexp.Regexp
}

const (
	// shortestKey and shortestHeader are the minimum lengths of secrets. Shorter values such as
	// "x" or "true" are not redacted, because that would garble messages.
	shortestKey    = 4
	shortestHeader = 8
	// messageLimit limits a message, in bytes.
	messageLimit = 1 << 10
)

// newRedactor returns a redactor for a key and the values of headers. The pattern matches the
// vendor's keys, including masked ones.
func newRedactor(key string, headers map[string]string, pattern *regexp.Regexp) redactor {
	var secrets []string
	if len(key) >= shortestKey {
		secrets = append(secrets, key)
	}
	for _, value := range headers {
		if len(value) >= shortestHeader {
			secrets = append(secrets, value)
		}
		// The credential in "Bearer x" is itself a secret.
		if _, credential, ok := strings.Cut(value, " "); ok && len(credential) >= shortestHeader {
			secrets = append(secrets, credential)
		}
	}
	// A longer secret is replaced before its prefixes.
	slices.SortFunc(secrets, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	pairs := make([]string, 0, 2*len(secrets))
	for _, secret := range secrets {
		pairs = append(pairs, secret, redact.Placeholder)
	}
	return redactor{secrets: strings.NewReplacer(pairs...), keys: pattern}
}

// clean returns text without secrets, cut to 1 KiB.
func (r redactor) clean(text string) string {
	return clip.At(messageLimit, r.keys.ReplaceAllString(r.secrets.Replace(text), redact.Placeholder))
}
