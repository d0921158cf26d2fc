package command

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
)

// interpreter matches programs that take code as an option.
var interpreter = regexp.MustCompile(`^(?i)(sh|ash|bash|dash|zsh|ksh|mksh|csh|tcsh|fish|busybox|cmd|pwsh|powershell|` +
	`python|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|rscript|julia|osascript)[0-9.]*(\.exe)?$`)

// awk matches programs whose first argument is code.
var awk = regexp.MustCompile(`^[gmn]?awk$`)

// codeOption matches the options whose value is code.
var codeOption = regexp.MustCompile(`^(?i)(-[a-z]*[cepr]|--(command|eval|print|run|execute)|-command|/c|/k|eval)(=|$)`)

// checkCode reports a placeholder in an interpreter's code, where its value would be executed.
// Arguments after the code are safe.
func (c *config) checkCode(where string, i int, parts []part) diag.List {
	if isFixed(parts) {
		return nil
	}
	for at, word := range c.Command[:i] {
		name := path.Base(strings.ReplaceAll(word, `\`, "/"))
		between := c.Command[at+1 : i]
		if interpreter.MatchString(name) && endsInCodeOption(between, parts[0].Literal) || awk.MatchString(name) && beginsAwk(between, parts[0].Literal) {
			return diag.List{diag.New(diag.InvalidValue, where, "a placeholder must not appear in the code that an interpreter runs").
				WithHint("give it to the code as an argument, or let the code read standard input")}
		}
	}
	return nil
}

// endsInCodeOption reports whether the elements after an interpreter make the next element code. A
// file among them is a script with its own options.
func endsInCodeOption(between []string, literal string) bool {
	if slices.ContainsFunc(between, func(word string) bool {
		return !strings.HasPrefix(word, "-") && len(word) > 2 && strings.ContainsAny(word, "./ ")
	}) {
		return false
	}
	if codeOption.MatchString(literal) {
		return true // as in --eval={{code}}
	}
	for _, word := range slices.Backward(between) {
		if codeOption.MatchString(word) {
			return true
		}
		if !strings.HasPrefix(word, "-") {
			return false
		}
	}
	return false
}

// beginsAwk reports whether the element after the given ones is awk code.
func beginsAwk(between []string, literal string) bool {
	if strings.HasPrefix(literal, "-") {
		return false
	}
	for len(between) > 0 {
		word := between[0]
		between = between[1:]
		switch {
		case word == "-F" || word == "-v":
			if len(between) == 0 {
				return false // the value of the option
			}
			between = between[1:]
		case strings.HasPrefix(word, "-f"), !strings.HasPrefix(word, "-"):
			return false
		}
	}
	return true
}
