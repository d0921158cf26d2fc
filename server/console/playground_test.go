package console_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/browser"
	"github.com/agentruntime/agentruntime/internal/testkit/needs"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func TestThePlaygroundComparesTwoRuns(t *testing.T) {
	two := strings.NewReplacer("providers: {demo:", "providers: {echo: {type: scripted}, demo:", "small: {provider_id: demo", "small: {provider_id: echo").Replace(config)
	s := openSite(t, two, `fallback: {text: "Large greets."}`)
	b := browser.Open(t, 1280, 800)
	s.page(b, "play?agent=manager")
	b.Do(chromedp.Click(`//button[.='Compare']`))
	b.Await(`location.hash === '#/play?agent=manager&compare=on&agent2=manager'`)
	b.Await(`document.querySelectorAll('.lanes > section').length === 2`)
	b.Do(chromedp.Evaluate(`location.hash += '&model2=small'`, nil))
	b.Await(`document.querySelector('.lanes > section:nth-child(2) h2').innerText === 'manager small'`)
	b.Do(fillField("#message", "Hello"), chromedp.Click(`button[type=submit]`, chromedp.ByQuery))
	lane := func(n int) string {
		return fmt.Sprintf(`document.querySelector('.lanes > section:nth-child(%d)').innerText`, n)
	}
	for n := 1; n <= 2; n++ {
		b.Await(lane(n) + `.includes('succeeded')`)
	}
	var first, second string
	b.Do(chromedp.Evaluate(lane(1), &first), chromedp.Evaluate(lane(2), &second))
	if !strings.Contains(first, "Large greets.") || strings.Contains(second, "Large greets.") || !strings.Contains(second, "Hello") {
		t.Errorf("the first says %q, the second %q", first, second)
	}
	var sessions []string
	b.Do(chromedp.Evaluate(`['session', 'session2'].map((n) => new URLSearchParams(location.hash.split('?')[1]).get(n))`, &sessions))
	if sessions[0] == "" || sessions[1] == "" || sessions[0] == sessions[1] {
		t.Errorf("the sessions are %q", sessions)
	}
	b.Do(chromedp.Click(`//button[.='New session']`))
	b.Await(`!location.hash.includes('session') && document.querySelectorAll('.bubble').length === 0`)
}

// TestARunIsCopiedAsAProgram runs the Python program, and type-checks the Go program.
func TestARunIsCopiedAsAProgram(t *testing.T) {
	s := openSite(t, config, `fallback: {text: "It is \"done\"."}`)
	b := browser.Open(t, 1280, 800)
	s.page(b, "play?agent=manager")
	b.Do(chromedp.Evaluate(`window.copied = ''; navigator.clipboard.writeText = async (text) => { window.copied = text; }; 0`, nil), fillField("#message", "It's \"5\" $HOME `x` \\n \n zw\u00f6lf \ufeff\u2028"))
	copied := func(language string) (text string) {
		b.Do(chromedp.Click(`//button[.='Copy as `+language+`']`), chromedp.Evaluate(`window.copied`, &text))
		return text
	}
	save := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	if curl := copied("curl"); !strings.Contains(curl, s.url+"/runtime/v1/turns") || !strings.Contains(curl, "curl -s") {
		t.Errorf("the command is %q", curl)
	}
	goFile := save("main.go", copied("Go"))
	if out, err := exec.CommandContext(t.Context(), "go", "vet", goFile).CombinedOutput(); err != nil {
		t.Errorf("%v: %s\n%s", err, out, copied("Go"))
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		needs.Missing(t, err)
	}
	out, err := exec.CommandContext(t.Context(), python, save("run.py", copied("Python"))).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "run_finish") {
		t.Errorf("%v: %s\n%s", err, out, copied("Python"))
	}
	var turns struct {
		Turns []struct{ ID string }
	}
	s.do("GET", "/runtime/v1/turns", nil, &turns)
	var turn struct {
		Input []struct{ Parts []struct{ Text string } }
	}
	s.do("GET", "/runtime/v1/turns/"+turns.Turns[0].ID, nil, &turn)
	if got := turn.Input[0].Parts[0].Text; got != "It's \"5\" $HOME `x` \\n \n zw\u00f6lf \ufeff\u2028" {
		t.Errorf("the program sent %q", got)
	}
}

func TestAttachmentsKeepTheirNames(t *testing.T) {
	names := []string{`"quoted" 'file'.txt`, "user\u202egpj.exe", "two\nlines.txt", strings.Repeat("n", 300) + ".txt", "../../etc/passwd", `<img src=x onerror="window.pwned=1">.html`, "zwölf 漢字.png", "\x1b[31mred.txt"}
	s := openSite(t, config, `fallback: {text: "I read it."}`)
	b := browser.Open(t, 320, 800)
	b.Do(emulation.SetDeviceMetricsOverride(320, 800, 1, true))
	s.page(b, "play?agent=manager")
	list, _ := json.Marshal(names) // texts
	b.Do(chromedp.Evaluate(`{
		const files = new DataTransfer();
		for (const name of `+string(list)+`) files.items.add(new File(['<b>x</b>'], name, { type: name.endsWith('png') ? 'image/png' : 'text/html' }));
		const input = document.querySelector('input[type=file]');
		input.files = files.files;
		input.dispatchEvent(new Event('change', { bubbles: true }));
	} 0`, nil))
	b.Await(fmt.Sprintf(`document.querySelectorAll('.composer .chip').length === %d`, len(names)))
	plain := func() {
		t.Helper()
		var found []string
		b.Do(chromedp.Evaluate(findEvil, &found))
		if len(found) > 0 {
			t.Errorf("the names are not shown as text: %q", found)
		}
		var wide []string
		b.Do(chromedp.Evaluate(wider, &wide))
		if len(wide) > 0 {
			t.Errorf("these are wider than the screen: %q", wide)
		}
	}
	plain()
	b.Do(fillField("#message", "Read."), chromedp.Click(`button[type=submit]`, chromedp.ByQuery))
	b.Await(says("succeeded"))
	plain()
	var turns struct{ Turns []struct{ ID string } }
	s.do("GET", "/runtime/v1/turns", nil, &turns)
	var turn struct {
		Input []struct {
			Parts []struct{ Blob struct{ Name string } }
		}
	}
	s.do("GET", "/runtime/v1/turns/"+turns.Turns[0].ID, nil, &turn)
	var got []string
	for _, part := range turn.Input[0].Parts[1:] {
		got = append(got, part.Blob.Name)
	}
	if !slices.Equal(got, names) {
		t.Errorf("the server has %q", got)
	}
	s.page(b, "turns/"+turns.Turns[0].ID+"?tab=conversation")
	plain()
}
