// Package redact holds what is shown in place of secrets.
package redact

import "maps"

// Placeholder stands for a secret wherever a record or a message is shown; given back
// as a secret it is a mistake.
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
