// Package fleet keeps the revisions of a configuration in the store, so that they
// outlive a process and all replicas run the same one. It publishes documents, follows
// what others publish, and builds the revisions again that turns began in.
package fleet

import (
	"cmp"
	"context"
	"errors"
	"sync"
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

// BellID is what a fleet rings for when it has published.
const BellID = "revisions"

// Settings is what a Fleet is made of. All fields are required but Learn, Ring, Changed,
// MeterProvider, Logger and Clock.
type Settings struct {
	Store   store.Revisions
	Runtime *runtime.AgentRuntime
	// NewBuilder returns a builder that knows what comes from the program.
	NewBuilder func() *builder.AgentRuntimeBuilder
	// Learn asks servers for their tools, and peers for their agents.
	Learn func(context.Context, *builder.AgentRuntimeBuilder)
	// Variables returns what a tenant has set for itself, for servers that are asked for
	// their tools; nil for nothing.
	Variables func(tenant string) tools.TenantSource
	// Config is how documents are read, and Dir where their relative paths start.
	Config config.Options
	Dir    string
	// FromStore is set where the documents in the store decide what the runtime knows,
	// and not the files of the process.
	FromStore bool
	// Ring tells other processes that there is a new revision, and Changed this one that
	// there may be, of the base or of a tenant. Changed must not block.
	Ring, Changed func()
	// MeterProvider takes which revision the process runs; nil measures nothing.
	MeterProvider metric.MeterProvider
	// TenantCache is how many tenants a process keeps ready if tenants.cache of the
	// configuration does not say; 0 is DefaultTenantCache.
	TenantCache int
	Logger      *zap.Logger
	Clock       func() time.Time

	_ struct{} // keyed literals only
}

// Fleet is the part of a process that keeps revisions. It is safe for concurrent use.
type Fleet struct {
	settings Settings
	// news has room for one: the follower looks for all there are.
	news chan struct{}
	// publishing is held while the runtime gets another revision. editable is the one that
	// this fleet gave it last, of the document in file.
	publishing sync.Mutex
	editable   *registry.Revision

	mu      sync.Mutex
	running Running
	// file has what the process runs, and what of it is hidden where it is shown.
	file     *config.File
	recorded string
	// declared are the DeclaredHash of what documents were built to, by their hash.
	declared map[string]string
	// viewed is the document that was looked at last.
	viewed *view

	// bases are how overlays of tenants see bases, by hash.
	bases map[string]*config.TenantBase

	builds  builds
	tenants tenantCache
	// validations admits what proves overlays for callers.
	validations *validations
	workflows   workflowView
}

// Running describes which revision a process runs.
type Running struct {
	// Number and Hash are those of the revision; zero for one that is not in the store.
	Number uint64
	Hash   string
	// Wanted is the hash of the revision that is current in the store, if it differs,
	// and Problem why this process does not run it.
	Wanted  string
	Problem string
}

// New returns a fleet. It does nothing by itself. The error is one of the meters.
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
	if s.Ring == nil {
		s.Ring = func() {}
	}
	if s.Changed == nil {
		s.Changed = func() {}
	}
	f := &Fleet{settings: s, news: make(chan struct{}, 1), declared: make(map[string]string), bases: make(map[string]*config.TenantBase), validations: newValidations()}
	f.tenants.resize(cmp.Or(s.TenantCache, DefaultTenantCache))
	return f, f.measure(s.MeterProvider)
}

// Running returns which revision the process runs.
func (f *Fleet) Running() Running {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running
}

// FromStore reports whether the documents in the store decide what the runtime knows.
func (f *Fleet) FromStore() bool { return f.settings.FromStore }

// Start makes the store and the runtime agree: where the store decides, the runtime gets
// the current revision of the store, or the store its first one from the file; otherwise
// the store keeps what the file declares. The runtime has been built from the file.
func (f *Fleet) Start(ctx context.Context, file *config.File) error {
	f.setFile(file)
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
	if err := f.adopt(ctx, current); err != nil {
		return err
	}
	f.ReportIgnored(file)
	return nil
}

// ReportIgnored reports whether files declare something else than what the process runs,
// and logs it: where the store decides, only their settings count.
func (f *Fleet) ReportIgnored(file *config.File) bool {
	running := f.Running()
	document, err := file.Document()
	if err == nil && config.HashDocument(document) == running.Hash {
		return false
	}
	f.settings.Logger.Info("agents of the files ignored: revisions.source is store, and its current revision differs",
		zap.Uint64("number", running.Number), zap.String("document", running.Hash))
	return true
}

// fileAuthor is who publishes what files declare.
const fileAuthor = "file"

// RecordFile stores what files declare as the current revision, so that turns that begin
// in it can go on after a restart. It is called before the runtime gets it. Files with
// secrets in them are not stored; that is logged.
func (f *Fleet) RecordFile(ctx context.Context, file *config.File) error {
	f.setFile(file)
	document, err := file.Document()
	if err != nil {
		f.setRunning(Running{})
		f.settings.Logger.Warn("revision not stored; turns that wait cannot go on in it after a restart", zap.Error(err))
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

func (f *Fleet) setFile(file *config.File) {
	f.mu.Lock()
	f.file = file
	f.mu.Unlock()
	size := cmp.Or(f.settings.TenantCache, DefaultTenantCache)
	if file.TenantRules != nil {
		size = cmp.Or(file.TenantRules.Cache, size)
	}
	f.tenants.resize(size)
}

func (f *Fleet) currentFile() *config.File {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file
}

// redactors returns what hides the values of variables in texts that are shown: those of
// what the process runs, and of some other files.
func (f *Fleet) redactors(files ...*config.File) func(string) string {
	f.mu.Lock()
	files = append(files, f.file)
	f.mu.Unlock()
	return func(text string) string {
		for _, file := range files {
			if file != nil {
				text = file.Redact(text)
			}
		}
		return text
	}
}

func (f *Fleet) setRunning(r Running) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = r
}

// built is what a document was made into, before a runtime has it.
type built struct {
	file    *config.File
	builder *builder.AgentRuntimeBuilder
}

// build makes what a document declares. The caller closes the builder, or hands what it
// made to a runtime.
func (f *Fleet) build(ctx context.Context, document []byte) (*built, error) {
	return f.buildFrom(ctx, config.Source{Name: f.documentName(), Data: document})
}

// buildStored is build for the document of a revision of the store.
func (f *Fleet) buildStored(ctx context.Context, document []byte) (*built, error) {
	return f.buildFrom(ctx, config.Source{Name: f.documentName(), Data: document, Stored: true})
}

func (f *Fleet) buildFrom(ctx context.Context, source config.Source) (*built, error) {
	file, found := config.Parse([]config.Source{source}, f.settings.Config)
	if found.HasErrors() {
		return nil, &InvalidError{Findings: f.placeFindings(file, found)}
	}
	b := &built{file: file, builder: f.settings.NewBuilder().WithConfig(file)}
	f.settings.Learn(ctx, b.builder)
	return b, nil
}

// buildEdit makes what a document declares by what it changes in the current revision, or
// returns nil if it cannot. The caller closes the builder, or hands what it made to a
// runtime.
func (f *Fleet) buildEdit(current *registry.Revision, document []byte) *built {
	if f.editable == nil || f.editable != current { // a program, or the server of a tool, has changed it
		return nil
	}
	f.mu.Lock()
	file := f.file
	f.mu.Unlock()
	edit, ok := file.Edit(document)
	if !ok {
		return nil
	}
	return &built{file: edit.File, builder: builder.NewEdit(current, edit)}
}

// Record stores which document a revision of the runtime was made of, so that turns that
// begin in it find it.
func (f *Fleet) Record(ctx context.Context, rev *registry.Revision) error {
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

// isDeclared reports whether a set has what a document declares. A program can change
// the revision by itself.
func (f *Fleet) isDeclared(document string, set *registry.Set) bool {
	declared := set.DeclaredHash()
	known, ok := f.declared[document]
	if !ok {
		f.declared[document] = declared
		return true
	}
	return known == declared
}
