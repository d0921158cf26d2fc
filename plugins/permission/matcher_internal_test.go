package permission

import (
	stdpath "path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCommandsAreSplit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		glob, text string
		want       truth
	}{
		{"go *", "go version", yes},
		{"go *", "go version; cat /etc/x", unknown},
		{"cat *", "go version; cat /etc/x", unknown},
		{"rm *", "go version; cat /etc/x", no},
		{"go *", "go vet && go test ./... || go build", yes},
		{"go *", "go vet | tee x", unknown},
		{"tee *", "go vet | tee x", unknown},
		{"rm *", "sleep 5 & rm x", unknown},
		{"rm *", "ls\nrm x", unknown},
		{"rm *", "(cd x; rm y)", unknown},
		{"rm *", "{ rm y; }", yes},
		{"rm *", "echo $(rm y)", unknown},
		{"rm *", "echo `rm y`", unknown},
		{"rm *", `echo "a $(rm y)"`, unknown},
		{"rm *", `echo '$(rm y)'`, no},
		{"rm *", `echo "rm y"`, no},
		{"rm *", `echo \; rm y`, no},
		{"rm *", "cat <<EOF\n$(rm y)\nEOF", unknown},
		{"rm *", "cat <<'EOF'\n$(rm y)\nEOF", no},
		{"rm *", "for f in a b; do rm $f; done", yes},
		{"rm *", "if true; then rm x; fi", unknown},
		{"rm *", "while rm x; do ls; done", unknown},
		{"rm *", "case x in x) rm y;; esac", yes},
		{"rm *", "f() { rm y; }; f", unknown},
		{"rm *", "! rm y", yes},
		{"rm *", "# rm y\nls", no},

		// Names are recognized however they are written.
		{"rm *", `\rm y`, yes},
		{"rm *", `r\m y`, yes},
		{"rm *", `"rm" y`, yes},
		{"rm *", `r''m y`, yes},
		{"rm *", "r\\\nm y", yes},
		{"rm *", "rm    y", yes},
		{"rm *", "rm\ty", yes},
		{"rm *", "/bin/rm y", unknown},
		{"rm *", "./rm y", unknown},
		{"rm *", "$RM y", unknown},
		{"rm *", "r$X y", unknown},
		{"rm *", "$'rm' y", unknown},
		{"rm *", "{rm,y}", unknown},
		{"rm *", "r? y", unknown},
		{"rm *", "[r]m y", unknown},
		{"rm *", "~/bin/rm y", unknown},
		{"rm *", `"$(echo rm)" y`, unknown},
		{"rm *", "ls $X", no},
		{"rm *", "ls *.go", no},
		{"git push *", "git $X", unknown},

		// What runs other commands may run any.
		{"rm *", "sudo rm y", unknown},
		{"rm *", "sudo ls", unknown},
		{"rm *", "env X=1 rm y", unknown},
		{"rm *", "sh -c 'rm y'", unknown},
		{"rm *", "/usr/bin/python3.12 -c x", unknown},
		{"rm *", "eval x", unknown},
		{"rm *", "echo y | xargs rm", unknown},
		{"rm *", "find . -exec rm {} ;", unknown},
		{"rm *", ". ./x", unknown},
		{"sudo apt *", "sudo apt update", yes},

		// Beside the words, nothing may change what an allowed command does.
		{"git *", "LD_PRELOAD=x git status", unknown},
		{"git *", "git status > x", unknown},
		{"git *", "git status >> ~/.bashrc", unknown},
		{"git *", "git apply < /etc/x", unknown},
		{"git *", "git status > /dev/null 2>&1", yes},
		{"git *", "{ git status; } > x", unknown},
		{"git *", "git $X", yes},
		{"git log *", "git $X", unknown},
		{"git log *", `git "log x" y`, unknown},
		{"git log", "git log", yes},
		{"git log", "git log -p", no},
		{"git *", "git status; export PATH=x", unknown},
		{"rm *", "X=1 rm y", unknown},
		{"rm *", "X=1; ls", no},

		// What cannot be read with confidence.
		{"ls *", "", unknown},
		{"ls *", "  ", unknown},
		{"ls *", "ls 'x", unknown},
		{"ls *", "ls )", unknown},
		{"ls *", "ls \x00", unknown},
		{"ls *", "ls \r\nrm x", unknown},
		{"ls *", "ls \xff", unknown},
		{"ls *", "ls \u00a0x", unknown},
		{"ls *", "diff <(ls) x", unknown},
		{"rm *", "((rm x))", unknown},
		{"rm *", "[[ a && rm x ]]", unknown},
		{"ls *", "ls " + strings.Repeat("x", maxCommand), unknown},
		{"ls *", strings.Repeat("(", 8000), unknown},
		{"ls *", strings.Repeat("$(", 8000), unknown},
	} {
		p, err := compileCommand(tt.glob)
		if err != nil {
			t.Fatalf("%s: %v", tt.glob, err)
		}
		if got := p.matchCommands(splitCommand(tt.text)); got != tt.want {
			t.Errorf("%q on %.80q: got %d, want %d", tt.glob, tt.text, got, tt.want)
		}
	}
}

func TestPathsAreCleaned(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		glob, text string
		want       truth
	}{
		{"/srv/*", "/srv/a", yes},
		{"/srv/*", "/srv/a/b", yes},
		{"/srv/*", "//srv//./a", yes},
		{"/srv/*", "/srv/x/../a", yes},
		{"/srv/*", "/etc/../srv/a", yes},
		{"/srv/*", "/srv/../etc/passwd", no},
		{"/srv/*", "/srv/../../srvx", no},
		{"/srv/*", "/srvx/a", no},
		{"/srv/*", "/srv", unknown},
		{"/srv/*", "/srv/", unknown},
		{"/*", "/", yes},
		{"/srv/*", "srv/a", unknown},
		{"/srv/*", "../srv/a", unknown},
		{"/srv/*", "~/srv", unknown},
		{"/srv/*", "", unknown},
		{"/srv/*", `/srv/..\etc`, unknown},
		{"/srv/*", "/srv/a\x00", unknown},
		{"/srv/*", "/srv/\xff", unknown},
		{"/srv/*.go", "/srv/a/b.go", yes},
		{"src/*", "src/a", yes},
		{"src/*", "./src//a", yes},
		{"src/*", "src/../etc", no},
		{"src/*", "src/../../etc", unknown},
		{"src/*", "/src/a", unknown},
		{"src/*", "..", unknown},
		{"*.env", "a/.env", yes},
		{"*.env", "/srv/.env", unknown},
		{"*.env", "../.env", unknown},
		{"*.env", "/srv/x.txt", no},
		{"*/etc/*", "etc/passwd", unknown},
		{"*", "a", yes},
		{"*", "/etc/passwd", unknown},
		{"*", "../a", unknown},
	} {
		p, err := compilePath(tt.glob)
		if err != nil {
			t.Fatalf("%s: %v", tt.glob, err)
		}
		if got := p.matchPath(tt.text); got != tt.want {
			t.Errorf("%q on %q: got %d, want %d", tt.glob, tt.text, got, tt.want)
		}
	}
}

// TestPropertyPathsStayBelowTheirRoot proves that a path is within a pattern only
// if what it leads to, from wherever, is below the pattern's directory, and that
// another spelling changes nothing.
func TestPropertyPathsStayBelowTheirRoot(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{"srv", "data", "..", ".", "", "etc", "a*", "...", "~", "srv ", `\`, "data2"})
	rapid.Check(t, func(rt *rapid.T) {
		glob := rapid.SampledFrom([]string{"/srv/data/*", "srv/data/*"}).Draw(rt, "glob")
		root := strings.TrimSuffix(glob, "*")
		p, err := compilePath(glob)
		if err != nil {
			rt.Fatal(err)
		}
		text := strings.Join(rapid.SliceOfN(part, 0, 8).Draw(rt, "parts"), "/")
		if rapid.Bool().Draw(rt, "absolute") {
			text = "/" + text
		}
		got := p.matchPath(text)
		cwd := rapid.SampledFrom([]string{"/", "/srv", "/home/x/y", "/srv/data"}).Draw(rt, "working directory")
		at := func(name string) string {
			if strings.HasPrefix(name, "/") {
				return stdpath.Clean(name)
			}
			return stdpath.Join(cwd, name)
		}
		below := strings.HasPrefix(at(text), at(strings.TrimSuffix(root, "/"))+"/")
		if got == yes && !below {
			rt.Fatalf("%q fits %s, but is %s", text, glob, at(text))
		}
		if got == no && below {
			rt.Fatalf("%q does not fit %s, but is %s", text, glob, at(text))
		}
		if text != "" && text[0] != '~' {
			other := strings.ReplaceAll(text, "/", "/./") + "//"
			if text != "/" && p.matchPath(other) != got {
				rt.Fatalf("%q is %d, and %q is %d", text, got, other, p.matchPath(other))
			}
		}
	})
}

// TestPropertyNothingHidesACommand proves that whatever is written around a
// command, a rule that denies it still fits, and one that allows the rest does
// not.
func TestPropertyNothingHidesACommand(t *testing.T) {
	t.Parallel()
	deny, err := compileCommand("rm *")
	if err != nil {
		t.Fatal(err)
	}
	allow, err := compileCommand("ls *")
	if err != nil {
		t.Fatal(err)
	}
	// Quotes do not nest, so these stand around the command itself only.
	inner := rapid.SampledFrom([]string{"%", "X=1 %", "! %", "sudo %", "env A=b %", "time %", "echo `%`", "cat <<E\n$(%)\nE\n", "sh -c '%'", "eval '%'", "ls x #\n%", "echo \"$(%)\""})
	frame := rapid.SampledFrom([]string{
		"%", "ls x; %", "% ; ls x", "ls x && %", "ls x || %", "ls x | %", "% | ls x", "% &", "ls x & %", "(%)", "{ %; }", "echo $(%)",
		"ls x\n%", "%\nls x", "% > x", "% 2>&1", "if ls x; then %; fi", "while %; do ls x; done", "f() { %; }; f",
		"for i in 1; do %; done", "# x\n%", "case a in a) %;; esac",
		"ls 'x' ; %", "echo $((1 + $(%)))", "ls \"x\" ; %", "ls x \\\n ; %", "ls ${X:-$(%)}",
	})
	name := rapid.SampledFrom([]string{"rm x", `\rm x`, "'rm' x", `"rm" -rf /`, "r\\m x", "/bin/rm x", "$R x", "rm $X", "r''m  x"})
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.ReplaceAll(inner.Draw(rt, "inner"), "%", name.Draw(rt, "command"))
		for _, f := range rapid.SliceOfN(frame, 1, 3).Draw(rt, "frames") {
			text = strings.ReplaceAll(f, "%", text)
		}
		if deny.matchCommands(splitCommand(text)) == no {
			rt.Fatalf("%q hides rm", text)
		}
		if allow.matchCommands(splitCommand(text)) == yes {
			rt.Fatalf("%q is taken for ls alone", text)
		}
	})
}

// FuzzSplitCommand proves that no text makes the splitter panic, that a text with
// another command after it still has its own, and that what is allowed stays so
// only as long as nothing else is run.
func FuzzSplitCommand(f *testing.F) {
	for _, seed := range []string{"ls x; rm y", "echo `a $(b)`", "cat <<E\n$(x)\nE", "((a))", "a=(b)", "$'x' \"$y\" {a,b} ~", "f() { x; }", "[[ a ]]", "x > y 2>&1"} {
		f.Add(seed)
	}
	deny, _ := compileCommand("rm *")
	allow, _ := compileCommand("ls *")
	f.Fuzz(func(t *testing.T, text string) {
		before := deny.matchCommands(splitCommand(text))
		if after := deny.matchCommands(splitCommand("rm x\n" + text)); after == no {
			t.Errorf("%q hides the command before it", text)
		}
		if allow.matchCommands(splitCommand("rm x\n"+text)) == yes {
			t.Errorf("%q gets the command before it allowed", text)
		}
		if before == yes && allow.matchCommands(splitCommand(text)) == yes {
			t.Errorf("%q is both", text)
		}
		deny.describeMatch(text)
	})
}

// FuzzMatchPath proves that no path makes the matcher panic, and that none that
// fits is outside of the pattern's directory.
func FuzzMatchPath(f *testing.F) {
	for _, seed := range []string{"/srv/a", "/srv/../etc", "srv//x", "..", "~", "", "\x00", `\`, "/srv/./.././srv/x"} {
		f.Add("/srv/*", seed)
		f.Add("*.go", seed)
	}
	f.Fuzz(func(t *testing.T, glob, text string) {
		p, err := compilePath(glob)
		if err != nil {
			return
		}
		clean := stdpath.Clean(text)
		if p.matchPath(text) == yes && (clean == ".." || strings.HasPrefix(clean, "../") || clean[0] == '/' && glob[0] != '/') {
			t.Errorf("%q fits %q", text, glob)
		}
		if literal, _, found := strings.Cut(glob, "*"); found && !strings.ContainsAny(literal, `?[]{}\,!`) && p.matchPath(text) == yes && !strings.HasPrefix(clean, literal) {
			t.Errorf("%q fits %q", text, glob)
		}
	})
}
