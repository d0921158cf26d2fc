//go:build !unix

package workspace

// nonblock is nothing where opening a file waits for nobody.
const nonblock = 0
