//go:build !linux

package process

// HideMemory does nothing: only Linux shows the environment of a process in /proc.
func HideMemory() error { return nil }
