package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// loaded is a configuration with its diagnostics.
type loaded struct {
	names []string
	// version and command are the program's version and the command's name.
	version, command string
	file             *config.File
	found            diag.List
	builder          *builder.AgentRuntimeBuilder
	// replaces is the revision that the configuration replaces, or nil.
	replaces *registry.Revision
	// agent limits the configuration to the turns of one agent and to the named parts; empty for
	// all agents.
	agent string
	parts []string
	// suppressed are the last check's diagnostics that comments suppress.
	suppressed []diag.Suppressed
	// proved are the findings of prove, in the order of the files.
	proved diag.List
	logger *zap.Logger
	// log is where the logger of a command that runs the runtime writes; nil for other commands.
	log *logOutput
	// warnings logs probable mistakes.
	warnings *warnings
	// toolTime limits how long servers may take to list their tools; 0 means only their own limits.
	toolTime time.Duration
}

// load reads files. The error reports files that cannot be read; every other problem becomes a
// diagnostic.
func (p *program) load(files []string, live bool, logger *zap.Logger) (*loaded, error) {
	return p.loadEdited(files, live, logger, nil)
}

// loadEdited is load with an edit of the declarations; nil edits nothing.
func (p *program) loadEdited(files []string, live bool, logger *zap.Logger, edit func(*config.File) error) (*loaded, error) {
	names, err := config.Expand(files)
	if err != nil {
		return nil, err
	}
	file, found, err := config.Load(names, config.Options{Kinds: p.ConfigKinds(), RequireVariables: live, Stdin: p.document})
	if err != nil {
		return nil, err
	}
	if edit != nil {
		if err := edit(file); err != nil {
			return nil, err
		}
	}
	w := &warnings{logger: logger.Named("config")}
	b := p.NewBuilder(logger).WithConfig(file).WithWarnings(w.add)
	return &loaded{names: names, version: p.version(), command: p.Command(), file: file, found: found, builder: b, logger: logger, warnings: w}, nil
}

// open loads the files of a command that runs the runtime, with a log on standard error.
func (p *program) open(files []string, o *logFlags, newLogger func(*logOutput, bool) *zap.Logger) (*loaded, error) {
	log := newLogOutput(p.Err, &o.format)
	logger := newLogger(log, o.verbose)
	l, err := p.load(files, true, logger)
	if err != nil {
		_ = logger.Sync()
		return nil, err
	}
	log.redact = l.file.Redact
	l.log = log
	return l, nil
}

// close closes the components and the log. Errors are ignored because the command is done.
func (l *loaded) close() {
	_ = l.builder.Close()
	if l.log != nil {
		_ = l.logger.Sync()
	}
}

// unheard returns a logger that accepts everything and writes nothing. With a disabled logger,
// plugins would skip hooks that they register only for logging.
func unheard() *zap.Logger {
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{}), zapcore.AddSync(io.Discard), zapcore.DebugLevel))
}

// check dry-runs everything and returns the revision with all diagnostics in the order of the
// files. It fails only if ctx ends.
func (l *loaded) check(ctx context.Context) (*registry.Revision, diag.List, error) {
	rev, found := l.builder.Check(ctx)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	list, suppressed := l.file.CompleteAll(l.found, found)
	l.suppressed = suppressed
	return rev, list, nil
}

// build returns the runtime of a configuration, or shows why it cannot be built.
func (l *loaded) build(ctx context.Context, p *program) (*runtime.AgentRuntime, error) {
	if err := l.prove(ctx, p); err != nil {
		return nil, err
	}
	l.warnings.replace(l)
	return l.builder.BuildUnchecked() // prove did the dry run
}

// prove lists the tools of servers and the agents of peers, and verifies that every agent resolves,
// or shows why not. A peer that does not list its agents is a warning: agents that do not need it
// still work.
func (l *loaded) prove(ctx context.Context, p *program) error {
	app.Learn(ctx, l.builder, l.toolTime, func(e *builder.DiscoveryError) {
		p.PrintErrorf("warning: %s", l.file.Redact(e.Diagnostic().Message))
	})
	if l.replaces != nil {
		l.builder.Adopt(l.replaces)
	}
	rev, list, err := l.check(ctx)
	if err != nil {
		return err
	}
	var unknown error
	if l.agent != "" {
		var n *needs
		n, unknown = l.needsOf(ctx, rev, l.agent, l.parts...)
		list = n.without(list)
	}
	if unknown != nil && !list.HasErrors() {
		list = l.file.Complete(list, diag.FromError(unknown))
	}
	if list.HasErrors() {
		return l.refuse(list, p.Err, command.Failed)
	}
	l.proved = list
	return nil
}

// forPeers returns a runtime that reaches the configured peers, to end their work for turns. It
// returns nil if the configuration is invalid, and does not check that agents resolve.
func (l *loaded) forPeers(ctx context.Context) *runtime.AgentRuntime {
	if l.file.Partial {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, app.DiscoveryTime)
	defer cancel()
	l.builder.LearnAgents(asking)
	rt, err := l.builder.BuildUnchecked()
	if err != nil {
		return nil
	}
	return rt
}

// renderReport writes a report. Its colors reach a terminal; the report itself escapes text from
// files.
func renderReport(r *diag.Report, w io.Writer, format diag.Format) error {
	if !r.Color || format != diag.FormatText {
		return r.Render(w, format)
	}
	var text strings.Builder
	if err := r.Render(&text, format); err != nil {
		return err
	}
	return terminal.WriteUnescaped(w, text.String())
}

// report returns a report of diagnostics about the configuration.
func (l *loaded) report(list diag.List, w io.Writer) *diag.Report {
	return &diag.Report{
		Diagnostics: nameCommand(list, l.command), Agents: len(l.file.Agents), Version: l.version,
		Source: l.source, Color: terminal.Colored(w),
	}
}

// nameCommand returns diagnostics whose hints use the command's actual name: other packages only
// know its default name.
func nameCommand(list diag.List, command string) diag.List {
	if command == terminal.DefaultName {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Hint = strings.ReplaceAll(list[i].Hint, `"`+terminal.DefaultName+" ", `"`+command+" ")
	}
	return list
}

// maxReferred bounds the files that source reads, in bytes.
const maxReferred = 4 << 20

// source returns the text of a file that a diagnostic names, either of the configuration or
// referenced from it, such as a script.
func (l *loaded) source(name string) []byte {
	if name == config.StdinName || slices.Contains(l.names, name) {
		return l.file.Source(name)
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxReferred {
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return []byte(l.file.Redact(string(data)))
}

// refuse shows the errors of an unusable configuration and returns the exit of the command.
func (l *loaded) refuse(list diag.List, w io.Writer, code command.Exit) error {
	if err := renderReport(l.report(list.Errors(), w), w, diag.FormatText); err != nil {
		return err
	}
	return code
}

// where returns a path's position as file:line:column, or "" if no file has it.
func (l *loaded) where(code diag.Code, path string) string {
	placed := l.file.Complete(nil, diag.List{{Code: code, Path: path}})
	if len(placed) == 0 || placed[0].Line == 0 {
		return ""
	}
	return placed[0].Place()
}

// errVolatile reports that an in-memory store cannot be read by another process.
var errVolatile = errors.New("the memory store belongs to the process that serves it and cannot be read from outside: use store: {driver: sqlite} or {driver: postgres}")

// loadSection reads files for a command that needs one section of them, and shows problems with the
// section. Problems with agents are ignored.
func (p *program) loadSection(files []string, section string, live bool) (*loaded, error) {
	l, err := p.load(files, live, zap.NewNop())
	if err != nil {
		return nil, err
	}
	var wrong diag.List
	for _, d := range l.file.Complete(l.found, nil) {
		about := within(d.Path, section)
		if about && d.Code == diag.UnsetVariable {
			d.Severity = diag.Error
		}
		if d.Severity == diag.Error && (about || l.file.Partial) {
			wrong = append(wrong, d)
		}
	}
	if len(wrong) > 0 {
		l.close()
		return nil, l.refuse(wrong, p.Err, command.Failed)
	}
	return l, nil
}

// within reports whether a path equals another one or lies below it.
func within(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// listToolsFor lists tools with the variables of a tenant, all of which the configuration must
// declare. Errors of the configuration are reported first.
func (l *loaded) listToolsFor(tenant map[string]string) error {
	var declared []string
	if rules := l.file.TenantRules; rules != nil {
		declared = slices.Sorted(maps.Keys(rules.Variables))
	}
	for _, name := range slices.Sorted(maps.Keys(tenant)) {
		if slices.Contains(declared, name) || l.found.HasErrors() {
			continue
		}
		hint := ""
		if near, ok := nearest.Of(name, declared); ok {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		return fmt.Errorf("--tenant-variable %s: the configuration does not declare this variable of tenants%s", name, hint)
	}
	l.builder.ListToolsFor(tools.TenantValues(tenant))
	return nil
}
