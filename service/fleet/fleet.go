// Package fleet keeps the revisions of a configuration in the store, so that they outlive a process
// and all replicas run the same one. It publishes documents, follows other publishers, and rebuilds
// the revisions in which turns began.
package fleet

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
)

// NotifyID is the id of a fleet's notifications after publishing.
const NotifyID = "revisions"

// Settings configures a Fleet. All fields are required except Learn, Notify, Changed,
// MeterProvider, Logger and Clock.
type Settings struct {
	Store   store.Revisions
	Runtime *runtime.AgentRuntime
	// NewBuilder returns a builder with the program's own components.
	NewBuilder func() *builder.AgentRuntimeBuilder
	// Learn queries servers for their tools and peers for their agents.
	Learn func(context.Context, *builder.AgentRuntimeBuilder)
	// Variables returns a tenant's variables for listing the tools of servers; nil for none.
	Variables func(tenant string) tools.TenantSource
	// Config holds the options for reading documents, and Dir is the base of their relative paths.
	Config config.Options
	Dir    string
	// FromStore is set if the documents in the store define the runtime, rather than the files of
	// the process.
	FromStore bool
	// Notify notifies other processes of a new revision. Changed notifies this process that the
	// base or a tenant may have a new revision; it must not block.
	Notify, Changed func()
	// MeterProvider records the revision that the process runs; nil disables metrics.
	MeterProvider metric.MeterProvider
	// TenantCache is the number of tenants cached by a process unless tenants.cache of the
	// configuration sets it; 0 means DefaultTenantCache.
	TenantCache int
	Logger      *zap.Logger
	Clock       func() time.Time

	_ struct{} // keyed literals only
}

// Fleet is the part of a process that keeps revisions. Each part, such as Publisher or History, has
// the methods for one subject. It is safe for concurrent use.
type Fleet struct {
	*core
	*Builds
	*Editor
	*Flows
	*Follower
	*History
	*Publisher
}

// Running describes the revision that a process runs.
type Running struct {
	// Number and Hash identify the revision; zero if it is not in the store.
	Number uint64
	Hash   string
	// Wanted is the hash of the store's current revision if it differs, and Problem the reason why
	// this process does not run it.
	Wanted  string
	Problem string
}

// New returns a fleet. It starts nothing. An error comes from the meters.
func New(s Settings) (*Fleet, error) {
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	if s.Clock == nil {
		s.Clock = time.Now
	}
	if s.Learn == nil {
		s.Learn = func(context.Context, *builder.AgentRuntimeBuilder) {}
	}
	if s.Notify == nil {
		s.Notify = func() {}
	}
	if s.Changed == nil {
		s.Changed = func() {}
	}
	c := &core{settings: s, news: make(chan struct{}, 1), validations: newValidations()}
	history := &History{c, lineage{store: s.Store}}
	builds := &Builds{core: c, history: history, declared: make(map[string]string), bases: make(map[string]*config.TenantBase)}
	builds.tenants.resize(cmp.Or(s.TenantCache, DefaultTenantCache))
	publisher := &Publisher{core: c, builds: builds, history: history}
	flows := &Flows{core: c, builds: builds}
	f := &Fleet{
		core: c, Builds: builds, Editor: &Editor{core: c, history: history, publisher: publisher}, Flows: flows,
		Follower: &Follower{core: c, builds: builds, flows: flows, publisher: publisher}, History: history, Publisher: publisher,
	}
	return f, f.measure(s.MeterProvider)
}

// Running returns the revision that the process runs.
func (c *core) Running() Running {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

// FromStore reports whether the documents in the store define the runtime.
func (c *core) FromStore() bool { return c.settings.FromStore }

// Start synchronizes the store with the runtime, which was built from the file. If the store
// decides, the runtime gets the store's current revision, or an empty store gets the file's
// document. Otherwise the store records the file's declarations.
func (f *Follower) Start(ctx context.Context, file *config.File) error {
	f.builds.setFile(file)
	if !f.settings.FromStore {
		return f.RecordFile(ctx, file)
	}
	current, err := f.settings.Store.CurrentRevision(ctx, "")
	if errors.Is(err, store.ErrNotFound) {
		return f.RecordFile(ctx, file)
	}
	if err != nil {
		return err
	}
	if err := f.publisher.adopt(ctx, current); err != nil {
		return err
	}
	f.ReportIgnored(file)
	return nil
}

// ReportIgnored reports whether files declare something other than the running configuration, and
// logs it. If the store decides, only their settings apply.
func (f *Follower) ReportIgnored(file *config.File) bool {
	running := f.Running()
	document, err := file.Document()
	if err == nil && config.HashDocument(document) == running.Hash {
		return false
	}
	f.settings.Logger.Info("agents of the files ignored: revisions.source is store, and its current revision differs",
		zap.Uint64("number", running.Number), zap.String("document", running.Hash))
	return true
}

// fileAuthor is the author of revisions declared by files.
const fileAuthor = "file"

// RecordFile stores the declarations of files as the current revision, so that turns can resume
// in it after a restart. Call it before the runtime gets the revision. Files with secrets are not
// stored; this is logged.
func (f *Follower) RecordFile(ctx context.Context, file *config.File) error {
	f.builds.setFile(file)
	document, err := file.Document()
	if err != nil {
		f.setRunning(Running{})
		f.settings.Logger.Warn("revision not stored; waiting turns cannot continue in it after a restart", zap.Error(err))
		return nil
	}
	published, err := f.settings.Store.PublishRevision(ctx, &store.PublishRevision{
		Revision: store.Revision{
			Hash: config.HashDocument(document), Document: document, Author: fileAuthor, CreatedAt: f.settings.Clock(),
		},
		Regardless: true,
	})
	if err != nil {
		return err
	}
	f.setRunning(Running{Number: published.Number, Hash: published.Hash})
	return nil
}

func (f *Builds) setFile(file *config.File) {
	f.mu.Lock()
	f.file = file
	f.mu.Unlock()
	size := cmp.Or(f.settings.TenantCache, DefaultTenantCache)
	if file.TenantRules != nil {
		size = cmp.Or(file.TenantRules.Cache, size)
	}
	f.tenants.resize(size)
}

func (c *core) currentFile() *config.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.file
}

// redactors returns a function that hides values of variables in output. It knows the variables
// of the running configuration and of the given files.
func (c *core) redactors(files ...*config.File) func(string) string {
	c.mu.Lock()
	files = append(files, c.file)
	c.mu.Unlock()
	return func(text string) string {
		for _, file := range files {
			if file != nil {
				text = file.Redact(text)
			}
		}
		return text
	}
}

func (c *core) setRunning(r Running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = r
}

// built is the result of building a document, before a runtime has it.
type built struct {
	file    *config.File
	builder *builder.AgentRuntimeBuilder
}

// build builds the declarations of a document. The caller closes the builder, or passes the
// result to a runtime.
func (c *core) build(ctx context.Context, document []byte) (*built, error) {
	return c.buildFrom(ctx, config.Source{Name: c.documentName(), Data: document})
}

// buildStored is build for the document of a revision of the store.
func (c *core) buildStored(ctx context.Context, document []byte) (*built, error) {
	return c.buildFrom(ctx, config.Source{Name: c.documentName(), Data: document, Stored: true})
}

func (c *core) buildFrom(ctx context.Context, source config.Source) (*built, error) {
	file, found := config.Parse([]config.Source{source}, c.settings.Config)
	if found.HasErrors() {
		return nil, &InvalidError{Findings: c.placeFindings(file, found)}
	}
	b := &built{file: file, builder: c.settings.NewBuilder().WithConfig(file)}
	c.settings.Learn(ctx, b.builder)
	return b, nil
}

// buildEdit builds a document by applying its changes to the current revision; it returns nil if
// that is impossible. The caller closes the builder, or passes the result to a runtime.
func (p *Publisher) buildEdit(current *registry.Revision, document []byte) *built {
	if p.editable == nil || p.editable != current { // changed by a program or a tool server
		return nil
	}
	p.mu.Lock()
	file := p.file
	p.mu.Unlock()
	edit, ok := file.Edit(document)
	if !ok {
		return nil
	}
	return &built{file: edit.File, builder: builder.NewEdit(current, edit)}
}

// Record stores the document from which a revision of the runtime was built, so that turns that
// begin in it find it.
func (f *Builds) Record(ctx context.Context, rev *registry.Revision) error {
	build := rev.Hash()
	if made, ok := rev.Derived(madeOfKey{}); ok {
		return f.recordTenant(ctx, rev, made.(madeOf)) //nolint:forcetypeassert // only this package stores it
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.recorded == build {
		return nil
	}
	if document := rev.Set().Document; document != "" && f.isDeclared(document, rev.Set()) {
		components, err := encodeComponents(rev.Set())
		if err == nil {
			err = f.settings.Store.AddRevisionBuild(ctx, store.RevisionBuild{
				Build: build, Hash: document, Components: components, BuiltAt: f.settings.Clock(),
			})
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) { // the document could not be stored
			return err
		}
	}
	f.recorded = build
	return nil
}

// isDeclared reports whether a set equals the declarations of a document. A program can change
// the revision itself.
func (f *Builds) isDeclared(document string, set *registry.Set) bool {
	declared := set.DeclaredHash()
	known, ok := f.declared[document]
	if !ok {
		f.declared[document] = declared
		return true
	}
	return known == declared
}
