package secret

import (
	"bytes"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/redact"
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

// FindCredentials returns the positions of credentials in a text that are recognizable by form:
// vendor keys, and passwords in URLs.
func FindCredentials(text []byte) [][2]int {
	var found [][2]int
	if slices.ContainsFunc(keyMarks, func(mark []byte) bool { return bytes.Contains(text, mark) }) {
		for _, at := range keyShapes.FindAllIndex(text, -1) {
			if LooksRandom(text[at[0]:at[1]]) {
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

// LooksRandom reports whether a text has a digit. Keys contain digits; words that start like a key,
// such as sk-learn-pipelines, do not.
func LooksRandom(text []byte) bool {
	return slices.ContainsFunc(text, func(c byte) bool { return '0' <= c && c <= '9' })
}

// MinRandom is the minimum length at which a text counts as a secret if its name sounds secret and
// its section's fields have no tags.
const MinRandom = 16

// passwords finds the password of a URL.
var passwords = regexp.MustCompile(`://[^\s/:@"']*:([^\s/@"']+)@`)

// onlyReference matches a text that is one reference without a default: it
// gives nothing away.
var onlyReference = regexp.MustCompile(`^["']?\$\{(?:[A-Za-z_][A-Za-z0-9_]*|file:[^}]*)\}["']?$`)

// FindNamed finds probable secrets in a file that did not parse: the rest of the
// line after a key whose name looks like one.
func FindNamed(data []byte) [][2]int {
	var found [][2]int
	for i := 0; ; {
		colon := bytes.IndexByte(data[i:], ':')
		if colon < 0 {
			return found
		}
		i += colon + 1
		key := bytes.TrimRight(data[max(0, i-64):i-1], `"' `)
		if i >= len(data) || data[i] != ' ' && data[i] != '\t' || !IsSecretName(lastWord(key)) {
			continue
		}
		line, _, _ := bytes.Cut(data[i:], []byte("\n"))
		end := i + len(line)
		found = append(found, [2]int{i + 1, end})
		i = end
	}
}

// lastWord returns the letters, digits, '_' and '-' at the end of text.
func lastWord(text []byte) string {
	from := len(text)
	for from > 0 {
		c := text[from-1] | 0x20
		if c != '_'|0x20 && c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			break
		}
		from--
	}
	return string(text[from:])
}

// LooksSecret reports whether a part of a URL is most likely a secret.
func LooksSecret(name, value string) bool {
	return redact.IsCredential(name) || len(value) >= MinRandom && LooksRandom([]byte(value))
}

// urlInText matches URLs with a user or parameters in a file's text.
var urlInText = regexp.MustCompile(`(?::(?:\\?/){2}|\$\{[^}\s]*\})(?:\$\{[^}\s]*\}|\{\{[^{}]*\}\}|[^\s"'<>{}\[\]` + "`" + `])+`)

// FindURLParts returns where a text has the users and the parameters of URLs.
func FindURLParts(text []byte) [][2]int {
	var found [][2]int
	if !bytes.ContainsAny(text, "?@#") {
		return nil
	}
	for _, at := range urlInText.FindAllIndex(text, -1) {
		address := strings.TrimRight(strings.ReplaceAll(string(text[at[0]:at[1]]), `\`, "x"), ",.;)")
		address = strings.Replace(address, ":x/x/", "://xx", 1) // slashes that JSON escapes
		for _, part := range redact.URLParts(address) {
			if value := address[part.From:part.To]; !IsReference(value) {
				found = append(found, [2]int{at[0] + part.From, at[0] + part.To})
			}
		}
	}
	return found
}

// KeyPassword matches the password in a string of key=value pairs.
var KeyPassword = regexp.MustCompile(`(?i)\bpassword\s*=\s*('(?:[^'\\]|\\.)*'|[^\s']+)`)

// PasswordsOf returns the database password both as written in the DSN and as sent to the server.
func PasswordsOf(dsn string) []string {
	var found []string
	if at := passwords.FindStringSubmatch(dsn); at != nil {
		found = append(found, at[1])
		if plain, err := url.PathUnescape(at[1]); err == nil {
			found = append(found, plain)
		}
	}
	if at := KeyPassword.FindStringSubmatch(dsn); at != nil {
		found = append(found, strings.Trim(at[1], "'"))
	}
	return found
}
