//go:build !unix

package pool

import "os"

// lockFile does nothing: nothing is removed here that other processes left.
func lockFile(*os.File) error { return nil }

// lockAs does nothing: nobody looks for the file.
func lockAs(*os.File, string) error { return nil }

// isOwn reports false: whose a file is cannot be told.
func isOwn(os.FileInfo) bool { return false }
