//go:build !unix

package workspace

// nonblock is zero on systems where opening a file never blocks.
const nonblock = 0
