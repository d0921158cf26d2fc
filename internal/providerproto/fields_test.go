package providerproto_test

import (
	"os"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/providerproto"
)

// TestTheTableOfFieldsIsComplete compares the documentation's table with the protocol: each field
// has one row that describes its use by both roles.
func TestTheTableOfFieldsIsComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/protocols/provider-serve.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| Message | Fields | As the host | As the provider |\n|---|---|---|---|\n")
	rows, message := map[string]int{}, ""
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 4 || !strings.HasSuffix(cells[3], " |") || cells[2] == "" || cells[3] == " |" {
			t.Errorf("the row %q does not say what both roles do", line)
			continue
		}
		if name := strings.Trim(cells[0], "| `"); name != "" {
			message = name
		}
		for field := range strings.SplitSeq(cells[1], ", ") {
			rows[message+"."+field]++
		}
	}
	messages := providerproto.File_provider_proto.Messages()
	for i := range messages.Len() {
		fields := messages.Get(i).Fields()
		for j := range fields.Len() {
			name := string(messages.Get(i).Name()) + "." + string(fields.Get(j).Name())
			if rows[name] != 1 {
				t.Errorf("%s is in %d rows of the table", name, rows[name])
			}
			delete(rows, name)
		}
	}
	for name := range rows {
		t.Errorf("%s is not in the protocol", name)
	}
}
