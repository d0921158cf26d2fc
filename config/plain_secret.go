package config

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// keyShapes match credentials anywhere, since vendors give their keys a recognizable form. In a
// file's source they also match inside comments.
var keyShapes = regexp.MustCompile(strings.Join([]string{
	`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z))`,
	`\bsk-[A-Za-z0-9_-]{12,}`,                                      // OpenAI, Anthropic (sk-ant-), OpenRouter
	`\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}`,                // Stripe
	`\bAIza[A-Za-z0-9_-]{30,}`,                                     // Google
	`\bgh[pousr]_[A-Za-z0-9]{20,}`,                                 // GitHub
	`\bgithub_pat_[A-Za-z0-9_]{20,}`,                               // GitHub, fine-grained
	`\bglpat-[A-Za-z0-9_-]{16,}`,                                   // GitLab
	`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`,                             // Slack
	`\bxapp-[A-Za-z0-9-]{10,}`,                                     // Slack, app level
	`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,                                // AWS
	`\b(?:hf|npm|gsk|xai)_[A-Za-z0-9]{24,}`,                        // Hugging Face, npm, Groq
	`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, // JSON Web Tokens
	`(?i:\bbearer[ \t]+)[A-Za-z0-9._~+/-]{20,}=*`,
}, "|"))

// keyMarks are substrings, one of which occurs in every match of keyShapes. They cheaply rule out
// nearly all texts.
var keyMarks = bytes.Fields([]byte("PRIVATE sk- _live_ _test_ AIza gh github_pat_ glpat- xox xapp- AKIA ASIA hf_ npm_ gsk_ xai_ eyJ earer EARER"))

// findCredentials returns the positions of credentials in a text that are recognizable by form:
// vendor keys, and passwords in URLs.
func findCredentials(text []byte) [][2]int {
	var found [][2]int
	if slices.ContainsFunc(keyMarks, func(mark []byte) bool { return bytes.Contains(text, mark) }) {
		for _, at := range keyShapes.FindAllIndex(text, -1) {
			if looksRandom(text[at[0]:at[1]]) {
				found = append(found, [2]int{at[0], at[1]})
			}
		}
	}
	if !bytes.Contains(text, []byte("://")) {
		return found
	}
	for _, at := range passwords.FindAllSubmatchIndex(text, -1) {
		if !onlyReference.Match(text[at[2]:at[3]]) {
			found = append(found, [2]int{at[2], at[3]})
		}
	}
	return found
}

// looksRandom reports whether a text has a digit. Keys contain digits; words that start like a key,
// such as sk-learn-pipelines, do not.
func looksRandom(text []byte) bool {
	return slices.ContainsFunc(text, func(c byte) bool { return '0' <= c && c <= '9' })
}

// minRandom is the minimum length at which a text counts as a secret if its name sounds secret and
// its section's fields have no tags.
const minRandom = 16

// sensitivity classifies how secret a text field is.
type sensitivity uint8

const (
	// ordinary is a field about which nothing is known.
	ordinary sensitivity = iota
	// named is an untagged field with a secret-sounding name.
	named
	// parameter is the value of a query parameter.
	parameter
	// listed is an entry of a mapping that may hold secrets, such as headers.
	listed
	// credential is a field that holds a secret.
	credential
)

// sensitivityOf returns the sensitivity of a field. Mapping entries have no name.
func sensitivityOf(f *record.Field, p *place) sensitivity {
	switch {
	case f.Query && f.Name == "":
		return parameter
	case f.Secret && (f.Name != "" || p != nil && credentialName(p.key)):
		return credential
	case f.Secret:
		return listed
	default:
		return ordinary
	}
}

// credentialNames matches the headers and environment variables that hold credentials.
var credentialNames = regexp.MustCompile(`(?i)(^|[_-])(api[_-]?key|(access|private|secret|auth|encryption)[_-]?key|token|secret|password|passwd|credentials?|authorization|cookie|pat)$`)

func credentialName(name string) bool { return credentialNames.MatchString(name) }

// checkPlainSecret warns about a secret written in the file. The value is masked wherever the file
// is shown and is never printed.
func (d *decoder) checkPlainSecret(kind sensitivity, n *yamltree.Node, p *place) {
	if kind < listed && redact.IsURL(p.name(), n.Text) {
		d.checkURL(n, p)
	}
	text := []byte(n.Text)
	found := findCredentials(text)
	for _, at := range found {
		d.file.redactor.addSecret(string(text[at[0]:at[1]]))
	}
	literal := literalOf(n.Text)
	switch {
	case len(found) > 0:
	case kind == credential && literal != "":
	case kind == named && len(literal) >= minRandom && looksRandom([]byte(literal)) && !strings.ContainsAny(literal, " \n"):
		d.file.redactor.addSecret(n.Text)
	case kind == parameter:
		d.checkParameter(n, p)
		return
	default:
		if kind >= listed && !isReference(n.Text) {
			d.file.noted.of(n).plain = p.path() // it is not stored, though it may be harmless
		}
		return
	}
	d.reportPlainSecret(n, p)
}

// isReference reports whether a secret field's value reveals nothing: it consists only of words
// such as Bearer, argument placeholders, and references without defaults that may be secrets. Only
// such values are stored.
func isReference(text string) bool {
	rest := strings.ReplaceAll(text, "$$", "\x00")
	if literalOf(text) != "" && strings.Contains(rest, "${") {
		return false
	}
	rest = references.ReplaceAllString(rest, " ")
	return strings.Trim(schemes.ReplaceAllString(rest, " "), " \t\n:;,=/") == ""
}

var (
	references = regexp.MustCompile(`\$?\{\{[^{}]*\}\}|\$\{[^}]*\}`)
	// schemes are words in credentials that are not secret.
	schemes = regexp.MustCompile(`(?i)\b(?:bearer|basic|token|digest|api-?key|key)\b`)
)

func (d *decoder) reportPlainSecret(n *yamltree.Node, p *place) {
	d.file.noted.of(n).plain = p.path()
	d.addFinding(diag.New(diag.PlainSecret, p.path(), "%s contains a secret in plain text", p.label()).
		WithHint("write ${NAME} and set the variable, or ${file:path}"), n)
}

// literalOf returns the secret written in a text. In a text with references, only a default can be
// the secret, since the rest, such as "Bearer ", is not. A short default is a placeholder, which
// some local servers require.
func literalOf(text string) string {
	text = strings.ReplaceAll(text, "$$", "\x00")
	if !strings.Contains(text, "${") {
		return text
	}
	for _, m := range referenceDefault.FindAllStringSubmatch(text, -1) {
		if len(m[1]) > maxPlaceholder {
			return m[1]
		}
	}
	return ""
}

// maxPlaceholder is the maximum length of a variable's default that is not considered a secret.
const maxPlaceholder = 7

// referenceDefault matches a reference with a default.
var referenceDefault = regexp.MustCompile(`\$\{[A-Za-z_]\w*:-([^}]*)\}`)

// maskCredentials masks everything that looks like a credential.
func maskCredentials(text string) string {
	found := append(findCredentials([]byte(text)), findURLParts([]byte(text))...)
	slices.SortFunc(found, func(a, b [2]int) int { return b[0] - a[0] })
	end := len(text)
	for _, at := range found {
		if at[1] <= end {
			text, end = text[:at[0]]+secretShown+text[at[1]:], at[0]
		}
	}
	return text
}
