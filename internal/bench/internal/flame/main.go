// Command flame draws a profile's stacks as an SVG flame graph: a frame is as wide as its share of
// the time, and rests on its caller. It reads the output of "go tool pprof -traces". "make flames"
// draws the graphs of docs/guides/performance.md.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

func main() {
	title := flag.String("title", "", "the `text` above the graph")
	omit := flag.String("omit", "^$", "leave out stacks with a function that matches this `expression`")
	flag.Parse()
	if err := draw(os.Stdin, os.Stdout, *title, *omit); err != nil {
		fmt.Fprintln(os.Stderr, "flame:", err)
		os.Exit(1)
	}
}

// draw reads stacks and writes their graph.
func draw(in io.Reader, out io.Writer, title, omit string) error {
	omitted, err := regexp.Compile(omit)
	if err != nil {
		return err
	}
	stacks, err := readStacks(in)
	if err != nil {
		return err
	}
	root := new(frame)
	for _, s := range stacks {
		if !s.matches(omitted) {
			root.add(s)
		}
	}
	if root.total == 0 {
		return fmt.Errorf("the profile has no stacks: pipe the output of go tool pprof -traces into it")
	}
	return writeSVG(out, root, title)
}

// stack is a call stack and its time, outermost function first.
type stack struct {
	took      time.Duration
	functions []string
}

func (s *stack) matches(expression *regexp.Regexp) bool {
	for _, f := range s.functions {
		if expression.MatchString(f) {
			return true
		}
	}
	return false
}

// readStacks reads a profile's stacks: after a line of dashes comes the time with the innermost
// function, then one caller per line.
func readStacks(in io.Reader) (stacks []stack, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	var current *stack
	for lines.Scan() {
		line := lines.Text()
		function := strings.TrimSuffix(strings.TrimSpace(line), " (inline)")
		switch {
		case strings.HasPrefix(line, "-----------+"):
			current = nil
		case current == nil:
			first, innermost, _ := strings.Cut(function, " ")
			took, err := time.ParseDuration(first)
			if err != nil {
				continue // a label, or a header line
			}
			stacks = append(stacks, stack{took: took, functions: []string{strings.TrimSpace(innermost)}})
			current = &stacks[len(stacks)-1]
		default:
			current.functions = append([]string{function}, current.functions...)
		}
	}
	return stacks, lines.Err()
}

// frame is a function and its time with the callers below.
type frame struct {
	function string
	total    time.Duration
	called   []*frame
}

// add adds a stack's time to the frame and those above.
func (f *frame) add(s stack) {
	f.total += s.took
	for _, name := range s.functions {
		f = f.child(name)
		f.total += s.took
	}
}

func (f *frame) child(function string) *frame {
	for _, c := range f.called {
		if c.function == function {
			return c
		}
	}
	c := &frame{function: function}
	f.called = append(f.called, c)
	return c
}
