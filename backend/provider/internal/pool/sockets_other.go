//go:build !unix

package pool

import "os"

// lockFile does nothing: other processes' directories are not removed here.
func lockFile(*os.File) error { return nil }

// lockAs does nothing: no process looks for the file.
func lockAs(*os.File, string) error { return nil }

// isOwn returns false: a file's owner is unknown.
func isOwn(os.FileInfo) bool { return false }
