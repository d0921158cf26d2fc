package layering

import (
	"flag"
	"fmt"
	"html"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the diagram of the layers and their list in docs/internals/architecture.md")

const (
	diagramFile      = "../../docs/images/layers.svg"
	architectureFile = "../../docs/internals/architecture.md"
	listBegin        = "<!-- generated: layers -->\n"
	listEnd          = "<!-- end generated -->"
)

// TestTheDiagramAndTheListShowTheLayers keeps the picture and the list of all packages in
// docs/internals/architecture.md equal to the layers.
func TestTheDiagramAndTheListShowTheLayers(t *testing.T) {
	t.Parallel()
	members := membersOfLayers(t)
	compareOrWrite(t, diagramFile, drawLayers(members))
	page := readFile(t, architectureFile)
	before, rest, ok := strings.Cut(page, listBegin)
	_, after, closed := strings.Cut(rest, listEnd)
	if !ok || !closed {
		t.Fatal("docs/internals/architecture.md has no list of layers")
	}
	compareOrWrite(t, architectureFile, before+listBegin+listLayers(members)+listEnd+after)
}

// membersOfLayers returns the packages of each layer in order, except the layer itself.
func membersOfLayers(t *testing.T) map[string][]string {
	members := map[string][]string{}
	for _, p := range listImports(t).own() {
		if layer, ok := layerOf(p); ok && p != layer {
			members[layer] = append(members[layer], p)
		}
	}
	return members
}

func listLayers(members map[string][]string) string {
	var out strings.Builder
	out.WriteString("\n| Layer | Further packages |\n|---|---|\n")
	for _, layer := range layers {
		names := "–"
		if len(members[layer]) > 0 {
			names = "`" + strings.Join(members[layer], "`, `") + "`"
		}
		fmt.Fprintf(&out, "| **%s** | %s |\n", layer, names)
	}
	return out.String() + "\n"
}

// drawLayers draws one row for each layer, with its importable packages.
func drawLayers(members map[string][]string) string {
	const width, left, columns, lineHeight = 900, 170, 104, 17
	var rows strings.Builder
	y := 4
	for _, layer := range layers {
		if layer == "docs" {
			continue // has no code
		}
		lines := wrapNames(layer, members[layer], columns)
		height := 9 + lineHeight*max(1, len(lines))
		fmt.Fprintf(&rows, "  <rect x=\"4\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>\n", y, width-8, height)
		fmt.Fprintf(&rows, "  <text class=\"layer\" x=\"14\" y=\"%d\">%s</text>\n", y+lineHeight, html.EscapeString(layer))
		for i, line := range lines {
			fmt.Fprintf(&rows, "  <text x=\"%d\" y=\"%d\">%s</text>\n", left, y+lineHeight*(i+1), html.EscapeString(line))
		}
		y += height + 3
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="13" role="img" aria-labelledby="t">
  <!-- Generated from internal/layering/rules_test.go: go test ./internal/layering -update -->
  <title id="t">The layers of packages from top to bottom; a package imports only packages of lower layers.</title>
  <style>
    rect { fill: #eef3fb; stroke: #4a6fa5; } text { fill: #55606b; } .layer { fill: #1c2733; font-weight: 600; }
    @media (prefers-color-scheme: dark) { rect { fill: #1d2838; stroke: #8fb2e6; } text { fill: #a3b0bd; } .layer { fill: #e4ebf3; } }
  </style>
%s</svg>
`, width, y, rows.String())
}

// wrapNames joins the names that users import, in lines of at most columns characters.
func wrapNames(layer string, names []string, columns int) []string {
	var lines []string
	line := ""
	for _, p := range names {
		name := strings.TrimPrefix(p, layer+"/")
		if name == "internal" || strings.Contains("/"+name, "/internal/") {
			continue
		}
		if line != "" && len(line)+len(name)+3 > columns {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " · "
		}
		line += name
	}
	if line == "" {
		return lines
	}
	return append(lines, line)
}

func compareOrWrite(t *testing.T, file, fresh string) {
	t.Helper()
	have, err := os.ReadFile(file) //nolint:gosec // a file of the repository
	if err == nil && string(have) == fresh {
		return
	}
	if !*update {
		t.Fatalf("%s does not show the layers (%v); run: go test ./internal/layering -update", file, err)
	}
	if err := os.WriteFile(file, []byte(fresh), 0o644); err != nil { //nolint:gosec // documentation
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name) //nolint:gosec // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
