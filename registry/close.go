package registry

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"

	"github.com/agentruntime/agentruntime/internal/panics"
)

// Close closes the components that hold resources: every tool, bundle, plugin, provider and agent
// provider that is an io.Closer, each once and all concurrently. It returns the joined errors when
// all are closed.
func (s *Set) Close() error { return closeAll(s.closers()) }

// closeAll closes all closers concurrently.
func closeAll(closers []io.Closer) error {
	errs := make([]error, len(closers))
	var running sync.WaitGroup
	for i, c := range closers {
		running.Go(func() { errs[i] = closeOne(c) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// closers returns the components to close, without duplicates and components of other sets.
func (s *Set) closers(others ...*Set) []io.Closer {
	var list []io.Closer
	seen := make(map[io.Closer]bool)
	for _, other := range others {
		for _, c := range other.closers() {
			if reflect.ValueOf(c).Comparable() {
				seen[c] = true
			}
		}
	}
	add := func(component any) {
		c, ok := component.(io.Closer)
		if !ok {
			return
		}
		if reflect.ValueOf(c).Comparable() {
			if seen[c] {
				return
			}
			seen[c] = true
		}
		list = append(list, c)
	}
	for _, b := range s.Bundles.All() {
		add(b.Source)
	}
	for _, t := range s.Tools.All() {
		add(t)
	}
	for _, p := range s.Plugins.All() {
		add(p)
	}
	for _, p := range s.Providers.All() {
		add(p)
	}
	for _, p := range s.AgentProviders.All() {
		add(p)
	}
	return list
}

// closeOne closes a component. A panic is an error.
func closeOne(c io.Closer) (err error) {
	defer panics.Handle(func(p *panics.Error) {
		err = fmt.Errorf("close a %T: panic: %v", c, p.Value)
	})
	return c.Close()
}
