package cli

import (
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/runtime"
	"go.uber.org/zap"
)

// warnings logs the current configuration's warnings, each once: again only after it had
// disappeared. It belongs to the publishing goroutine.
type warnings struct {
	logger *zap.Logger
	// current is the current configuration; nil before the first.
	current *loaded
	known   map[diag.Identity]bool
	// paused is set while a configuration replaces the current one: replace then receives the
	// findings of publishing.
	paused bool
}

// replace makes a checked configuration the current one.
func (w *warnings) replace(l *loaded) {
	before := w.known
	w.current, w.known = l, make(map[diag.Identity]bool)
	w.log(l.proved, before)
}

// add logs diagnostics of publishing an unchanged configuration, such as changed agents of peers.
func (w *warnings) add(list diag.List) {
	if w.paused || w.current == nil {
		return
	}
	w.log(w.current.file.Complete(nil, list), w.known)
}

// log logs the new warnings.
func (w *warnings) log(list diag.List, before map[diag.Identity]bool) {
	var fresh diag.List
	for i := range list {
		if id := list[i].Identity(); !before[id] {
			fresh = append(fresh, list[i])
		}
	}
	for i := range list {
		w.known[list[i].Identity()] = true
	}
	runtime.LogWarnings(w.logger, fresh)
}

func (w *warnings) pause()  { w.paused = true }
func (w *warnings) resume() { w.paused = false }
