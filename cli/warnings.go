package cli

import (
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/runtime"
	"go.uber.org/zap"
)

// warnings logs the warnings of the configuration in use, each once: again only
// after it was gone. It belongs to the goroutine that publishes.
type warnings struct {
	logger *zap.Logger
	// current is the configuration in use; nil before there is one.
	current *loaded
	known   map[diag.Identity]bool
	// paused is set while a configuration takes the place of the one in use: what
	// publishing finds then is part of what replace is given.
	paused bool
}

// replace makes a configuration that was proved the one in use.
func (w *warnings) replace(l *loaded) {
	before := w.known
	w.current, w.known = l, make(map[diag.Identity]bool)
	w.log(l.proved, before)
}

// add logs the diagnostics of publishing while the configuration stays the same, as
// when peers have other agents.
func (w *warnings) add(list diag.List) {
	if w.paused || w.current == nil {
		return
	}
	w.log(w.current.file.Complete(nil, list), w.known)
}

// log logs the warnings that were not known before.
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
