//go:build !linux

package pgtest

// memoryDir returns the empty string, for the directory of temporary files.
func memoryDir() string { return "" }
