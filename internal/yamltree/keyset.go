package yamltree

// keySet finds repeated keys.
type keySet struct {
	few  []*Node
	many map[string]*Node
}

func newKeySet(n int) *keySet {
	if n > 16 {
		return &keySet{many: make(map[string]*Node, n)}
	}
	return &keySet{}
}

// add adds a key and returns an existing one with the same name.
func (s *keySet) add(key *Node) *Node {
	if s.many != nil {
		if first, ok := s.many[key.Text]; ok {
			return first
		}
		s.many[key.Text] = key
		return nil
	}
	for _, k := range s.few {
		if k.Text == key.Text {
			return k
		}
	}
	if s.few = append(s.few, key); len(s.few) > 16 {
		s.many = make(map[string]*Node, 4*len(s.few))
		for _, k := range s.few {
			s.many[k.Text] = k
		}
	}
	return nil
}
