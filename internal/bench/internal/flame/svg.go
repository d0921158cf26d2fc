package main

import (
	"bufio"
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
)

// The sizes of the graph in pixels. Frames narrower than leastWidth are omitted, together with
// their callees.
const (
	graphWidth = 1200
	rowHeight  = 18
	headHeight = 34
	leastWidth = 5
	charWidth  = 6.6
)

// module is the prefix of this module's functions, which the graph shortens.
const module = "github.com/agentruntime/agentruntime/"

// style has one hue for each kind of code, and the page's own background. The colors
// are readable on white and on black.
const style = `text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#1b1b1b;pointer-events:none}
.head{font-size:14px;fill:#57606a}
rect{stroke:#fff;stroke-width:.5}
.ours{fill:#f0b35b}.go{fill:#9fc5e8}.gc{fill:#c9c9c9}.std{fill:#b6d7a8}.other{fill:#d5b8e8}
@media(prefers-color-scheme:dark){.head{fill:#9da7b3}rect{stroke:#0d1117}}
`

// writeSVG writes the graph of the frames above root.
func writeSVG(out io.Writer, root *frame, title string) error {
	w := bufio.NewWriter(out)
	depth := deepest(root, float64(graphWidth)) - 1
	height := headHeight + depth*rowHeight + 4
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", graphWidth, height, graphWidth, height)
	fmt.Fprintf(w, "<title>%s</title>\n<style>%s</style>\n", html.EscapeString(title), style)
	fmt.Fprintf(w, `<text class="head" x="4" y="20">%s</text>`+"\n", html.EscapeString(title))
	x := 0.0
	for _, f := range widestFirst(root.called) {
		width := graphWidth * float64(f.total) / float64(root.total)
		writeFrame(w, f, root, x, height-rowHeight-4, width)
		x += width
	}
	fmt.Fprintln(w, "</svg>")
	return w.Flush()
}

// deepest returns the number of rows for the frame and those above it.
func deepest(f *frame, width float64) int {
	rows := 0
	for _, c := range f.called {
		if w := width * float64(c.total) / float64(f.total); w >= leastWidth {
			rows = max(rows, deepest(c, w))
		}
	}
	return rows + 1
}

// writeFrame writes a frame and those above it.
func writeFrame(w io.Writer, f, root *frame, x float64, y int, width float64) {
	if width < leastWidth {
		return
	}
	fmt.Fprintf(w, `<g><title>%s: %.1f %%</title><rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>`,
		html.EscapeString(strings.Replace(f.function, module, "agentruntime/", 1)), 100*float64(f.total)/float64(root.total), kindOf(f.function), x, y, width, rowHeight-1)
	if text := shorten(shortName(f.function), int((width-4)/charWidth)); text != "" {
		fmt.Fprintf(w, `<text x="%.0f" y="%d">%s</text>`, x+2, y+rowHeight-6, html.EscapeString(text))
	}
	fmt.Fprintln(w, "</g>")
	for _, c := range widestFirst(f.called) {
		each := width * float64(c.total) / float64(f.total)
		writeFrame(w, c, root, x, y-rowHeight, each)
		x += each
	}
}

func widestFirst(frames []*frame) []*frame {
	return slices.SortedStableFunc(slices.Values(frames), func(a, b *frame) int {
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.function, b.function))
	})
}

// kindOf returns the color class of a function: this module, Go's scheduler and allocator, its
// garbage collector, the standard library, or any other module.
func kindOf(function string) string {
	switch path, _, _ := strings.Cut(function, "["); {
	case strings.HasPrefix(path, module):
		return "ours"
	case strings.HasPrefix(path, "runtime.gc"), strings.HasPrefix(path, "runtime.bgs"), strings.HasPrefix(path, "gcWriteBarrier"):
		return "gc"
	case strings.HasPrefix(path, "runtime."), strings.HasPrefix(path, "internal/runtime"):
		return "go"
	case strings.Contains(strings.SplitN(path, "/", 2)[0], ".") && strings.Contains(path, "/"):
		return "other"
	default:
		return "std"
	}
}

// shortName returns a function without package path and type arguments.
func shortName(function string) string {
	name, _, _ := strings.Cut(function, "[")
	return name[strings.LastIndexByte(name, '/')+1:]
}

// shorten cuts a text to a number of characters, or drops it if too few are left.
func shorten(text string, n int) string {
	switch {
	case len(text) <= n:
		return text
	case n < 3:
		return ""
	default:
		return text[:n-1] + "…"
	}
}
