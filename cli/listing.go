package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

// listing is a list of records with its table.
type listing[T any] struct {
	// record is the list for --format json.
	record any
	items  []T
	// next is the cursor of the next page, which an empty page may have; empty on the last one.
	next string
	// none is shown for an empty list; without it, the table has no rows.
	none   string
	header []string
	row    func(T) []string
	// foot follows the table.
	foot string
}

// show writes the list as JSON or as a table.
func (l *listing[T]) show(o *output) error {
	if o.format == "json" {
		return o.json(l.record, nil)
	}
	if l.next != "" {
		fmt.Fprintf(o.Err, "! there are more: --after %s\n", l.next)
	}
	if len(l.items) == 0 && l.none != "" {
		return o.Printf("%s\n", l.none)
	}
	rows := [][]string{l.header}
	for _, item := range l.items {
		rows = append(rows, l.row(item))
	}
	if err := writeTable(o.Out, rows); err != nil {
		return err
	}
	return o.Printf("%s", l.foot)
}

// pageFlags adds the flags that select a page of a list.
func pageFlags(cmd *cobra.Command, page *store.Page) {
	cmd.Flags().IntVar(&page.Limit, "limit", store.DefaultPage, "maximum number of results")
	cmd.Flags().StringVar(&page.After, "after", "", "continue after the previous page")
}

// writeTable writes rows in aligned columns; the first row holds their names.
func writeTable(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = terminal.OneLine(row[i])
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// age returns the time since then, in its largest unit.
func age(now, then time.Time) string {
	const day = 24 * time.Hour
	switch d := max(now.Sub(then), 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/day)
	}
}
