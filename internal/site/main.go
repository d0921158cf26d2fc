// Command site writes the documentation as a static site: go run ./internal/site ROOT OUT.
// Pages are the Markdown files of the repository. The site loads nothing from other hosts.
package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed assets
var assets embed.FS

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: site ROOT OUT")
		os.Exit(2)
	}
	if err := writeSite(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// topPages are the pages outside docs, with their names in the site.
var topPages = map[string]string{
	"README.md": "index.html", "CONTRIBUTING.md": "contributing.html", "SECURITY.md": "security.html",
	"CHANGELOG.md": "changelog.html", "examples/README.md": "examples.html",
}

// writeSite writes the site of the repository at root into the directory out.
func writeSite(root, out string) error {
	s := &site{files: os.DirFS(root), names: map[string]string{}}
	if err := s.findPages(); err != nil {
		return err
	}
	var entries []searchEntry
	pages := make([]*page, 0, len(s.names))
	for source := range s.names {
		p, err := s.render(source)
		if err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
		pages = append(pages, p)
	}
	slices.SortFunc(pages, func(a, b *page) int { return strings.Compare(a.name, b.name) })
	navigation, err := s.navigation()
	if err != nil {
		return err
	}
	for _, p := range pages {
		if err := writeFile(out, p.name, p.html(navigation)); err != nil {
			return err
		}
		entries = append(entries, p.entries...)
	}
	index, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	if err := writeFile(out, "search.js", "const entries = "+string(index)+";\n"); err != nil {
		return err
	}
	return s.copyFiles(out)
}

// findPages maps each Markdown file to its page. It omits the examples' Markdown.
func (s *site) findPages() error {
	for source, name := range topPages {
		if _, err := fs.Stat(s.files, source); err != nil {
			return err
		}
		s.names[source] = name
	}
	return fs.WalkDir(s.files, "docs", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path.Ext(file) == ".md" {
			name := strings.TrimSuffix(strings.TrimPrefix(file, "docs/"), ".md") + ".html"
			if name == "index.html" {
				name = "documentation.html"
			}
			s.names[file] = name
		}
		return err
	})
}

// copyFiles copies the style, the script and the images.
func (s *site) copyFiles(out string) error {
	for _, tree := range []struct {
		files       fs.FS
		dir, prefix string
	}{{assets, "assets", "assets/"}, {s.files, "docs/images", "docs/"}, {s.files, "docs/flames", "docs/"}} {
		err := fs.WalkDir(tree.files, tree.dir, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := fs.ReadFile(tree.files, file)
			if err != nil {
				return err
			}
			return writeFile(out, strings.TrimPrefix(file, tree.prefix), string(data))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func writeFile(out, name, text string) error {
	file := filepath.Join(out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // published
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644) //nolint:gosec // published
}
