package check_test

import (
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
)

// TestChecksReportTheFieldAtItsPath runs each check with valid and invalid values.
func TestChecksReportTheFieldAtItsPath(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		got  diag.List
		want string // of the first diagnostic; empty if none
	}{
		"required":                {check.Required("f", "x"), ""},
		"required, empty":         {check.Required("f", ""), "missing-field f: f is required"},
		"one of, absent":          {check.OneOf("f", "", "a", "b"), ""},
		"one of":                  {check.OneOf("f", "b", "a", "b"), ""},
		"one of, another":         {check.OneOf("f", "c", "a", "b"), `invalid-value f: "c" is not allowed here; choose one of [a b]`},
		"positive, absent":        {check.Positive("f", nil), ""},
		"positive":                {check.Positive("f", new(1)), ""},
		"positive, zero":          {check.Positive("f", new(0)), "invalid-value f: f is 0; it must be 1 or more"},
		"not negative":            {check.NotNegative("f", new(0)), ""},
		"not negative, less":      {check.NotNegative("f", new(-1)), "invalid-value f: f is -1; it must be 0 or more"},
		"span, absent":            {check.PositiveSpan[time.Duration]("f", nil), ""},
		"span":                    {check.PositiveSpan("f", new(time.Second)), ""},
		"span, zero":              {check.PositiveSpan("f", new(time.Duration(0))), "invalid-value f: f is 0s; it must be more than 0"},
		"long span, zero":         {check.NotNegative("f", new(time.Duration(0))), ""},
		"long span, less":         {check.NotNegative("f", new(-time.Second)), "invalid-value f: f is -1s; it must be 0 or more"},
		"patterns":                {check.Patterns("f", []string{"a*", "b"}), ""},
		"patterns, invalid":       {check.Patterns("f", []string{"a*", "["}), `invalid-pattern f[1]: the pattern "[" is not valid: the pattern does not compile: unexpected end of input at byte 1`},
		"hosts":                   {check.Hosts("f", []string{"10.0.0.0/8", "localhost:80"}), ""},
		"hosts, invalid":          {check.Hosts("f", []string{"localhost", "*.example"}), `invalid-value f[1]: allow "*.example": wildcards are not supported; list the hosts, or a CIDR block`},
		"within":                  {check.Within("r", check.Required("f", "")), "missing-field r.f: f is required"},
		"URL":                     {check.PeerURL("f", "https://a.example/x"), ""},
		"URL, absent":             {check.PeerURL("f", ""), "invalid-endpoint f: f is required"},
		"URL with a user":         {check.PeerURL("f", "https://u:p@a.example"), "invalid-endpoint f: f must not contain a user or password"},
		"public URL":              {check.PublicURL("f", "https://a.example/x?page=5&v=2024-10-01#top"), ""},
		"public URL, absent":      {check.PublicURL("f", ""), ""},
		"public URL, user":        {check.PublicURL("f", "https://u@a.example"), "invalid-value f: f must be an absolute http or https URL without a user"},
		"public URL, port":        {check.PublicURL("f", "https://a.example:99999"), "invalid-value f: f must be an absolute http or https URL without a user"},
		"public URL, key":         {check.PublicURL("f", "https://a.example?key=x"), "invalid-value f: f is public, and its user or parameters may be secrets"},
		"public URL, long":        {check.PublicURL("f", "https://a.example?x=12345678"), "invalid-value f: f is public, and its user or parameters may be secrets"},
		"public URL, fragment":    {check.PublicURL("f", "https://a.example#token=x"), "invalid-value f: f is public, and its user or parameters may be secrets"},
		"public text":             {check.PublicParameters("f", "issuer of ours"), ""},
		"public text, a password": {check.PublicParameters("f", "https://u:p@a.example"), "invalid-value f: f is public, and its user or parameters may be secrets"},
	} {
		got := ""
		if len(tt.got) > 0 {
			got = string(tt.got[0].Code) + " " + tt.got[0].Path + ": " + tt.got[0].Message
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
