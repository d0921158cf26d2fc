package command

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

// Listing is a list of records with its table.
type Listing[T any] struct {
	// Record is the list for --format json.
	Record any
	Items  []T
	// Next is the cursor of the next page, which an empty page may have; empty on the last one.
	Next string
	// None is shown for an empty list; without it, the table has no rows.
	None   string
	Header []string
	Row    func(T) []string
	// Foot follows the table.
	Foot string
}

// Show writes the list as JSON or as a table.
func (l *Listing[T]) Show(o *Output) error {
	if o.Format == "json" {
		return o.ShowJSON(l.Record, nil)
	}
	if l.Next != "" {
		fmt.Fprintf(o.Err, "! there are more: --after %s\n", l.Next)
	}
	if len(l.Items) == 0 && l.None != "" {
		return o.Printf("%s\n", l.None)
	}
	rows := [][]string{l.Header}
	for _, item := range l.Items {
		rows = append(rows, l.Row(item))
	}
	if err := writeTable(o.Out, rows); err != nil {
		return err
	}
	return o.Printf("%s", l.Foot)
}

// AddPageFlags adds the flags that select a page of a list.
func AddPageFlags(cmd *cobra.Command, page *store.Page) {
	page.Limit = store.DefaultPage
	cmd.Flags().Var((*pageSize)(&page.Limit), "limit", "maximum number of results")
	cmd.Flags().StringVar(&page.After, "after", "", "continue after the previous page")
}

// pageSize is a flag with the number of records in a page.
type pageSize int

// String returns the number.
func (n *pageSize) String() string { return strconv.Itoa(int(*n)) }

// Type names the flag's type in the help text.
func (*pageSize) Type() string { return "int" }

// Set accepts a number that a store can return at once.
func (n *pageSize) Set(value string) error {
	size, err := strconv.Atoi(value)
	if err != nil || size < 1 || size > store.MaxPage {
		return fmt.Errorf("it must be a number from 1 to %d", store.MaxPage)
	}
	*n = pageSize(size)
	return nil
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

// Age returns the time since then, in its largest unit.
func Age(now, then time.Time) string {
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
