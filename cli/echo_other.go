//go:build !linux && !darwin

package cli

import "os"

// hideTyping does nothing on this system: typed text is echoed, except on the full screen.
func hideTyping(*os.File) (restore func()) { return func() {} }
