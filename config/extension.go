package config

import "strings"

// isExtension reports whether a key of a file is not meant for the runtime: one that
// begins with x- holds anchors, or notes for others.
func isExtension(key string) bool { return len(key) > len("x-") && strings.HasPrefix(key, "x-") }
