package vendorhttp

// Nesting tracks the brackets of a JSON value that arrives in pieces.
type Nesting struct {
	depth                  int
	begun, inText, escaped bool
}

// Read reads a piece of the value.
func (n *Nesting) Read(piece string) {
	for i := range len(piece) {
		n.readByte(piece[i])
	}
}

// readByte reads one byte of the value.
func (n *Nesting) readByte(c byte) {
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

// IsOpen reports whether the value has begun and not ended.
func (n *Nesting) IsOpen() bool { return n.begun && (n.depth > 0 || n.inText) }

// IsWhole reports whether an object or list has begun and ended.
func (n *Nesting) IsWhole() bool { return n.begun && n.depth <= 0 && !n.inText }
