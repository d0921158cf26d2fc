package config

import "strings"

// isExtension reports whether a key is ignored by the runtime. Keys that begin with x- hold
// anchors, or notes for other tools.
func isExtension(key string) bool { return len(key) > len("x-") && strings.HasPrefix(key, "x-") }
