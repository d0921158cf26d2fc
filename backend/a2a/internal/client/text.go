package client

import (
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
)

const (
	// MaxShown limits the shown text of a peer, in bytes.
	MaxShown = 500
	// MaxName limits a shown name from a peer, in bytes.
	MaxName = 80
)

// oneLine replaces the line breaks and tabs of a text.
var oneLine = strings.NewReplacer("\n", " ", "\t", " ")

// CleanText returns a peer's text for display and logs: in one line, without control characters and
// cut to limit bytes.
func CleanText(text string, limit int) string { return clip.Visible(oneLine.Replace(text), limit) }

// redactSecrets returns a text without secrets.
func redactSecrets(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}
