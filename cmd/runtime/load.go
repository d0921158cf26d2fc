package main

import (
	"context"
	"io"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"go.uber.org/zap"
)

// loaded is a configuration that was read, and what was found in it.
type loaded struct {
	file    *config.File
	found   diag.List
	builder *builder.AgentRuntimeBuilder
}

// load reads files. The error is for files that cannot be read; all else is
// among what was found.
func load(files []string, live bool, logger *zap.Logger) (*loaded, error) {
	file, found, err := config.Load(files, config.Options{Kinds: kinds(), RequireVariables: live})
	if err != nil {
		return nil, err
	}
	return &loaded{file: file, found: found, builder: newBuilder().WithLogger(logger).WithConfig(file)}, nil
}

// check dry-runs everything and returns the revision, which is nil when it
// cannot be put together, with all diagnostics in the order of the files.
func (l *loaded) check(ctx context.Context) (*registry.Revision, diag.List) {
	rev, found := l.builder.Check(ctx)
	return rev, l.file.Complete(l.found, found)
}

// report returns a report of diagnostics about the configuration.
func (l *loaded) report(list diag.List, w io.Writer) *diag.Report {
	return &diag.Report{
		Diagnostics: list, Agents: len(l.file.Agents), Version: version(),
		Source: l.file.Source, Color: colored(w),
	}
}

// refuse shows the errors of a configuration that cannot be used.
func (l *loaded) refuse(list diag.List, w io.Writer) error {
	errs := make(diag.List, 0, len(list))
	for _, d := range list {
		if d.Severity == diag.Error {
			errs = append(errs, d)
		}
	}
	return l.report(errs, w).Render(w, diag.FormatText)
}
