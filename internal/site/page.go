package main

import (
	"bytes"
	"fmt"
	"html"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// repository is the target of links to files that are not pages.
const repository = "https://github.com/agentruntime/agentruntime/blob/main/"

// site is the set of pages. names maps Markdown files to pages.
type site struct {
	files fs.FS
	names map[string]string
}

// page is one page. body is its HTML, and entries are its sections for the search.
type page struct {
	name, title, body string
	entries           []searchEntry
}

// searchEntry is a section of a page in the search index.
type searchEntry struct {
	Page    string `json:"p"`
	Heading string `json:"h"`
	URL     string `json:"u"`
	Text    string `json:"t"`
}

// render converts a Markdown file, making its links point to pages or to the repository.
func (s *site) render(source string) (*page, error) {
	data, err := fs.ReadFile(s.files, source)
	if err != nil {
		return nil, err
	}
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(consoleRenderer{}, 100))))
	tree := markdown.Parser().Parse(text.NewReader(data), parser.WithContext(parser.NewContext(parser.WithIDs(headingIDs{}))))
	p := &page{name: s.names[source]}
	err = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(s.rewriteLink(source, string(n.Destination)))
		case *ast.Image:
			n.Destination = []byte(s.rewriteLink(source, string(n.Destination)))
		case *ast.Heading:
			p.addSection(n, data)
		case *ast.Paragraph, *ast.TextBlock, *tables.TableCell:
			p.addText(plainText(n, data))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	err = markdown.Renderer().Render(&body, data, tree)
	p.body = body.String()
	return p, err
}

// rewriteLink returns the address of a link in a page of the site.
func (s *site) rewriteLink(source, target string) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") || strings.HasPrefix(target, "#") {
		return target
	}
	file, anchor, _ := strings.Cut(target, "#")
	file = path.Join(path.Dir(source), file)
	if anchor != "" {
		anchor = "#" + anchor
	}
	up := strings.Repeat("../", strings.Count(s.names[source], "/"))
	if name, ok := s.names[file]; ok {
		return up + name + anchor
	}
	if strings.HasPrefix(file, "docs/images/") || strings.HasPrefix(file, "docs/flames/") {
		return up + strings.TrimPrefix(file, "docs/")
	}
	return repository + file + anchor
}

func (p *page) addSection(heading *ast.Heading, data []byte) {
	title := plainText(heading, data)
	entry := searchEntry{Heading: title, URL: p.name}
	if heading.Level == 1 && p.title == "" {
		p.title = title
	} else if id, ok := heading.AttributeString("id"); ok {
		entry.URL += "#" + string(id.([]byte)) //nolint:forcetypeassert // set by the parser
	}
	entry.Page = p.title
	p.entries = append(p.entries, entry)
}

func (p *page) addText(text string) {
	if len(p.entries) > 0 {
		p.entries[len(p.entries)-1].Text += text + " "
	}
}

// plainText returns the text of a node without its markup.
func plainText(node ast.Node, data []byte) string {
	var b strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(data))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// headingIDs gives headings the same anchors as GitHub.
type headingIDs map[string]int

var notSlug = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)

// Generate returns the anchor of a heading.
func (ids headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	slug := strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(string(value)), ""), " ", "-")
	ids[slug]++
	if n := ids[slug]; n > 1 {
		slug = fmt.Sprintf("%s-%d", slug, n-1)
	}
	return []byte(slug)
}

// Put marks an anchor as used.
func (ids headingIDs) Put(value []byte) { ids[string(value)]++ }

// consoleRenderer renders code blocks, and marks the commands in terminal blocks.
type consoleRenderer struct{}

// RegisterFuncs registers the renderer of blocks.
func (consoleRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, renderBlock)
}

func renderBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := n.(*ast.FencedCodeBlock) //nolint:forcetypeassert // registered for this kind
	language := string(block.Language(source))
	_, _ = fmt.Fprintf(w, "<pre class=\"%s\"><code>", html.EscapeString(language))
	for i := range block.Lines().Len() {
		segment := block.Lines().At(i)
		line := html.EscapeString(strings.TrimSuffix(string(segment.Value(source)), "\n"))
		if language == "console" && strings.HasPrefix(line, "$ ") {
			line = "<b>" + line + "</b>"
		}
		_, _ = w.WriteString(line + "\n")
	}
	_, _ = w.WriteString("</code></pre>\n")
	return ast.WalkSkipChildren, nil
}

var indexLine = regexp.MustCompile(`^(?:(#{2,3}) (.*)|\d+\. \[([^\]]+)\]\(([^)]+)\).*)$`)

// navigation returns the groups and pages of docs/index.md, as a function of the prefix of
// links.
func (s *site) navigation() (func(up string) string, error) {
	data, err := fs.ReadFile(s.files, "docs/index.md")
	if err != nil {
		return nil, err
	}
	return func(up string) string {
		var b strings.Builder
		for line := range strings.Lines(string(data)) {
			switch m := indexLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); {
			case m == nil || m[2] == "Components":
			case m[1] == "##":
				fmt.Fprintf(&b, "<h2>%s</h2>\n", html.EscapeString(m[2]))
			case m[1] == "###":
				fmt.Fprintf(&b, "<h3>%s</h3>\n", html.EscapeString(m[2]))
			default:
				if name, ok := s.names[path.Join("docs", m[4])]; ok {
					fmt.Fprintf(&b, "<a href=\"%s%s\">%s</a>\n", up, name, html.EscapeString(m[3]))
				}
			}
		}
		return b.String()
	}, nil
}

// html returns the complete page.
func (p *page) html(navigation func(up string) string) string {
	up := strings.Repeat("../", strings.Count(p.name, "/"))
	return fmt.Sprintf(`<!doctype html>
<html lang="en" data-up="%[1]s">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>%[2]s · agentruntime</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="%[1]sstyle.css">
<script src="%[1]ssearch.js" defer></script><script src="%[1]ssite.js" defer></script>
</head>
<body>
<header><a href="%[1]sindex.html">agentruntime</a><a href="%[1]sdocumentation.html">Documentation</a>
<input id="search" type="search" placeholder="Search" aria-label="Search"><button id="theme" type="button">Dark</button></header>
<div id="results" hidden></div>
<div class="columns"><nav>
%[3]s</nav><main>
%[4]s</main></div>
</body>
</html>
`, up, html.EscapeString(p.title), navigation(up), p.body)
}
