//go:build !unix

package pool

import "os"

// lockFile does nothing: nothing is removed here that other processes left.
func lockFile(*os.File) bool { return true }

// isOwn reports false: whose a file is cannot be told.
func isOwn(os.FileInfo) bool { return false }
