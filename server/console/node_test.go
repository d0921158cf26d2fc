package console_test

import (
	"embed"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/nodeenv"
)

// packages are the pinned packages of npm: those of the page, and those that check it.
//
//go:embed testdata/package.json testdata/package-lock.json
var packages embed.FS

var update = flag.Bool("update", false, "write the files from npm and the screenshots")

// vendored are the files that come from npm, by their name in app/vendor.
var vendored = map[string]string{"preact.js": "preact/dist/preact.mjs", "hooks.js": "preact/hooks/dist/hooks.mjs", "htm.js": "htm/dist/htm.module.js"}

func TestVendoredFilesAreThoseOfThePinnedPackages(t *testing.T) {
	node := nodeenv.Install(t, packages)
	want := map[string]string{"LICENSES.txt": "preact\n\n" + string(node.ReadFile(t, "preact/LICENSE")) + "\nhtm\n\n" + string(node.ReadFile(t, "htm/LICENSE"))}
	for name, from := range vendored {
		text := strings.Replace(string(node.ReadFile(t, from)), `from"preact"`, `from"./preact.js"`, 1)
		if i := strings.LastIndex(text, "\n//# sourceMappingURL="); i >= 0 {
			text = text[:i+1]
		}
		want[name] = text
	}
	for name, text := range want {
		file := filepath.Join("app", "vendor", name)
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("%s is not the file of the package: run the test with -update (%v)", file, err)
		}
	}
}

// check runs the compiler and the linter.
const check = `
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
const app = process.argv[2];
const own = (path) => new URL('node_modules/' + path, import.meta.url).pathname;
writeFileSync('tsconfig.json', JSON.stringify({
  compilerOptions: {
    strict: true, checkJs: true, allowJs: true, noEmit: true, noUnusedLocals: true, noUnusedParameters: true, noImplicitReturns: true,
    target: 'ES2024', module: 'esnext', moduleResolution: 'bundler', lib: ['ES2024', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
    allowImportingTsExtensions: true, skipLibCheck: true, types: [],
    paths: { preact: [own('preact/src/index.d.ts')], 'preact/hooks': [own('preact/hooks/src/index.d.ts')] },
  },
  include: [app], exclude: [app + '/vendor/*.js'],
}));
const run = (bin, ...args) => execFileSync(process.execPath, [own(bin), ...args], { stdio: ['ignore', 'inherit', 'inherit'] });
run('typescript/bin/tsc', '-p', 'tsconfig.json');
run('oxlint/bin/oxlint', '--ignore-pattern', '**/vendor/**', '-D', 'correctness', '-D', 'suspicious', app);
`

func TestTypesAndLinterAccept(t *testing.T) {
	app, err := filepath.Abs("app")
	if err != nil {
		t.Fatal(err)
	}
	nodeenv.Install(t, packages).Run(t, []byte(check), app)
}
