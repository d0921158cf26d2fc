package config

// keySet finds repeated keys.
type keySet struct {
	few  []*node
	many map[string]*node
}

func newKeySet(n int) *keySet {
	if n > 16 {
		return &keySet{many: make(map[string]*node, n)}
	}
	return &keySet{}
}

// add adds a key and returns an existing one with the same name.
func (s *keySet) add(key *node) *node {
	if s.many != nil {
		if first, ok := s.many[key.text]; ok {
			return first
		}
		s.many[key.text] = key
		return nil
	}
	for _, k := range s.few {
		if k.text == key.text {
			return k
		}
	}
	if s.few = append(s.few, key); len(s.few) > 16 {
		s.many = make(map[string]*node, 4*len(s.few))
		for _, k := range s.few {
			s.many[k.text] = k
		}
	}
	return nil
}
