package cli

import (
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/rogpeppe/go-internal/txtar"
)

// inFiles maps codes that a file never causes to the codes that it causes instead: an id that is
// both a model and a pool is found at the second definition, and only publishing from Go can refer
// to such an id.
var inFiles = map[diag.Code]diag.Code{diag.AmbiguousModel: diag.DuplicateID}

// TestCodes checks that every code has a script that produces it from a file, with its
// place.
func TestCodes(t *testing.T) {
	for _, info := range diag.Codes() {
		name := filepath.Join("testdata", "script", "code_"+string(info.Code)+".txtar")
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Errorf("%s has no script: %v", info.Code, err)
			continue
		}
		if said := inFiles[info.Code]; said != "" {
			info = said.Info()
		}
		place := regexp.MustCompile(fmt.Sprintf(`(?m)^config\.yaml:\d+:\d+-\d+:\d+ .*%s\[%s\]`, info.Severity, info.Code))
		text := regexp.MustCompile(fmt.Sprintf(`(?m)^%s\[%s\]: .*\n +--> config\.yaml:\d+:\d+\n`, info.Severity, info.Code))
		if data := section(archive, "places"); !place.MatchString(data) {
			t.Errorf("%s: no place of %s[%s] in\n%s", name, info.Severity, info.Code, data)
		}
		if data := section(archive, "text"); !text.MatchString(data) {
			t.Errorf("%s: no %s[%s] in\n%s", name, info.Severity, info.Code, data)
		}
	}
	scripts, err := filepath.Glob("testdata/script/code_*.txtar")
	if err != nil || len(scripts) != len(diag.Codes()) {
		t.Errorf("%d scripts for %d codes (%v)", len(scripts), len(diag.Codes()), err)
	}
}

func section(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}
