//go:build !linux && !darwin

package cli

import "os"

// hideTyping does nothing here: what is typed is shown, but on the whole screen.
func hideTyping(*os.File) (restore func()) { return func() {} }
