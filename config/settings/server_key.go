package settings

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
)

// minKeyLength is the length from which a random key cannot be guessed.
const minKeyLength = 16

// ServerKey is an API key that a server accepts, and its holder.
type ServerKey struct {
	ID      string     `json:"id" required:"true" doc:"The key's name in logs, and the default of subject."`
	Hash    string     `json:"hash,omitempty" pattern:"^sha256:[0-9a-f]{64}$" doc:"The SHA-256 of the key, as sha256: and 64 hexadecimal digits. \"runtime keys new\" makes a key and its hash."`
	Key     string     `json:"key,omitempty" secret:"true" doc:"The key instead of its hash, as in ${SERVER_KEY}: at least 16 random characters."`
	Tenant  string     `json:"tenant,omitempty" default:"default" doc:"The tenant that owns everything created with it."`
	Subject string     `json:"subject,omitempty" doc:"The key's subject in the tenant. Defaults to the key's id. Keys of the same subject see the same data."`
	Agents  spec.Names `json:"agents,omitempty" doc:"Globs for the ids of usable agents. Defaults to all. Others appear not to exist."`
	Scopes  spec.Names `json:"scopes,omitempty" doc:"The permissions: a2a:invoke to use agents over A2A, runs:write to start runs, runs:read to follow them, metrics:read to read the metrics, and so on. Absent means all except config:read and config:write; empty means none. A key with agents cannot have metrics:read."`
	Expires *Date      `json:"expires,omitempty" doc:"The key's last valid day, in UTC, or the time at which it expires. If absent, it never expires."`
}

// hashGrammar matches the text form of a hash.
var hashGrammar = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Owner returns the tenant and subject that own the records created with the key.
func (k *ServerKey) Owner() (tenant, subject string) {
	return cmp.Or(k.Tenant, DefaultTenant), cmp.Or(k.Subject, k.ID)
}

// Validate checks the record by itself. The key is not repeated in messages.
func (k *ServerKey) Validate() diag.List {
	var list diag.List
	if k.ID != "" {
		list = append(list, spec.CheckID("id", "key", k.ID)...)
	}
	switch {
	case k.Hash == "" && k.Key == "":
		list = append(list, diag.New(diag.MissingField, "", "the key has neither hash nor key").WithHint("make one with \"runtime keys new\""))
	case k.Hash != "" && k.Key != "":
		list = append(list, diag.New(diag.InvalidValue, "key", "the key has both hash and key; only one of them can be given"))
	case k.Hash != "" && !hashGrammar.MatchString(k.Hash):
		list = append(list, diag.New(diag.InvalidValue, "hash", "hash is not sha256: and 64 hexadecimal digits").WithHint("make one with \"runtime keys new\""))
	case k.Key != "" && len(k.Key) < minKeyLength:
		list = append(list, diag.New(diag.InvalidValue, "key", "key has %d characters; it must have %d or more, all random", len(k.Key), minKeyLength).
			WithHint("make one with \"runtime keys new\""))
	case k.Key == redact.Placeholder || strings.TrimSpace(k.Key) != k.Key:
		list = append(list, diag.New(diag.InvalidValue, "key", "key begins or ends with white space"))
	}
	list = append(list, checkGlobs("agents", k.Agents)...)
	if i := slices.Index(k.Scopes, ScopeMetricsRead); i >= 0 && k.Agents != nil {
		list = append(list, diag.New(diag.InvalidValue, diag.Index("scopes", i), "%s is not allowed with agents: the metrics are about all agents", ScopeMetricsRead).
			WithHint("give the metrics a key without agents"))
	}
	return append(list, checkScopes(k.Scopes)...)
}

// checkGlobs checks the globs of a field.
func checkGlobs(field string, globs []string) diag.List {
	var list diag.List
	for i, glob := range globs {
		if _, err := pattern.Compile(glob); err != nil {
			list = append(list, diag.New(diag.InvalidValue, diag.Index(field, i), "invalid pattern %q: %v", clip.Text(glob), err))
		}
	}
	return list
}

// Date is an end: the end of a day, written as in 2026-12-31, or a moment, written as in
// 2026-12-31T18:00:00Z.
type Date struct {
	// day is set if it was written as a day.
	day bool
	// at is the moment, or the beginning of the day.
	at time.Time
}

// End returns the first moment after the date.
func (d Date) End() time.Time {
	if d.day {
		return d.at.AddDate(0, 0, 1)
	}
	return d.at
}

// MarshalText returns the date in its original form.
func (d Date) MarshalText() ([]byte, error) {
	if d.day {
		return []byte(d.at.Format(time.DateOnly)), nil
	}
	return []byte(d.at.Format(time.RFC3339)), nil
}

// UnmarshalText reads a day or a moment.
func (d *Date) UnmarshalText(text []byte) error {
	if day, err := time.Parse(time.DateOnly, string(text)); err == nil {
		*d = Date{day: true, at: day}
		return nil
	}
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("%q is neither a day such as 2026-12-31 nor a moment such as 2026-12-31T18:00:00Z", clip.Text(string(text)))
	}
	*d = Date{at: at}
	return nil
}
