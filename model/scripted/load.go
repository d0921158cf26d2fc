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
	// maxDepth is the maximum nesting depth of collections.
	maxDepth = 64
)

// Parse reads a script from the text of a YAML file. The name is used only in errors. The error, a
// *ScriptError, lists all mistakes with their line and column.
func Parse(name string, data []byte) (Script, error) {
	script, _, err := parseScript(name, data)
	return script, err
}

// loadScript reads and prepares the script from a file.
func loadScript(name string) (*program, error) {
	data, err := readLimited(name)
	if err != nil {
		return nil, diag.New(diag.InvalidValue, "script", "the script cannot be read: %v", err)
	}
	_, program, err := parseScript(name, data)
	return program, err
}

// readLimited reads a file, or just enough of it to detect that it is too large.
func readLimited(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxScript+1))
}

func parseScript(name string, data []byte) (Script, *program, error) {
	d := &decoder{file: name, places: map[string]*yaml.Node{}}
	var script Script
	if root := d.readRoot(data); root != nil {
		script = d.readScript(root)
	}
	p, faults := compileScript(&script)
	read := d.faults
	for _, fault := range faults {
		if isConsequence(&fault, read) {
			continue
		}
		fault.Span = d.spanAt(fault.Path)
		d.faults = append(d.faults, fault)
	}
	if len(d.faults) > 0 {
		d.faults.Sort([]string{name})
		return Script{}, nil, &ScriptError{Faults: d.faults}
	}
	return script, p, nil
}

// isConsequence reports whether a fault of a reply may be caused by a fault in reading the reply,
// which then lacks something.
func isConsequence(fault *diag.Diagnostic, read diag.List) bool {
	reply := fault.Path[:strings.IndexAny(fault.Path, "].")+1]
	return slices.ContainsFunc(read, func(d diag.Diagnostic) bool { return strings.HasPrefix(d.Path, reply) })
}

// decoder converts the tree of a YAML file to a script. It records the position of each value.
type decoder struct {
	file   string
	places map[string]*yaml.Node
	faults diag.List
}

// readRoot returns the root of the tree, or nil if it is empty.
func (d *decoder) readRoot(data []byte) (root *yaml.Node) {
	if len(data) > maxScript {
		d.reportAt(diag.InvalidYAML, "", diag.Span{File: d.file}, "the script is larger than %d MiB", maxScript>>20)
		return nil
	}
	defer panics.Handle(func(p *panics.Error) { // no file may end the process
		d.reportAt(diag.InvalidYAML, "", diag.Span{File: d.file}, "the YAML parser failed: %v", p.Value)
		root = nil
	})
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		d.reportSyntax(err)
		return nil
	}
	var document, next yaml.Node
	if err := loader.Load(&document); err != nil {
		if !errors.Is(err, io.EOF) {
			d.reportSyntax(err)
		}
		return nil
	}
	switch err := loader.Load(&next); {
	case errors.Is(err, io.EOF):
	case err != nil:
		d.reportSyntax(err)
		return nil
	default:
		d.reportFault(&next, "", "the file contains a second document; a script is one")
		return nil
	}
	if len(document.Content) != 1 {
		return nil
	}
	return document.Content[0]
}

// reportSyntax reports an error of the YAML library.
func (d *decoder) reportSyntax(err error) {
	var faults []*yaml.LoadError
	if several, ok := errors.AsType[*yaml.LoadErrors](err); ok {
		faults = several.Errors
	} else if one, ok := errors.AsType[*yaml.LoadError](err); ok {
		faults = append(faults, one)
	} else {
		d.reportAt(diag.InvalidYAML, "", diag.Span{File: d.file}, "%v", err)
	}
	for _, f := range faults {
		message := f.Message
		if f.ContextMsg != "" {
			message += " " + f.ContextMsg
		}
		d.reportAt(diag.InvalidYAML, "", diag.Span{File: d.file, Line: f.Mark.Line, Column: f.Mark.Column}, "%s", message)
	}
}

func (d *decoder) reportAt(code diag.Code, path string, at diag.Span, format string, args ...any) {
	found := diag.New(code, path, format, args...)
	found.Span = at
	d.faults = append(d.faults, found)
}

func (d *decoder) reportFault(n *yaml.Node, path, format string, args ...any) {
	d.reportAt(diag.InvalidValue, path, d.spanOf(n), format, args...)
}

func (d *decoder) spanOf(n *yaml.Node) diag.Span {
	return diag.Span{File: d.file, Line: n.Line, Column: n.Column}
}

// spanAt returns the position of the value at a path, or of its nearest ancestor.
func (d *decoder) spanAt(path string) diag.Span {
	for path != "" {
		if n, ok := d.places[path]; ok {
			return d.spanOf(n)
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return diag.Span{File: d.file}
}

// field is an allowed key of a mapping, with the function that reads its value.
type field struct {
	name string
	read func(n *yaml.Node, path string)
}

// readRecord reads a mapping.
func (d *decoder) readRecord(n *yaml.Node, path, what string, fields ...field) {
	d.places[path] = n
	if n.Kind != yaml.MappingNode {
		d.reportFault(n, path, "%s must be a mapping, not %s", what, describeNode(n))
		return
	}
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		below := diag.Key(path, key.Value)
		if seen[key.Value] {
			d.reportFault(key, below, "%s has the key %q twice", what, key.Value)
			continue
		}
		seen[key.Value] = true
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
		if at < 0 || key.Kind != yaml.ScalarNode {
			d.reportUnknown(key, below, what, fields)
			continue
		}
		d.places[below] = value
		if isNull(value) {
			d.reportFault(key, below, "%s has no value; leave the key out", key.Value)
			continue
		}
		fields[at].read(value, below)
	}
}

func (d *decoder) reportUnknown(key *yaml.Node, path, what string, fields []field) {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].name
	}
	d.reportAt(diag.UnknownField, path, d.spanOf(key), "%s has no key %q", what, key.Value)
	f := &d.faults[len(d.faults)-1]
	if near, ok := nearest.Of(key.Value, names); ok {
		f.Hint = fmt.Sprintf("did you mean %q?", near)
	} else {
		f.Hint = "it may have " + strings.Join(names, ", ")
	}
}

func (d *decoder) readList(n *yaml.Node, path, what string, read func(n *yaml.Node, path string)) {
	if n.Kind != yaml.SequenceNode {
		d.reportFault(n, path, "%s must be a list, not %s", what, describeNode(n))
		return
	}
	for i, child := range n.Content {
		read(child, diag.Index(path, i))
	}
}

func (d *decoder) readScript(root *yaml.Node) (s Script) {
	if isNull(root) {
		return s
	}
	d.readRecord(root, "", "a script",
		field{"replies", func(n *yaml.Node, path string) {
			d.readList(n, path, "replies", func(n *yaml.Node, path string) {
				s.Replies = append(s.Replies, d.readReply(n, path))
			})
		}},
		field{"fallback", func(n *yaml.Node, path string) {
			r := d.readReply(n, path)
			s.Fallback = &r
		}})
	return s
}

func (d *decoder) readReply(n *yaml.Node, path string) (r Reply) {
	d.readRecord(n, path, "a reply",
		textField(d, "match", &r.Match),
		field{"tool_calls", func(n *yaml.Node, path string) {
			d.readList(n, path, "tool_calls", func(n *yaml.Node, path string) {
				r.ToolCalls = append(r.ToolCalls, d.toolCall(n, path))
			})
		}},
		textField(d, "reasoning", &r.Reasoning),
		textField(d, "text", &r.Text),
		numberField(d, "chunks", &r.Chunks),
		durationField(d, "delay", &r.Delay),
		durationField(d, "chunk_delay", &r.ChunkDelay),
		textField(d, "finish_reason", &r.FinishReason),
		field{"usage", func(n *yaml.Node, path string) {
			r.Usage = new(model.Usage)
			d.readRecord(n, path, "usage",
				numberField(d, "input_tokens", &r.Usage.Input),
				numberField(d, "output_tokens", &r.Usage.Output),
				numberField(d, "cached_tokens", &r.Usage.CacheRead),
				numberField(d, "cache_write_tokens", &r.Usage.CacheWrite),
				numberField(d, "reasoning_tokens", &r.Usage.Reasoning))
		}},
		field{"error", func(n *yaml.Node, path string) {
			r.Error = new(Failure)
			d.readRecord(n, path, "an error",
				textField(d, "class", &r.Error.Class),
				booleanField(d, "stall", &r.Error.Stall),
				textField(d, "message", &r.Error.Message),
				numberField(d, "status", &r.Error.Status),
				durationField(d, "retry_after", &r.Error.RetryAfter),
				numberField(d, "times", &r.Error.Times),
				numberField(d, "after_chunks", &r.Error.AfterChunks))
		}})
	return r
}

// toolCall reads a call. Its arguments are a mapping; a string is sent unchanged, so that malformed
// arguments can also be scripted.
func (d *decoder) toolCall(n *yaml.Node, path string) (c model.ToolCall) {
	d.readRecord(n, path, "a tool call",
		textField(d, "id", &c.ID),
		textField(d, "name", &c.Name),
		field{"arguments", func(n *yaml.Node, path string) {
			switch {
			case n.Kind == yaml.MappingNode:
				c.Arguments = d.appendJSON(nil, n, path)
			case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
				c.Arguments = json.RawMessage(n.Value)
			default:
				d.reportFault(n, path, "arguments must be a mapping, or a text that is sent as it is; not %s", describeNode(n))
			}
		}})
	return c
}
