package store

// Owner is the owner of a record.
type Owner struct {
	// Tenant is a team or customer, Subject a person or program in it.
	Tenant  string `json:"tenant"`
	Subject string `json:"subject"`
}

// Scope limits which records a caller sees: those of Owner, or all of them.
type Scope struct {
	Owner Owner
	// All sees everything; Owner is not used.
	All bool
}

// Everything is the scope of the runtime itself and of its operators.
var Everything = Scope{All: true}

// Of returns the scope of an owner.
func Of(o Owner) Scope { return Scope{Owner: o} }

// Sees reports whether the records of an owner are in the scope.
func (s Scope) Sees(o Owner) bool { return s.All || s.Owner == o }

// Key makes a request repeatable: requests with the same value in the same scope have one outcome.
// The zero Key has no effect.
type Key struct {
	Value string
	// Hash distinguishes requests that have the same key.
	Hash []byte
}
