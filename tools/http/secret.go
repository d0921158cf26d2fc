package http

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/redact"
)

// shortestSecret is the minimum length of a configured value that is searched for in responses.
// Shorter ones would match any text.
const shortestSecret = 8

// credentialNames are suffixes of the names of headers and parameters with credentials, ignoring
// dashes and underscores.
var credentialNames = []string{
	"apikey", "appkey", "accesskey", "authkey", "secretkey", "subscriptionkey", "privatekey",
	"token", "secret", "password", "passwd", "authorization", "auth", "cookie",
	"signature", "credential", "credentials", "appid", "jwt",
}

func namesCredential(name string) bool {
	name = strings.NewReplacer("-", "", "_", "", "=", "").Replace(strings.ToLower(name))
	return name == "key" || name == "sig" ||
		slices.ContainsFunc(credentialNames, func(end string) bool { return strings.HasSuffix(name, end) })
}

// secretTexts returns the configured values that look like credentials. Servers repeat
// requests in error pages and debug output, which must not carry a secret to the model.
func secretTexts(p *program) []string {
	var texts []string
	add := func(name string, value template, unescape func(string) (string, error)) {
		if !namesCredential(name) {
			return
		}
		for i := range value {
			literal := value[i].literal
			// The scheme before the credential is not secret: "Bearer …".
			texts = append(texts, literal, literal[strings.LastIndexByte(literal, ' ')+1:])
			if plain, err := unescape(literal); err == nil {
				texts = append(texts, plain)
			}
		}
	}
	asIs := func(text string) (string, error) { return text, nil }
	for i := range p.headers {
		add(p.headers[i].name, p.headers[i].value, asIs)
	}
	for _, params := range [][]param{p.address.query, p.query} {
		for i := range params {
			add(params[i].key, params[i].value, url.QueryUnescape)
		}
	}
	return texts
}

func longestFirst(texts []string) [][]byte {
	var secrets [][]byte
	for _, text := range texts {
		if len(text) >= shortestSecret {
			secrets = append(secrets, []byte(text))
		}
	}
	slices.SortFunc(secrets, func(a, b []byte) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return bytes.Compare(a, b)
	})
	return slices.CompactFunc(secrets, bytes.Equal)
}

// longestSecret returns the length of the longest secret.
func (p *program) longestSecret() int {
	if len(p.secrets) == 0 {
		return 0
	}
	return len(p.secrets[0])
}

// redactSecrets returns text with the secrets replaced.
func (p *program) redactSecrets(text []byte) []byte {
	for _, secret := range p.secrets {
		if bytes.Contains(text, secret) {
			text = bytes.ReplaceAll(text, secret, []byte(redact.Placeholder))
		}
	}
	return text
}
