package console_test

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// response is a response whose body was read.
type response struct {
	status int
	header http.Header
	// size is that of the body as it was sent, and text the body without compression.
	size int
	text string
}

// fetch requests a file of the page.
func fetch(t *testing.T, url string, header http.Header) response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body io.Reader = resp.Body
	if resp.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(body); err != nil {
			t.Fatal(err)
		}
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, int(resp.ContentLength), string(text)}
}

func TestFilesAreServedWithAStrictPolicy(t *testing.T) {
	s := openSite(t, config, replies)
	resp := fetch(t, s.url+"/console", http.Header{})
	if resp.status != http.StatusPermanentRedirect || resp.header.Get("Location") != "./console/" {
		t.Errorf("/console: %d %s", resp.status, resp.header.Get("Location"))
	}
	total := 0
	for name := range sources(t) {
		url := s.url + "/console/" + strings.TrimSuffix(name, "index.html")
		resp := fetch(t, url, http.Header{})
		policy := resp.header.Get("Content-Security-Policy")
		if resp.status != http.StatusOK || resp.header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d %v", name, resp.status, resp.header)
		}
		zipped := fetch(t, url, http.Header{"Accept-Encoding": {"gzip"}})
		if zipped.header.Get("Content-Encoding") != "gzip" || zipped.text != resp.text {
			t.Errorf("%s is not compressed, or another file", name)
		}
		total += zipped.size
		if again := fetch(t, url, http.Header{"If-None-Match": {resp.header.Get("ETag")}}); again.status != http.StatusNotModified {
			t.Errorf("%s again: %d", name, again.status)
		}
	}
	if most := 250 << 10; total > most {
		t.Errorf("the page has %d bytes compressed; at most %d are allowed", total, most)
	}
	t.Logf("%d bytes compressed", total)
	for _, name := range []string{"none.js", "types.d.ts", "../console.go", "vendor/preact.d.ts"} {
		if resp := fetch(t, s.url+"/console/"+name, http.Header{}); resp.status != http.StatusNotFound {
			t.Errorf("%s: %d", name, resp.status)
		}
	}
}

func TestTheConsoleIsServedOnLoopbackOrWhereItIsEnabled(t *testing.T) {
	const key = `server: {keys: [{id: k, key: ark_right-right-right}], `
	for setting, want := range map[string]int{
		"": http.StatusOK, "server: {console: false}": http.StatusNotFound, key + "rate: {}}": http.StatusNotFound, key + "console: true}": http.StatusOK,
		"server: {allow_unauthenticated: true}": http.StatusNotFound, "server: {allow_unauthenticated: true, console: true}": http.StatusOK,
	} {
		s := openSite(t, config+setting+"\n", replies)
		if resp := fetch(t, s.url+"/console/", http.Header{}); resp.status != want {
			t.Errorf("%s: %d, not %d", setting, resp.status, want)
		}
		// Without keys the configuration is read together with the console, and never beyond loopback.
		reads := http.StatusNotFound
		switch {
		case strings.HasPrefix(setting, key):
			reads = http.StatusUnauthorized
		case setting == "":
			reads = http.StatusOK
		}
		if resp := fetch(t, s.url+"/runtime/v1/diagnostics", http.Header{}); resp.status != reads {
			t.Errorf("%s: the diagnostics give %d, not %d", setting, resp.status, reads)
		}
	}
}

// sources returns the files of the page.
func sources(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS("app"), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".d.ts") {
			return err
		}
		data, err := os.ReadFile("app/" + name)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var (
	imports = regexp.MustCompile(`(?m)(?:^(?:import|export) .*from|import\()\s*['"]([^'"]+)['"]`)
	// unsafe are the ways to make code or markup of text.
	unsafe = regexp.MustCompile(`\beval\(|new Function|\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML=|\bsetAttribute\(|localStorage\.setItem\((?:KEY|['"]console\.key)`)
)

func TestModulesImportFilesOfThePageAlone(t *testing.T) {
	files := sources(t)
	for name, text := range files {
		if path.Ext(name) != ".js" {
			continue
		}
		for _, m := range imports.FindAllStringSubmatch(text, -1) {
			if target := path.Join(path.Dir(name), m[1]); !strings.HasPrefix(m[1], ".") || !strings.HasSuffix(m[1], ".d.ts") && files[target] == "" {
				t.Errorf("%s imports %s", name, m[1])
			}
		}
		if found := unsafe.FindString(text); found != "" && !strings.HasPrefix(name, "vendor/") {
			t.Errorf("%s contains %s", name, found)
		}
	}
}
