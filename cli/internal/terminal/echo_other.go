//go:build !linux && !darwin

package terminal

import "os"

// HideTyping does nothing on this system: typed text is echoed, except on the full screen.
func HideTyping(*os.File) (restore func()) { return func() {} }
