// Package redact defines the replacement for secrets.
package redact

import "maps"

// Placeholder replaces secrets in displayed records and messages. A secret with this value is a
// mistake.
const Placeholder = "***"

// Values returns a map with each value replaced by the placeholder; nil for nil.
func Values(values map[string]string) map[string]string {
	shown := maps.Clone(values)
	for name := range shown {
		shown[name] = Placeholder
	}
	return shown
}

// Text returns the placeholder for a text, and "" for "".
func Text(text string) string {
	if text == "" {
		return ""
	}
	return Placeholder
}
