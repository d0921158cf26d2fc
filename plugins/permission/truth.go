package permission

// truth is the result of a condition. An undecidable condition must match rules that deny or ask,
// but not rules that allow.
type truth uint8

const (
	no truth = iota
	unknown
	yes
)

func truthOf(holds bool) truth {
	if holds {
		return yes
	}
	return no
}

func (t truth) not() truth { return yes - t }

// countsAsTrue reports whether a rule counts the condition as true: a cautious rule, which denies
// or asks, does so unless it is false.
func (t truth) countsAsTrue(cautious bool) bool { return t == yes || cautious && t == unknown }
