//go:build linux || darwin

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// HideTyping turns off a terminal's echo until it is restored. It does nothing for other files.
func HideTyping(f *os.File) (restore func()) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, readTermios)
	if err != nil {
		return func() {}
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG
	if unix.IoctlSetTermios(fd, writeTermios, &hidden) != nil {
		return func() {}
	}
	return func() { _ = unix.IoctlSetTermios(fd, writeTermios, before) } // the terminal may be gone
}
