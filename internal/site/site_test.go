package main

import (
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/browser"
	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// build writes the site and returns its files by name.
func build(t *testing.T) (dir string, files map[string]string) {
	t.Helper()
	dir, files = t.TempDir(), map[string]string{}
	if err := writeSite("../..", dir); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(file string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		name, relative := filepath.Rel(dir, file)
		if relative != nil {
			return relative
		}
		files[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, files
}

var (
	address  = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	resource = regexp.MustCompile(`(?:src="|<link[^>]*href="|url\(|@import )(?:https?:)?//`)
)

func TestEveryLinkOfTheSiteLeadsToAPage(t *testing.T) {
	t.Parallel()
	_, files := build(t)
	checked := 0
	for name, text := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		if resource.MatchString(text) {
			t.Errorf("%s loads something from another host", name)
		}
		for _, m := range address.FindAllStringSubmatch(text, -1) {
			target := html.UnescapeString(m[1])
			if strings.Contains(target, "://") || strings.HasPrefix(target, "data:") || strings.HasPrefix(target, "mailto:") {
				checkRepositoryFile(t, name, target)
				continue
			}
			checked++
			file, anchor, _ := strings.Cut(target, "#")
			linked := name
			if file != "" {
				linked = path.Join(path.Dir(name), file)
			}
			content, ok := files[linked]
			if !ok || anchor != "" && !strings.Contains(content, `id="`+anchor+`"`) {
				t.Errorf("%s links to %s, which does not exist", name, target)
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d links are checked", checked)
	}
}

// checkRepositoryFile checks a link to a file of the repository.
func checkRepositoryFile(t *testing.T, page, target string) {
	t.Helper()
	file, ok := strings.CutPrefix(target, repository)
	if !ok {
		return
	}
	file, _, _ = strings.Cut(file, "#")
	if _, err := os.Stat(filepath.Join("../..", filepath.FromSlash(file))); err != nil {
		t.Errorf("%s links to %s: %v", page, target, err)
	}
}

func TestTheSiteInABrowser(t *testing.T) {
	t.Parallel()
	dir, files := build(t)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	b := browser.Open(t, 1200, 800)
	for name := range files {
		if path.Ext(name) == ".html" {
			b.Do(chromedp.Navigate(server.URL + "/" + name))
		}
	}
	b.Do(chromedp.Navigate(server.URL + "/adr/README.html"))
	if got := b.Text("main h1"); got != "Decisions" {
		t.Errorf("the heading is %q", got)
	}
	b.Do(chromedp.SendKeys("#search", "fence lease", chromedp.ByQuery), chromedp.WaitVisible("#results a", chromedp.ByQuery))
	var before, after string
	b.Do(chromedp.Evaluate("document.documentElement.dataset.theme", &before), chromedp.Click("#theme", chromedp.ByQuery),
		chromedp.Evaluate("document.documentElement.dataset.theme", &after))
	if before == after {
		t.Errorf("the theme stays %q", before)
	}
	b.Do(chromedp.Click("#results a", chromedp.ByQuery), chromedp.WaitVisible("main h1", chromedp.ByQuery))
	if got := b.Text("main h1"); got == "Decisions" {
		t.Error("the first result of the search is not opened")
	}
}
