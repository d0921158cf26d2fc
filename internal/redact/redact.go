// Package redact defines the replacement for secrets.
package redact

import "maps"

// Placeholder replaces secrets in shown records and messages. A secret with this value is a
// mistake.
const Placeholder = "***"

// Values returns a map with the placeholder for each of its values; nil for nil.
func Values(values map[string]string) map[string]string {
	shown := maps.Clone(values)
	for name := range shown {
		shown[name] = Placeholder
	}
	return shown
}

// Text returns the placeholder for a text, and nothing for nothing.
func Text(text string) string {
	if text == "" {
		return ""
	}
	return Placeholder
}
