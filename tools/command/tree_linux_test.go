package command

import (
	"testing"
)

func TestCancelingKillsWhatLeftTheProcessGroup(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"session of its own":         `setsid sleep 600 & echo up >&3; wait`,
		"no parent":                  `setsid sh -c '(sleep 600 &) ; sleep 0' ; echo up >&3; sleep 600`,
		"other environment":          `env -i setsid sleep 600 & echo up >&3; wait`,
		"descendant of a stray":      `setsid sh -c 'env -i sleep 600 & wait' & echo up >&3; wait`,
		"many, which start others":   `for i in 1 2 3 4 5; do setsid sh -c 'for j in 1 2 3; do setsid sleep 600 & done; wait' & done; echo up >&3; wait`,
		"deaf":                       `setsid sh -c 'trap "" TERM HUP INT; sleep 600 & wait' & echo up >&3; wait`,
		"parent has ended meanwhile": `(setsid sh -c 'sleep 600' &) ; echo up >&3; sleep 600`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkCancelEndsAll(t, script)
		})
	}
}
