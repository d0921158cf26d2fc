package openai

// nesting follows the brackets of a JSON value that arrives in pieces.
type nesting struct {
	depth                  int
	begun, inText, escaped bool
}

// read follows a piece of the value.
func (n *nesting) read(piece string) {
	for i := range len(piece) {
		c := piece[i]
		switch {
		case n.escaped:
			n.escaped = false
		case n.inText && c == '\\':
			n.escaped = true
		case c == '"':
			n.inText = !n.inText
		case n.inText:
		case c == '{' || c == '[':
			n.begun, n.depth = true, n.depth+1
		case c == '}' || c == ']':
			n.depth--
		}
	}
}

// isOpen reports whether the value has begun and not ended.
func (n *nesting) isOpen() bool { return n.begun && (n.depth > 0 || n.inText) }
