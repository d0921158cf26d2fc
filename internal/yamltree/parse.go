package yamltree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/panics"
	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Parse reads the text of a document into a tree. Without ok the text cannot be read; with it, the
// diagnostics are errors in the tree. An empty document has a nil root. nounOf returns the noun for
// entries of a top-level key, whose keys are ids; empty for other keys.
//
// Only this file and convert.go use the YAML library.
func Parse(doc *Document, index int, nounOf func(key string) string) (found diag.List, ok bool) {
	if d, ok := doc.Check(); !ok {
		return diag.List{d}, false
	}
	text, extraLines := withDocumentStart(doc.Data)
	text, standIns := withStandIns(text)
	loader, err := newYAMLLoader(text)
	if err != nil {
		return diag.List{doc.FaultAt(0, 0, "the file cannot be read: %v", err)}, false
	}
	c := &converter{doc: doc, nounOf: nounOf, index: uint16(index), extraLines: extraLines, standIns: standIns, anchors: map[*yaml.Node]*anchored{}}
	var root, next yaml.Node
	switch err := loadNode(loader, &root); {
	case errors.Is(err, io.EOF):
		return nil, true
	case err != nil:
		return c.addSyntaxErrors(err), false
	}
	switch err := loadNode(loader, &next); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return c.addSyntaxErrors(err), false
	default:
		at := c.byteOffset(next.Line, next.Column)
		return diag.List{doc.FaultAt(at, at+len(bytes.TrimRight(firstLine(doc.Data[at:]), " \t\r")),
			"the file contains a second document; only one is allowed").
			WithHint("put it into a separate file: several files may be given")}, false
	}
	if len(root.Content) != 1 {
		return nil, true
	}
	doc.Root, _ = c.convert(root.Content[0], nil)
	if c.fatal {
		doc.Root = nil
	}
	return c.found, !c.fatal
}

// withDocumentStart adds a document start marker if the text has none. Without it the parser
// buffers a whole file that is one flow mapping, such as JSON, at several times the cost.
func withDocumentStart(data []byte) (text []byte, lines int) {
	for rest := data; ; {
		line := firstLine(rest)
		switch content := bytes.TrimLeft(line, " \t\r"); {
		case len(content) > 0 && content[0] != '#':
			if strings.IndexByte("[{&!*\"'", content[0]) < 0 {
				return data, 0
			}
			return append([]byte("---\n"), data...), 1
		case len(line) == len(rest):
			return data, 0
		}
		rest = rest[len(line)+1:]
	}
}

func newYAMLLoader(text []byte) (*yaml.Loader, error) {
	return yaml.NewLoader(bytes.NewReader(text), yaml.WithPlugin(
		loaderlimits.New(loaderlimits.DepthValue(MaxDepth), loaderlimits.AliasNone())))
}

// VisitTexts calls visit with every text of the document in data: keys, values, tags and anchors,
// but no comments. It reports whether the document is readable.
func VisitTexts(data []byte, visit func(string)) bool {
	text, _ := withDocumentStart(data)
	text, _ = withStandIns(text)
	loader, err := newYAMLLoader(text)
	if err != nil {
		return false
	}
	var root yaml.Node
	if err := loadNode(loader, &root); err != nil {
		return false
	}
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		visit(n.Value)
		visit(n.Tag)
		visit(n.Anchor)
		for _, child := range n.Content {
			walk(child)
		}
	}
	walk(&root)
	return true
}

// loadNode loads a document and turns a panic of the library into an error, so that no file can
// crash the process.
func loadNode(loader *yaml.Loader, n *yaml.Node) (err error) {
	defer panics.Handle(func(p *panics.Error) {
		err = fmt.Errorf("the YAML parser failed: %v", p.Value)
	})
	return loader.Load(n)
}

// addSyntaxErrors converts an error of the library into diagnostics, one for each fault.
func (c *converter) addSyntaxErrors(err error) diag.List {
	var faults []*yaml.LoadError
	var several *yaml.LoadErrors
	var one *yaml.LoadError
	switch {
	case errors.As(err, &several):
		faults = several.Errors
	case errors.As(err, &one):
		faults = []*yaml.LoadError{one}
	default:
		return diag.List{c.doc.FaultAt(0, 0, "%v", err)}
	}
	var list diag.List
	for _, fault := range faults {
		mark := fault.Mark
		if startsAtContext(fault) {
			mark, fault.ContextMark = fault.ContextMark, fault.Mark
			fault.ContextMark.Line = 0 // the place of detection is no help
		}
		at := c.byteOffset(mark.Line, mark.Column)
		end := at
		if at < len(c.doc.Data) && c.doc.Data[at] != '\n' && c.doc.Data[at] != '\r' {
			end = at + 1
			for end < len(c.doc.Data) && c.doc.Data[end]&0xC0 == 0x80 {
				end++
			}
		}
		message := fault.Message
		if fault.ContextMsg != "" {
			message += " " + fault.ContextMsg
		}
		d := c.doc.FaultAt(at, end, "%s", message)
		if ctx := fault.ContextMark; fault.ContextMsg != "" && ctx.Line > 0 && ctx.Line != fault.Mark.Line {
			from := c.byteOffset(ctx.Line, ctx.Column)
			d.Related = []diag.Related{{Message: "it began here", Span: c.doc.SpanOf(from, from+1)}}
		}
		list = append(list, withSyntaxHint(d, message, c.doc.Data[at:]))
	}
	return list
}

// startsAtContext reports whether a fault is where the parser began an unfinished token, rather
// than where it stopped.
func startsAtContext(fault *yaml.LoadError) bool {
	if fault.ContextMark.Line == 0 {
		return false
	}
	switch fault.ContextMsg {
	case "while scanning an alias", "while scanning an anchor", "while scanning a quoted scalar":
		return true
	default:
		return false
	}
}

// withSyntaxHint adds an explanation for the most common mistakes.
func withSyntaxHint(d diag.Diagnostic, message string, rest []byte) diag.Diagnostic {
	switch {
	case strings.Contains(message, "cannot start any token") && bytes.HasPrefix(rest, []byte("```")):
		return d.WithHint("remove the lines of the Markdown code block")
	case strings.Contains(message, "cannot start any token") && bytes.HasPrefix(rest, []byte("@")):
		return d.WithHint("a text that begins with @ needs quotes; the contents of a file are written ${file:path}")
	case strings.Contains(message, "scanning an alias"), strings.Contains(message, "scanning an anchor"):
		return d.WithHint("a text that begins with %c needs quotes", rest[0])
	case strings.Contains(message, "end of stream while scanning a quoted scalar"):
		return d.WithHint("the quote that opens here is never closed")
	case strings.Contains(message, "expected key while parsing a block mapping"):
		return d.WithHint("begin all fields of one mapping in the same column, and if text follows a closing quote, quote the whole value")
	case strings.Contains(message, "cannot start any token") && !bytes.HasPrefix(rest, []byte("\t")):
		return d.WithHint("put the value into quotes")
	case strings.Contains(message, "mapping values are not allowed"):
		return d.WithHint("a value that contains \": \" needs quotes; or the indentation is wrong")
	case strings.Contains(message, "incompatible YAML document"):
		return d.WithHint("leave the %%YAML line out")
	case strings.Contains(message, "max depth"):
		return d.WithHint("collections can be nested at most %d levels deep", MaxDepth)
	default:
		return d
	}
}
