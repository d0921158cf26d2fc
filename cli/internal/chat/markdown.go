package chat

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// The styles of the full screen. The terminal chooses the colors; NO_COLOR disables them.
var (
	styleBold   = lipgloss.NewStyle().Bold(true)
	styleItalic = lipgloss.NewStyle().Italic(true)
	styleFaint  = lipgloss.NewStyle().Faint(true)
	styleCode   = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	styleYou    = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Blue)
	styleTool   = lipgloss.NewStyle().Foreground(lipgloss.Green)
	styleError  = lipgloss.NewStyle().Foreground(lipgloss.Red)
	styleAsk    = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
)

// markdownParser parses the models' text. HTML and tables are shown as written.
var markdownParser = goldmark.New().Parser()

// renderMarkdown renders Markdown as lines of at most width cells. It keeps line ends in
// paragraphs, because models write tables and lists by hand.
func renderMarkdown(source string, width int) []string {
	source = cleanText(source)
	r := markdown{source: []byte(source)}
	return r.blocks(markdownParser.Parse(text.NewReader(r.source)), max(width, 1))
}

// markdown renders one text.
type markdown struct{ source []byte }

// blocks renders the children of a node, with empty lines between them.
func (r *markdown) blocks(parent ast.Node, width int) []string {
	var lines []string
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if len(lines) > 0 && n.Kind() != ast.KindTextBlock {
			if _, item := n.(*ast.ListItem); !item || !parent.(*ast.List).IsTight {
				if _, list := n.(*ast.List); !list || n.PreviousSibling().Kind() != ast.KindTextBlock {
					lines = append(lines, "")
				}
			}
		}
		lines = append(lines, r.block(n, width)...)
	}
	return lines
}

// block renders a block.
func (r *markdown) block(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return wrapLines(styleBold.Render(strings.Repeat("#", n.Level)+" "+r.inline(n)), width)
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		code := strings.TrimSuffix(string(n.Lines().Value(r.source)), "\n")
		return indentLines(hardWrap(code, width-2, styleCode.Render), "  ", "  ")
	case *ast.HTMLBlock:
		html := string(n.Lines().Value(r.source))
		if n.HasClosure() {
			html += string(n.ClosureLine.Value(r.source))
		}
		return wrapLines(strings.TrimSuffix(html, "\n"), width)
	case *ast.ThematicBreak:
		return []string{styleFaint.Render(strings.Repeat("─", min(width, 40)))}
	case *ast.Blockquote:
		return indentLines(r.blocks(n, width-2), styleFaint.Render("│ "), styleFaint.Render("│ "))
	case *ast.ListItem:
		marker := "• "
		if list := n.Parent().(*ast.List); list.IsOrdered() {
			number := list.Start
			for at := n.PreviousSibling(); at != nil; at = at.PreviousSibling() {
				number++
			}
			marker = fmt.Sprintf("%d%c ", number, list.Marker)
		}
		lines := r.blocks(n, width-len([]rune(marker)))
		if len(lines) == 0 {
			lines = []string{""}
		}
		return indentLines(lines, marker, strings.Repeat(" ", len([]rune(marker))))
	case *ast.List:
		return r.blocks(n, width)
	case *ast.Paragraph, *ast.TextBlock:
		return wrapLines(r.inline(n), width)
	default:
		return r.blocks(n, width)
	}
}

// inline renders the inline nodes of a paragraph.
func (r *markdown) inline(parent ast.Node) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(r.source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.CodeSpan:
			b.WriteString(styleEach(styleCode, r.inline(n)))
		case *ast.Emphasis:
			style := styleItalic
			if n.Level > 1 {
				style = styleBold
			}
			b.WriteString(styleEach(style, r.inline(n)))
		case *ast.Link:
			label, target := r.inline(n), string(n.Destination)
			b.WriteString(label)
			if label != target {
				b.WriteString(" (" + target + ")")
			}
		case *ast.Image:
			fmt.Fprintf(&b, "%s (%s)", r.inline(n), n.Destination)
		case *ast.AutoLink:
			b.Write(n.Label(r.source))
		case *ast.RawHTML:
			b.Write(n.Segments.Value(r.source))
		default:
			b.WriteString(r.inline(n))
		}
	}
	return b.String()
}

// styleEach styles each line of a text; styling the whole text would pad them.
func styleEach(style lipgloss.Style, text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = style.Render(lines[i])
	}
	return strings.Join(lines, "\n")
}

// wrapLines breaks a styled text into lines of at most width cells, at word boundaries if possible.
func wrapLines(text string, width int) []string {
	var lines []string
	for line := range strings.SplitSeq(lipgloss.Wrap(text, max(width, 1), ""), "\n") {
		if ansi.StringWidth(line) > width { // for spaces, say
			lines = append(lines, strings.Split(ansi.Hardwrap(line, max(width, 1), true), "\n")...)
		} else {
			lines = append(lines, line)
		}
	}
	return lines
}

// hardWrap breaks a text into lines of at most width cells, anywhere.
func hardWrap(text string, width int, style func(...string) string) []string {
	lines := strings.Split(ansi.Hardwrap(text, max(width, 1), true), "\n")
	for i := range lines {
		lines[i] = style(lines[i])
	}
	return lines
}

// indentLines prefixes the first line with first and the others with rest.
func indentLines(lines []string, first, rest string) []string {
	for i := range lines {
		if i == 0 {
			lines[i] = first + lines[i]
		} else {
			lines[i] = rest + lines[i]
		}
	}
	return lines
}

// cleanText escapes a text for the full screen, with tabs as four cells.
func cleanText(text string) string {
	return strings.ReplaceAll(terminal.EscapeText(strings.ReplaceAll(text, "\t", "    ")), "\r\n", "\n")
}
