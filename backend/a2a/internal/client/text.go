package client

import (
	"strings"
	"unicode"

	"github.com/agentruntime/agentruntime/internal/clip"
)

const (
	// MaxShown limits the shown text of a peer, in bytes.
	MaxShown = 500
	// MaxName limits a shown name from a peer, in bytes.
	MaxName = 80
)

// CleanText returns a peer's text for display and logs: without control characters and cut to limit
// bytes.
func CleanText(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= limit {
		return text
	}
	const mark = "…"
	return clip.Head(text, limit-len(mark)) + mark
}

// redactSecrets returns a text without secrets.
func redactSecrets(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}
