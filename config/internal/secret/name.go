package secret

import (
	"regexp"
	"strings"
)

// secretNames matches the names of fields that probably hold secrets, for fields
// without a tag.
var secretNames = regexp.MustCompile(`(?i)(^|[_-])(api_?key|token|secret|password|passwd|credentials?|authorization)$`)

// IsSecretName reports whether a field with this name probably holds a secret.
func IsSecretName(name string) bool {
	return name != "" && strings.IndexByte("yYnNtTdDsS", name[len(name)-1]) >= 0 && secretNames.MatchString(name)
}

// hiddenNames matches the names of fields that may hold secrets.
var hiddenNames = regexp.MustCompile(`^(env|headers|identity_header)$|(^|[_-])key$`)

// IsHiddenName reports whether the value under a name is hidden in an unknown record.
func IsHiddenName(name string) bool { return IsSecretName(name) || hiddenNames.MatchString(name) }

// credentialNames matches the headers and environment variables that hold credentials.
var credentialNames = regexp.MustCompile(`(?i)(^|[_-])(api[_-]?key|(access|private|secret|auth|encryption)[_-]?key|token|secret|password|passwd|credentials?|authorization|cookie|pat)$`)

// IsCredentialName reports whether a header or variable with this name holds a credential.
func IsCredentialName(name string) bool { return credentialNames.MatchString(name) }
