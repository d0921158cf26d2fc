package auth

// Revoked returns how many tokens are remembered as revoked.
func (o *OAuth) Revoked() int {
	o.revoked.mu.RLock()
	defer o.revoked.mu.RUnlock()
	n := 0
	for _, ends := range o.revoked.ends {
		n += len(ends)
	}
	return n
}
