package event

// Usage counts the tokens of one or several requests.
type Usage struct {
	// Input counts all tokens of the request, including those read from or written to a cache.
	Input int `json:"input_tokens"`
	// Output counts all tokens of the answer, including reasoning.
	Output int `json:"output_tokens"`
	// CacheRead counts the input tokens that came from the vendor's cache.
	CacheRead int `json:"cached_tokens,omitempty"`
	// CacheWrite counts the input tokens written to the vendor's cache.
	CacheWrite int `json:"cache_write_tokens,omitempty"`
	// Reasoning counts the output tokens spent on thinking.
	Reasoning int `json:"reasoning_tokens,omitempty"`
}

// Total returns all tokens, in and out.
func (u Usage) Total() int { return u.Input + u.Output }

// Add adds other to u.
func (u *Usage) Add(other Usage) {
	u.Input += other.Input
	u.Output += other.Output
	u.CacheRead += other.CacheRead
	u.CacheWrite += other.CacheWrite
	u.Reasoning += other.Reasoning
}

// maxTokens limits a token count reported by a vendor. No request comes close, and sums of such
// counts do not overflow.
const maxTokens = 1 << 29

// Reconciled returns u with consistent counts: none is negative or absurd, and a sum is at least
// the total of its parts. Servers report parts that their sums omit, and budgets must count the
// larger figure.
func (u Usage) Reconciled() Usage {
	bound := func(n int) int { return min(max(n, 0), maxTokens) }
	u.CacheRead, u.CacheWrite, u.Reasoning = bound(u.CacheRead), bound(u.CacheWrite), bound(u.Reasoning)
	u.Input = max(bound(u.Input), u.CacheRead+u.CacheWrite)
	u.Output = max(bound(u.Output), u.Reasoning)
	return u
}

// Sub subtracts other from u.
func (u *Usage) Sub(other Usage) {
	u.Input -= other.Input
	u.Output -= other.Output
	u.CacheRead -= other.CacheRead
	u.CacheWrite -= other.CacheWrite
	u.Reasoning -= other.Reasoning
}
