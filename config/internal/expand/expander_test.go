package expand

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/config/internal/secret"
)

func testExpander() *Expander {
	env := map[string]string{"A": "value of a", "EMPTY": "", "REF": "${A} $$ ${file:x}", "_b2": "2", "LATIN1": "caf\xe9"}
	return &Expander{
		Lookup: func(name string) (string, bool) {
			v, ok := env[name]
			return v, ok
		},
		Left:   1 << 20,
		Unread: 10 << 20,
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("secret", "s3cret ${A}\r\n\n")
	write("large", strings.Repeat("x", maxIncluded+1))
	write("fits", strings.Repeat("x", maxIncluded))
	write("latin1", "caf\xe9")
	write("utf16", "\xff\xfea\x00")
	write("utf16le", "a\x00b\x00")
	for name, tt := range map[string]struct {
		text, want string
		unset      []string
		err        string
	}{
		"nothing to expand":          {text: "plain", want: "plain"},
		"a variable":                 {text: "<${A}>", want: "<value of a>"},
		"two variables":              {text: "${A}${_b2}", want: "value of a2"},
		"an empty variable":          {text: "<${EMPTY}>", want: "<>"},
		"a default":                  {text: "${B:-x}", want: "x"},
		"an empty default":           {text: "<${B:-}>", want: "<>"},
		"a default for empty":        {text: "${EMPTY:-x}", want: "x"},
		"a default not needed":       {text: "${A:-x}", want: "value of a"},
		"a default with colons":      {text: "${B:-a:-b}", want: "a:-b"},
		"an unset variable":          {text: "<${B}>", want: "<>", unset: []string{"B"}},
		"two unset variables":        {text: "${B}${C}", unset: []string{"B", "C"}},
		"a dollar":                   {text: "$$", want: "$"},
		"an escaped reference":       {text: "$${A}", want: "${A}"},
		"an escape and a reference":  {text: "$$${A}", want: "$value of a"},
		"a lone dollar":              {text: "$", want: "$"},
		"a dollar at the end":        {text: "5$", want: "5$"},
		"a dollar and a name":        {text: "$A $1 $(x) $ x", want: "$A $1 $(x) $ x"},
		"a value is not read again":  {text: "${REF}", want: "${A} $$ ${file:x}"},
		"a file":                     {text: "<${file:secret}>", want: "<s3cret ${A}>"},
		"a file as large as allowed": {text: "${file:fits}", want: strings.Repeat("x", maxIncluded)},

		"no name":                {text: "${}", err: `"" is not a valid variable name`},
		"a name with a space":    {text: "${ A }", err: `" A " is not a valid variable name`},
		"a name with a digit":    {text: "${1A}", err: `"1A" is not a valid variable name`},
		"another operator":       {text: "${A-x}", err: `"A-x" is not a valid variable name`},
		"no end":                 {text: "x ${A", err: `lacks its closing }`},
		"a reference in default": {text: "${B:-${A}}", err: "default of ${B} contains a reference"},
		"no path":                {text: "${file:}", err: "path of the file is required"},
		"no file":                {text: "${file:none}", err: "the file none cannot be read: it does not exist"},
		"a directory":            {text: "${file:.}", err: "it is not a regular file"},
		"a device":               {text: "${file:/dev/zero}", err: "it is not a regular file"},
		"a file too large":       {text: "${file:large}", err: "it has more than 1048576 bytes"},
		"a file in Latin-1":      {text: "${file:latin1}", err: "the file latin1 cannot be read: it is not UTF-8 text"},
		"a file in UTF-16":       {text: "${file:utf16}", err: "it is not UTF-8 text"},
		"a file with NUL":        {text: "${file:utf16le}", err: "it contains the character U+0000"},
		"a variable in Latin-1":  {text: "${LATIN1}", err: "the value of the variable LATIN1 is not UTF-8 text"},
		"NUL in a path":          {text: "${file:a\x00b}", err: "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := testExpander().Expand(tt.text, dir)
			switch {
			case tt.err == "" && x.Err != nil:
				t.Fatal(x.Err)
			case tt.err != "":
				if x.Err == nil || !strings.Contains(x.Err.Error(), tt.err) || strings.Contains(x.Err.Error(), "xxxx") {
					t.Fatalf("error %v, want %q", x.Err, tt.err)
				}
				return
			}
			if x.Text != tt.want {
				t.Errorf("got %q, want %q", x.Text, tt.want)
			}
			if diff := cmp.Diff(tt.unset, x.Unset); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExpandHides(t *testing.T) {
	t.Parallel()
	x := testExpander().Expand("${A} ${B:-default} ${C}", "")
	want := []secret.Value{{Text: "value of a", Shown: "${A}"}}
	if diff := cmp.Diff(want, x.Hidden); diff != "" {
		t.Error(diff)
	}
}

func TestExpandIsBounded(t *testing.T) {
	t.Parallel()
	e := testExpander()
	e.Left = 25
	if x := e.Expand("${A}${A}", ""); x.Err != nil {
		t.Error(x.Err)
	}
	if x := e.Expand("${A}", ""); x.Err == nil {
		t.Error("the limit was not noticed")
	}
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"", "$", "$$", "${A}", "${A:-b}", "${file:x}", "$${A}", "${A", "a$b${", "${:-}", "é${Ä}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := testExpander()
		e.Files = map[string]Included{}
		x := e.Expand(text, "/nonexistent")
		if x.Err != nil {
			return
		}
		if !strings.Contains(text, "$") && x.Text != text {
			t.Errorf("%q became %q", text, x.Text)
		}
		if utf8.ValidString(text) && !utf8.ValidString(x.Text) {
			t.Errorf("%q became invalid: %q", text, x.Text)
		}
		// Escaped text is restored unchanged.
		if y := testExpander().Expand(strings.ReplaceAll(text, "$", "$$"), ""); y.Err != nil || y.Text != text || len(y.Hidden)+len(y.Unset) > 0 {
			t.Errorf("escaped %q became %q, %v", text, y.Text, y.Err)
		}
	})
}
