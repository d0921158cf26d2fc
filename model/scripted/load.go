package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/model"
	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

const (
	// maxScript bounds the size of a script, in bytes.
	maxScript = 4 << 20
	// maxDepth bounds how deep collections may stand in each other.
	maxDepth = 64
)

// Parse reads a script from the text of a YAML file. The name is used in
// errors only. The error, a *ScriptError, says all that is wrong, with the line
// and column.
func Parse(name string, data []byte) (Script, error) {
	script, _, err := parse(name, data)
	return script, err
}

// load reads and prepares the script in a file.
func load(name string) (*program, error) {
	data, err := readLimited(name)
	if err != nil {
		return nil, diag.New(diag.InvalidValue, "script", "the script cannot be read: %v", err)
	}
	_, program, err := parse(name, data)
	return program, err
}

// readLimited reads a file, or so much of it that it is seen to be too large.
func readLimited(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxScript+1))
}

func parse(name string, data []byte) (Script, *program, error) {
	d := &decoder{file: name, places: map[string]*yaml.Node{}}
	var script Script
	if root := d.read(data); root != nil {
		script = d.script(root)
	}
	p, faults := compile(&script)
	read := d.faults
	for _, fault := range faults {
		if follows(&fault, read) {
			continue
		}
		fault.Span = d.place(fault.Path)
		d.faults = append(d.faults, fault)
	}
	if len(d.faults) > 0 {
		d.faults.Sort([]string{name})
		return Script{}, nil, &ScriptError{Faults: d.faults}
	}
	return script, p, nil
}

// follows reports whether a fault of a reply may come from one that reading the
// reply has found: something is missing then.
func follows(fault *diag.Diagnostic, read diag.List) bool {
	reply := fault.Path[:strings.IndexAny(fault.Path, "].")+1]
	return slices.ContainsFunc(read, func(d diag.Diagnostic) bool { return strings.HasPrefix(d.Path, reply) })
}

// decoder turns the tree of a YAML file into a script. It remembers where each
// value stands.
type decoder struct {
	file   string
	places map[string]*yaml.Node
	faults diag.List
}

// read returns the root of the tree, or nil when there is none.
func (d *decoder) read(data []byte) (root *yaml.Node) {
	if len(data) > maxScript {
		d.report(diag.InvalidYAML, "", diag.Span{File: d.file}, "the script is larger than %d MiB", maxScript>>20)
		return nil
	}
	defer panics.Handle(func(p *panics.Error) { // no file may end the process
		d.report(diag.InvalidYAML, "", diag.Span{File: d.file}, "the YAML parser gave up: %v", p.Value)
		root = nil
	})
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		d.syntax(err)
		return nil
	}
	var document, next yaml.Node
	if err := loader.Load(&document); err != nil {
		if !errors.Is(err, io.EOF) {
			d.syntax(err)
		}
		return nil
	}
	switch err := loader.Load(&next); {
	case errors.Is(err, io.EOF):
	case err != nil:
		d.syntax(err)
		return nil
	default:
		d.fault(&next, "", "the file contains a second document; a script is one")
		return nil
	}
	if len(document.Content) != 1 {
		return nil
	}
	return document.Content[0]
}

// syntax reports an error of the YAML library.
func (d *decoder) syntax(err error) {
	var faults []*yaml.LoadError
	if several, ok := errors.AsType[*yaml.LoadErrors](err); ok {
		faults = several.Errors
	} else if one, ok := errors.AsType[*yaml.LoadError](err); ok {
		faults = append(faults, one)
	} else {
		d.report(diag.InvalidYAML, "", diag.Span{File: d.file}, "%v", err)
	}
	for _, f := range faults {
		message := f.Message
		if f.ContextMsg != "" {
			message += " " + f.ContextMsg
		}
		d.report(diag.InvalidYAML, "", diag.Span{File: d.file, Line: f.Mark.Line, Column: f.Mark.Column}, "%s", message)
	}
}

func (d *decoder) report(code diag.Code, path string, at diag.Span, format string, args ...any) {
	found := diag.New(code, path, format, args...)
	found.Span = at
	d.faults = append(d.faults, found)
}

func (d *decoder) fault(n *yaml.Node, path, format string, args ...any) {
	d.report(diag.InvalidValue, path, d.span(n), format, args...)
}

func (d *decoder) span(n *yaml.Node) diag.Span {
	return diag.Span{File: d.file, Line: n.Line, Column: n.Column}
}

// place returns where the value at a path stands, or the nearest one around it.
func (d *decoder) place(path string) diag.Span {
	for path != "" {
		if n, ok := d.places[path]; ok {
			return d.span(n)
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return diag.Span{File: d.file}
}

// field is a key that a mapping may have, and what reads its value.
type field struct {
	name string
	read func(n *yaml.Node, path string)
}

// record reads a mapping.
func (d *decoder) record(n *yaml.Node, path, what string, fields ...field) {
	d.places[path] = n
	if n.Kind != yaml.MappingNode {
		d.fault(n, path, "%s must be a mapping, not %s", what, describe(n))
		return
	}
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		below := diag.Key(path, key.Value)
		if seen[key.Value] {
			d.fault(key, below, "%s has the key %q twice", what, key.Value)
			continue
		}
		seen[key.Value] = true
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
		if at < 0 || key.Kind != yaml.ScalarNode {
			d.unknown(key, below, what, fields)
			continue
		}
		d.places[below] = value
		if isNull(value) {
			d.fault(key, below, "%s has no value; leave the key out", key.Value)
			continue
		}
		fields[at].read(value, below)
	}
}

func (d *decoder) unknown(key *yaml.Node, path, what string, fields []field) {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].name
	}
	d.report(diag.UnknownField, path, d.span(key), "%s has no key %q", what, key.Value)
	f := &d.faults[len(d.faults)-1]
	if near, ok := nearest.Of(key.Value, names); ok {
		f.Hint = fmt.Sprintf("did you mean %q?", near)
	} else {
		f.Hint = "it may have " + strings.Join(names, ", ")
	}
}

func (d *decoder) list(n *yaml.Node, path, what string, read func(n *yaml.Node, path string)) {
	if n.Kind != yaml.SequenceNode {
		d.fault(n, path, "%s must be a list, not %s", what, describe(n))
		return
	}
	for i, child := range n.Content {
		read(child, diag.Index(path, i))
	}
}

func (d *decoder) script(root *yaml.Node) (s Script) {
	if isNull(root) {
		return s
	}
	d.record(root, "", "a script",
		field{"replies", func(n *yaml.Node, path string) {
			d.list(n, path, "replies", func(n *yaml.Node, path string) {
				s.Replies = append(s.Replies, d.reply(n, path))
			})
		}},
		field{"fallback", func(n *yaml.Node, path string) {
			r := d.reply(n, path)
			s.Fallback = &r
		}})
	return s
}

func (d *decoder) reply(n *yaml.Node, path string) (r Reply) {
	d.record(n, path, "a reply",
		text(d, "match", &r.Match),
		field{"tool_calls", func(n *yaml.Node, path string) {
			d.list(n, path, "tool_calls", func(n *yaml.Node, path string) {
				r.ToolCalls = append(r.ToolCalls, d.toolCall(n, path))
			})
		}},
		text(d, "reasoning", &r.Reasoning),
		text(d, "text", &r.Text),
		number(d, "chunks", &r.Chunks),
		duration(d, "delay", &r.Delay),
		duration(d, "chunk_delay", &r.ChunkDelay),
		text(d, "finish_reason", &r.FinishReason),
		field{"usage", func(n *yaml.Node, path string) {
			r.Usage = new(model.Usage)
			d.record(n, path, "usage",
				number(d, "input_tokens", &r.Usage.Input),
				number(d, "output_tokens", &r.Usage.Output),
				number(d, "cached_tokens", &r.Usage.CacheRead),
				number(d, "cache_write_tokens", &r.Usage.CacheWrite),
				number(d, "reasoning_tokens", &r.Usage.Reasoning))
		}},
		field{"error", func(n *yaml.Node, path string) {
			r.Error = new(Failure)
			d.record(n, path, "an error",
				text(d, "class", &r.Error.Class),
				boolean(d, "stall", &r.Error.Stall),
				text(d, "message", &r.Error.Message),
				number(d, "status", &r.Error.Status),
				duration(d, "retry_after", &r.Error.RetryAfter),
				number(d, "times", &r.Error.Times),
				number(d, "after_chunks", &r.Error.AfterChunks))
		}})
	return r
}

// toolCall reads a call. Its arguments are a mapping; a text is sent as it is,
// so that malformed arguments can be scripted, too.
func (d *decoder) toolCall(n *yaml.Node, path string) (c model.ToolCall) {
	d.record(n, path, "a tool call",
		text(d, "id", &c.ID),
		text(d, "name", &c.Name),
		field{"arguments", func(n *yaml.Node, path string) {
			switch {
			case n.Kind == yaml.MappingNode:
				c.Arguments = d.json(nil, n, path)
			case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
				c.Arguments = json.RawMessage(n.Value)
			default:
				d.fault(n, path, "arguments must be a mapping, or a text that is sent as it is; not %s", describe(n))
			}
		}})
	return c
}
