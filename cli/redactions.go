package cli

import (
	"slices"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/config"
)

// keptRedactions is the number of configurations whose secrets are kept out of the log: those that
// turns in flight may still use.
const keptRedactions = 16

// redactions keeps the secrets of several configurations out of the output. It is safe for
// concurrent use, but only one goroutine may change it.
type redactions struct {
	files atomic.Pointer[[]*config.File]
}

func newRedactions(f *config.File) *redactions {
	r := new(redactions)
	r.files.Store(&[]*config.File{f})
	return r
}

// add adds the secrets of another configuration.
func (r *redactions) add(f *config.File) {
	files := append(slices.Clone(*r.files.Load()), f)
	files = files[max(0, len(files)-keptRedactions):]
	r.files.Store(&files)
}

// drop removes an unused configuration.
func (r *redactions) drop(f *config.File) {
	files := slices.DeleteFunc(slices.Clone(*r.files.Load()), func(one *config.File) bool { return one == f })
	r.files.Store(&files)
}

// redact returns text without the secrets, newest configuration first.
func (r *redactions) redact(text string) string {
	for _, f := range slices.Backward(*r.files.Load()) {
		text = f.Redact(text)
	}
	return text
}
